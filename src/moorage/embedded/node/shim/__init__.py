"""The process that holds one Pod's containers; it outlives the node (see ``shim.main``).

It is started with ``python -I -S``: everything below imports the standard library and its siblings only, by
relative imports, so that neither Moorage nor any installed package is loaded once per Pod.
"""
