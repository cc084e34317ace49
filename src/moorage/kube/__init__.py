"""The Kubernetes adapter: configuration, credentials, transport, watches, streams."""
