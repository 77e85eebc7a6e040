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
        keys: The strings' `prefix_keys`, for `find_many`; without them it bisects the blob from end to end.
    """

    __slots__ = ("_blob", "_keys", "_offsets", "_size")

    def __init__(
        self,
        blob: bytes | mmap.mmap,
        offsets: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64] | None = None,
    ) -> None:
        self._blob = blob
        self._keys = keys
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
        return self._bisect(text.encode("utf-8", _ERRORS), 0, self._size)

    def find_many(self, texts: Sequence[str]) -> list[int]:
        """Return the places of strings, -1 for those that are not there; one array search narrows all at once."""
        encoded = [text.encode("utf-8", _ERRORS) for text in texts]
        if self._keys is None:
            return [self._bisect(key, 0, self._size) for key in encoded]
        keys = np.array([_prefix_key(key) for key in encoded], dtype=np.uint64)
        lows = self._keys.searchsorted(keys).tolist()
        highs = self._keys.searchsorted(keys, "right").tolist()
        return [self._bisect(key, low, high) for key, low, high in zip(encoded, lows, highs, strict=True)]

    def _bisect(self, key: bytes, low: int, end: int) -> int:
        blob, offsets, high = self._blob, self._offsets, end
        while low < high:
            middle = (low + high) >> 1
            if blob[offsets[middle] : offsets[middle + 1]] < key:
                low = middle + 1
            else:
                high = middle
        if low < end and blob[offsets[low] : offsets[low + 1]] == key:
            return low
        return -1


def prefix_keys(strings: Iterable[str]) -> npt.NDArray[np.uint64]:
    """Return the first eight bytes of each string as a number; sorted strings give sorted numbers."""
    return np.array([_prefix_key(text.encode("utf-8", _ERRORS)) for text in strings], dtype=np.uint64)


def _prefix_key(text: bytes) -> int:
    return int.from_bytes(text[:8].ljust(8, b"\0"), "big")


def pack(strings: Iterable[str]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the blob and the offsets of strings that are already sorted and distinct."""
    encoded = [text.encode("utf-8", _ERRORS) for text in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return b"".join(encoded), offsets
