"""Looks for inputs that break a promise, for as long as it is given: ``./dev fuzz``."""
