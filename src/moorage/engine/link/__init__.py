"""The link to agentctl: ``open_link`` proves both ends over any byte stream."""

from moorage.engine.link.client import AgentLink
from moorage.engine.link.opening import open_link

__all__ = ["AgentLink", "open_link"]
