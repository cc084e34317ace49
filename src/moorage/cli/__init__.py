"""The command line. Sees ports and core only; ``main`` hands it a ``Wiring`` and gets an exit code."""
