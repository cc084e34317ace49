"""Agent presets: what a program is called with, how it gets its prompt, where it keeps its conversation.

``parse_preset`` reads one; ``applied`` makes of a preset and a wish what a session is recorded with. Used by
the command line now; profiles and the service ask the same functions. Pure: files are read by
``moorage.presets``.
"""

from moorage.core.presets.apply import Applied, applied, missing_secrets
from moorage.core.presets.parse import parse_preset
from moorage.core.presets.preset import Delivery, Preset, Way

__all__ = ["Applied", "Delivery", "Preset", "Way", "applied", "missing_secrets", "parse_preset"]
