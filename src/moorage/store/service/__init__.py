"""The service's rows beside those of sessions: implements ``ports.service.ServiceStore``.

Loaded on first use of ``SqlStore.service``: a command that drives one session has no need of it.
"""
