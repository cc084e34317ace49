"""Quantities as a server writes them back. Pure."""

from __future__ import annotations

from fractions import Fraction

from moorage.core.quantities import parse_quantity

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")


def canonical(text: str) -> str:
    """``1024Mi`` → ``1Gi``, ``0.5`` → ``500m``; a text that is no quantity comes back unchanged."""
    amount = parse_quantity(text)
    if amount is None:
        return text
    if text.endswith("i"):
        return _binary(amount)
    if "e" in text.lower().rstrip("E"):
        return text
    return decimal(amount)


def _binary(amount: Fraction) -> str:
    if amount.denominator != 1:
        return decimal(amount)
    number, unit = amount.numerator, 0
    while number and number % 1024 == 0 and unit < len(_BINARY) - 1:
        number, unit = number // 1024, unit + 1
    return f"{number}{_BINARY[unit]}"


def decimal(amount: Fraction) -> str:
    """An amount in the decimal notation: whole numbers with k, M, G; parts with m, u, n."""
    for suffix, factor in (("", 1), ("m", 1000), ("u", 10**6), ("n", 10**9)):
        if (amount * factor).denominator == 1:
            number, unit = (amount * factor).numerator, 0
            while not suffix and number and number % 1000 == 0 and unit < len(_DECIMAL) - 1:
                number, unit = number // 1000, unit + 1
            return f"{number}{suffix or _DECIMAL[unit]}"
    return f"{-(-amount * 10**9 // 1)}n"


def amount_of(text: object) -> Fraction:
    """The amount of a stored quantity; 0 for what is none."""
    return (parse_quantity(str(text)) if text is not None else None) or Fraction(0)
