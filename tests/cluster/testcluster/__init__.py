"""A real Kubernetes cluster for the tests, built from Go modules and run as plain processes.

Called by `launcher.py` and by the pytest fixtures. Standard library only, because it runs on a
machine that has nothing but Python, git and sh. It never imports moorage: it is the outside world.
"""
