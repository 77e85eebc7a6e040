"""Sorted strings as one blob with offsets: found by bisection, read one at a time, never decoded as a whole."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

# UTF-8 keeps the order of code points, so bisecting bytes agrees with Python's order of str; "surrogatepass" keeps
# that true for the lone surrogates that a damaged text may hold.
_ERRORS = "surrogatepass"


class SortedStrings(Sequence[str]):
    """A sorted sequence of distinct strings over bytes, usually a memory map.

    Args:
        blob: The UTF-8 bytes of all strings, one after the other.
        offsets: Where each starts, and the end of the last: one more than there are strings.
    """

    __slots__ = ("_blob", "_offsets", "_size")

    def __init__(self, blob: bytes | mmap.mmap, offsets: npt.NDArray[np.int64]) -> None:
        self._blob = blob
        # A memoryview hands out Python integers several times faster than an array does.
        self._offsets = memoryview(offsets)  # type: ignore[arg-type]
        self._size = len(offsets) - 1

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, number: int) -> str: ...

    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        """Return the string at a place, or a list of them for a slice."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(self._size))]
        if number < 0:
            number += self._size
        if not 0 <= number < self._size:
            raise IndexError(number)
        return self._blob[self._offsets[number] : self._offsets[number + 1]].decode("utf-8", _ERRORS)

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(self._size))

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) >= 0

    def find(self, text: str) -> int:
        """Return the place of a string, or -1."""
        key = text.encode("utf-8", _ERRORS)
        blob, offsets = self._blob, self._offsets
        low, high = 0, self._size
        while low < high:
            middle = (low + high) >> 1
            if blob[offsets[middle] : offsets[middle + 1]] < key:
                low = middle + 1
            else:
                high = middle
        if low < self._size and blob[offsets[low] : offsets[low + 1]] == key:
            return low
        return -1


def pack(strings: Iterable[str]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the blob and the offsets of strings that are already sorted and distinct."""
    encoded = [text.encode("utf-8", _ERRORS) for text in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return b"".join(encoded), offsets
