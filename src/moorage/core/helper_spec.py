"""Is what was said of the helper sound? Called at launch and when a profile is saved, before any API call.

agentctl holds the link's secret and starts the agent, so an image of it is named by its digest: a tag may
bring another program tomorrow. Never asks a registry or the cluster.
"""

from __future__ import annotations

from moorage.core.errors import Problem
from moorage.core.session import HelperSpec
from moorage.core.template.images import image_fault, is_pinned

FIELD = "helper.image"


def check_helper(spec: HelperSpec) -> list[Problem]:
    """The faults of ``spec``: an image that is missing, no reference, or not pinned by its digest."""
    if spec.source != "image":
        return []
    if not spec.image:
        return [
            Problem(FIELD, "required", "an image is needed", "name it with --helper-image REPO@sha256:DIGEST")
        ]
    fault = image_fault(spec.image)
    if fault is not None:
        return [Problem(FIELD, "helper_image", *fault)]
    if not is_pinned(spec.image):
        said = f"the helper image {spec.image} is not pinned by a sha256 digest"
        hint = "write REPO@sha256:DIGEST; docker buildx imagetools inspect, or crane digest, prints it"
        return [Problem(FIELD, "helper_image_not_pinned", said, hint)]
    return []
