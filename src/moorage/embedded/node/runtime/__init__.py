"""How a container becomes processes of this machine: with namespaces, or plainly without."""
