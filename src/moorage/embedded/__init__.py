"""A Kubernetes API with one node that runs processes: for tests, and for a person without a cluster."""
