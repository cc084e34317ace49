"""What ``./dev test`` runs."""
