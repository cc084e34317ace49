"""How an action fails: with a diagnosis, which the planner then sees as trouble. Raised by the engine."""

from __future__ import annotations

from moorage.core.errors import MoorageError
from moorage.core.session import Diagnosis


class ActionFailed(MoorageError):
    """One action of a plan did not succeed. The session is unharmed; the planner decides what follows."""

    code = "action_failed"

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.message, hint=diagnosis.hint)
        self.diagnosis = diagnosis
