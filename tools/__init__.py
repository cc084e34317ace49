"""Programs for people who work on Moorage. None of it is installed with the product."""
