"""One module per verb; sees ports and core only."""
