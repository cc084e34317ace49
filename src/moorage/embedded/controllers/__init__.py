"""What happens by itself: namespaces empty, dependants follow their owners, claims bind, Pods get a node."""
