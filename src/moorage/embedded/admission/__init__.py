"""What the server's own admission plugins change in an object, and what they refuse. Pure but for reads."""
