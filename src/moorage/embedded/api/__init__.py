"""The Kubernetes API over HTTP: requests in, the registry's answers out."""
