"""Making foreign text harmless to look at: nothing invisible, nothing that moves a cursor or hides a line."""

from __future__ import annotations

import re

_LINE_BREAKS = "\u0085\u2028\u2029"
# C0 and C1 controls but tab and line feed; Unicode's line breaks; direction overrides and isolates, which can make
# code read otherwise than it runs; the invisible tag characters; lone surrogates; a byte order mark inside the text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def _visible(match: re.Match[str]) -> str:
    char = match.group()
    if char in "\x0b\x0c\ufeff":
        return ""
    if char in _LINE_BREAKS:
        return "\u2424"
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\u2421" if char == "\x7f" else "\ufffd"


def inert(text: str) -> str:
    r"""Return text in which every control character but `\n` and `\t` is visible or gone.

    C0 controls become their control pictures (ESC becomes U+241B), Unicode line breaks the symbol for one, form feeds
    and byte order marks go, everything else unsafe becomes U+FFFD. The number of lines never changes.
    """
    return _UNSAFE.sub(_visible, text)


def one_line(text: str) -> str:
    """Return inert text with every run of white space as one space."""
    return " ".join(inert(text).split())
