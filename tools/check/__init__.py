"""What ``./dev check`` runs. Each rule of our own is one module with a function ``check``."""
