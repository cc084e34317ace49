"""What the service knows beside sessions: executors, profiles, policies, tasks, people and what they did.

Pure. ``records`` are the rows, ``checks`` the rules of their fields, ``access`` who may do what. Used by
``store`` (which keeps the rows), ``server`` and the command line's verbs for them.
"""
