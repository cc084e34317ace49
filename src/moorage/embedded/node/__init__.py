"""The embedded cluster's node: runs Pods as processes of this machine. Public: ``LocalNode``, ``Image``.

``shim`` and what it imports is started without this package; nothing here may be needed by it.
"""

from moorage.embedded.node.images import HOST, Image, ImageTable
from moorage.embedded.node.local import LocalNode

__all__ = ["HOST", "Image", "ImageTable", "LocalNode"]
