"""``./dev bench``: measurements with n, median and spread. Nothing here passes or fails by time."""
