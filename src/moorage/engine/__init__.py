"""Observe and act: the only place where a plan becomes API calls."""
