"""A long run of many sessions while parts of the cluster are killed and restarted: ``./dev soak``."""
