"""Objects and the log of their changes, kept in a folder."""
