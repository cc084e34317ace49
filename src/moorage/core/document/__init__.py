"""YAML and JSON documents as values that know their place: line and column of every field."""
