"""Moorage: one agent session, one Pod, one workspace that outlives it."""
