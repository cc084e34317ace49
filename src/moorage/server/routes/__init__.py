"""The routes, one module a subject. Each parses, calls a port, and shows; access and audit are
``server.guard``'s."""
