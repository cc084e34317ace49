"""What ``./dev test --mutants`` runs: a broken promise must make a named test fail."""
