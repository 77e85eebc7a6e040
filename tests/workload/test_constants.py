import ast

import pytest

from ragctx.workload.constants import Unknown, evaluate

KNOWN = {"B": 128, "CONFIG": {"M": 4}, "DIMS": [1, 2]}


def value(text: str) -> object:
    return evaluate(ast.parse(text, mode="eval").body, KNOWN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * B + 1", 257),
        ("-B // 3", -43),
        ("2 ** 10", 1024),
        ("1e-5", 1e-5),
        ("[B, (1, 'a', None)]", [128, (1, "a", None)]),
        ("CONFIG['M'] * DIMS[1]", 8),
        ("dict(a=1, **CONFIG)", {"a": 1, "M": 4}),
        ("{'a': 1, 'b': f(2), **CONFIG}", {"a": 1, "M": 4}),
    ],
)
def test_constant_expressions(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "f(1)",
        "other",
        "'a' * 10**9",
        "10 ** 10 ** 10",
        "1 // 0",
        "True + 1",
        "B if B else 1",
        "{[]: 1}",
        "DIMS[9]",
        "(-8) ** 0.5",
    ],
)
def test_everything_else_is_unknown(text: str) -> None:
    with pytest.raises(Unknown):
        value(text)
