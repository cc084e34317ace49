"""What a template may say beyond types: one module a family of rules, run by core/template/check.py."""
