"""The embedded cluster as one process per folder: who starts it, how it is found, when it ends."""
