"""Protocols between the parts; the only thing siblings know of each other."""
