"""What each kind of object means: its fields, defaults, checks, and what a write does to it."""
