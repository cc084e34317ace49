"""Make what ``./dev`` needs. Standard library only: nothing is installed when this runs."""
