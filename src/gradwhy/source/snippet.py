"""Lines of a program made safe to show: tabs as spaces, nothing that moves the cursor or hides text."""

from __future__ import annotations

import re

# Control characters, and the marks that turn the direction of writing around.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def printable(text: str, tab: int = 4) -> str:
    """``text`` on one line; a tab becomes ``tab`` spaces, other control characters a replacement mark."""
    return _UNSAFE.sub("\ufffd", text.replace("\t", " " * tab))
