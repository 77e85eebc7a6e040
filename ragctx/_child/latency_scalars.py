"""The arithmetic of scalar instructions, on values that may be unknown because they depend on data."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from latency_bundles import Unsupported  # type: ignore[import-not-found]


class Unknown:
    """A value that depends on data: arithmetic on it stays unknown, and deciding by it is refused."""

    def _stay(self, *_: Any) -> Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __xor__ = __rxor__ = __neg__ = __invert__ = _stay
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _stay
    __lt__ = __le__ = __gt__ = __ge__ = _stay

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Any:
        return other if other is False or (other is not True and other == 0) is True else self

    def __or__(self, other: Any) -> Any:
        return True if other is True else self

    __rand__, __ror__ = __and__, __or__

    def __bool__(self) -> bool:
        raise Unsupported("depends on data")


UNKNOWN = Unknown()


def signed(value: Any) -> Any:
    """Return a value as the signed 32-bit integer with its low bits."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def unsigned(value: Any) -> Any:
    """Return a value as the unsigned 32-bit integer with its low bits."""
    return value & 0xFFFFFFFF


def _compared(compare: Callable[[Any, Any], Any], wrap: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compare(wrap(a), wrap(b))


def _select(a: Any, b: Any, smaller: bool, wrap: Callable[[Any], Any]) -> Any:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    return a if (wrap(a) < wrap(b)) == smaller else b


def negated(value: Any) -> Any:
    """Return the other truth value, unknown if it is unknown."""
    return UNKNOWN if value is UNKNOWN else not value


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "sadd.s32": lambda a, b: signed(a + b),
    "ssub.s32": lambda a, b: signed(a - b),
    "smul.u32": lambda a, b: signed(a * b),
    "smul.s32": lambda a, b: signed(a * b),
    "sand.u32": lambda a, b: signed(unsigned(a) & unsigned(b)),
    "sor.u32": lambda a, b: UNKNOWN if UNKNOWN is a or UNKNOWN is b else signed(a | b),
    "sxor.u32": lambda a, b: signed(a ^ b),
    "sshll.u32": lambda a, b: signed(a << (b & 31)),
    "sshrl.u32": lambda a, b: signed(unsigned(a) >> (b & 31)),
    "sshra.s32": lambda a, b: signed(a) >> (b & 31),
    "smin.u32": lambda a, b: _select(a, b, True, unsigned),
    "smax.u32": lambda a, b: _select(a, b, False, unsigned),
    "smin.s32": lambda a, b: _select(a, b, True, signed),
    "smax.s32": lambda a, b: _select(a, b, False, signed),
    "sdivrem.u32": lambda a, b: signed(unsigned(a) // unsigned(b)),
    "sdivrem.u32.rem": lambda a, b: signed(unsigned(a) % unsigned(b)),
    "sc.u32": lambda a, b: unsigned(a) + unsigned(b) > 0xFFFFFFFF,
    "por": operator.or_,
    "pand": operator.and_,
    "pxor": operator.ne,
    "pnand": lambda a, b: negated(a & b),
    "pnor": lambda a, b: negated(a | b),
    **{
        f"scmp.{name}.{kind}32.totalorder": _compared(getattr(operator, name), wrap)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for kind, wrap in (("s", signed), ("u", unsigned))
    },
}
