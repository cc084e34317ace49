"""``python -m moorage``: the same as the ``moorage`` command."""

from moorage.main import main

if __name__ == "__main__":
    main()
