"""``./dev docs``: writes the generated parts of docs/cli.md, and docs/settings.md, anew."""
