"""Observed state and intent in, plan out."""
