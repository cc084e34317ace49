"""Strict PodTemplates: is this text one, may Moorage run it, and what will a launch add?

Called by ``sessions.launch`` and ``moorage template check``. Pure.
"""

from moorage.core.template.check import (
    Addition,
    CheckedTemplate,
    TemplateOptions,
    check_template,
    parse_template,
    template_hash,
)

__all__ = [
    "Addition",
    "CheckedTemplate",
    "TemplateOptions",
    "check_template",
    "parse_template",
    "template_hash",
]
