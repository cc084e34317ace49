"""The demonstration: one session from start to delete on a real repository."""
