"""The verbs of a session, in process."""
