"""A container whose shell hangs while the helper is brought into it can be ended at once."""

from __future__ import annotations

import pytest
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .verdicts import objects

pytestmark = pytest.mark.node
HANGS = "#!/bin/testagent wait\n"
"""/bin/sh is a link to busybox, and what is laid over it lies over busybox: this needs neither."""


def test_another_command_removes_it_while_run_waits_for_the_shell(
    cluster: RealCluster, moorage: Moorage, template: Template, namespace: str
) -> None:
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "shell", "namespace": namespace},
            "data": {"sh": HANGS},
        }
    )
    shell = {"name": "shell", "configMap": {"name": "shell", "defaultMode": 0o555}}
    mount = {"name": "shell", "mountPath": "/bin/sh", "subPath": "sh"}
    written = template(main={"volumeMounts": [mount]}, spec={"volumes": [shell]})
    running = moorage.start(*moorage.run_args("--name", "stuck", template=written, command=["true"]))
    running.until_said("helper ")
    moorage("rm", "-y", "--force", "stuck")
    assert running.end().code != 0
    assert objects(cluster.kubectl, namespace) == ""
