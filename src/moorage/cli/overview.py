"""What ``moorage`` says when it is given nothing to do: what it is, and the five commands used most.

Printed by ``cli.app``. A text only; the whole list is in ``--help``.
"""

from __future__ import annotations

from typing import Final

OVERVIEW: Final = """\
Moorage runs AI agents on Kubernetes: one session, one Pod, one workspace that
outlives it.

Start an agent in a Pod of its own and follow it:
  moorage run --context NAME -n NAMESPACE --template pod.yaml --source . -- CMD

Then:
  moorage ls             list sessions, and why each has its status
  moorage attach NAME    follow an agent again, and type to it
  moorage stop NAME      end an agent; Pod and workspace stay
  moorage doctor         check cluster, rights and this machine

`moorage help` lists all verbs and flags, `moorage help VERB` explains one.
"""
