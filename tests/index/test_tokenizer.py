from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragctx.index.stopwords import STOP_WORDS
from ragctx.index.tokenizer import Entry, QueryWeights, Tokenizer, merge_weights


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("pl.BlockSpec", "pl.blockspec blockspec block spec"),
        ("Use pl.BlockSpec.", "use pl.blockspec blockspec block spec"),
        ("dot_general", "dot_general dot general"),
        ("camelCase", "camelcase camel case"),
        ("XMLHttpRequest", "xmlhttprequest xml http request"),
        ("CompilerParams", "compilerparams compiler compil params param"),
        (
            "pltpu.MemorySpace.VMEM",
            "pltpu.memoryspace.vmem memoryspace.vmem vmem pltpu memoryspace memory memori space",
        ),
        ("session.open_channel()", "session.open_channel open_channel open channel session"),
        ("__init__", "__init__ init"),
        ("bf16", "bf16 bf 16"),
        ("conv2d v6e x1", "conv2d conv v6e x1"),
        ("block_16", "block_16 block 16"),
        ("TPUs", "tpus tpu"),
        ("kernels run", "kernels kernel run"),
        ("don't", "don t"),
        ("größe", "grösse"),
        ("ＦＵＬＬ　１２", "full 12"),
        ("ﬁle x²", "file x2"),
        ("", ""),
        (" \t\n.,;", ""),
    ],
)
def test_identifiers_and_words(tokenizer: Tokenizer, text: str, terms: str) -> None:
    assert tokenizer.tokens(text) == terms.split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("(8, 128)", "(8,128) 8 128"),
        ("( 8 ,128 )", "(8,128) 8 128"),
        ("f32[8,128]", "f32 32 (8,128) 8 128"),
        ("vector<8x128xf32>", "vector (8,128) 8 128 f32"),
        ("(8,)", "(8,) 8"),
        ("args[3] f(8)", "args arg 3 f 8"),
        ("1e-5 0.10.2 0x80 2.5", "1e-5 0.10.2 0x80 2.5"),
        ("(1,2,3,4,5,6,7,8)", "(1,2,3,4,5,6,7,8) 1 2 3 4 5 6 7 8"),
        ("(block_m, 128)", "block_m block m 128"),
    ],
)
def test_shapes_and_numbers(tokenizer: Tokenizer, text: str, terms: str) -> None:
    assert tokenizer.tokens(text) == terms.split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("행렬곱을", "행렬 렬곱 곱을"),
        ("핵", "핵"),
        ("日本語 字", "日本 本語 字"),
        ("BlockSpec을 쓴다", "blockspec block spec 을 쓴다"),
        ("核心kernel核", "核心 kernel 核"),
        ("矩阵矩阵", "矩阵 阵矩 矩阵"),
        ("ภาษา", "ภา าษ ษา"),
    ],
)
def test_scripts_without_spaces(tokenizer: Tokenizer, text: str, terms: str) -> None:
    assert tokenizer.tokens(text) == terms.split()


def test_composed_and_decomposed_text_give_equal_terms(tokenizer: Tokenizer) -> None:
    for text in ("행렬곱 커널", "größe naïve", "カーネルガイド"):
        assert tokenizer.tokens(unicodedata.normalize("NFD", text)) == tokenizer.tokens(text)


def test_words_of_indic_scripts_keep_their_vowels(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_error_lines_give_pairs_of_content_words(tokenizer: Tokenizer) -> None:
    text = "ValueError: Block shape for args[0] must be divisible by 8 and 128, respectively"
    phrases = [term for term in tokenizer.tokens(text) if " " in term]
    assert phrases == ["block shape", "shape args", "args divisible", "divisible respectively"]


def test_phrases_only_where_an_error_is_quoted(tokenizer: Tokenizer) -> None:
    def phrases(text: str) -> list[str]:
        return [term for term in tokenizer.tokens(text) if " " in term]

    assert phrases("the scoped vmem limit was exceeded") == []
    assert phrases("it says `exceeded scoped vmem limit`") == ["exceeded scoped", "scoped vmem", "vmem limit"]
    assert phrases("E1001: exceeded scoped vmem limit") == ["exceeded scoped", "scoped vmem", "vmem limit"]
    assert phrases("RESOURCE_EXHAUSTED: vmem limit") == ["vmem limit"]
    assert phrases("call `pl.BlockSpec` with `x y`") == []
    assert [t for t in tokenizer.query("exceeded scoped vmem", error=True) if " " in t] == [
        "exceeded scoped",
        "scoped vmem",
    ]


def test_query_weights(tokenizer: Tokenizer) -> None:
    assert tokenizer.query("pl.BlockSpec") == {"pl.blockspec": 4, "blockspec": 4, "block": 2, "spec": 2}
    # A word and its stem share the weight of a word that is its own stem.
    assert tokenizer.query("kernels matmul") == {"kernels": 2, "kernel": 2, "matmul": 4}
    assert tokenizer.query("(8, 128)") == {"(8,128)": 4, "8": 1, "128": 1}


def test_a_term_that_occurs_twice_counts_once_at_its_largest_weight(tokenizer: Tokenizer) -> None:
    assert tokenizer.query("matmul matmul matmul") == {"matmul": 4}
    assert tokenizer.query("BlockSpec block") == {"blockspec": 4, "block": 4, "spec": 2}


def test_stop_words_are_dropped_from_queries_only(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("how to use the kernel") == ["how", "to", "use", "the", "kernel"]
    assert tokenizer.query("how to use the kernel") == {"kernel": 4}
    assert set(tokenizer.query("is_in")) == {"is_in"}
    assert set(tokenizer.query("what is it")) == {"what", "is", "it"}
    assert tokenizer.query("...") == {}


def test_stop_words_are_what_the_tokenizer_would_look_up() -> None:
    assert all(word == word.casefold() and word.isalpha() for word in STOP_WORDS)
    assert len(STOP_WORDS) > 100


def test_synonym_entries(tokenizer: Tokenizer) -> None:
    assert tokenizer.entry("rms norm") == Entry(("rms", "norm"), ("rms", "norm"))
    assert tokenizer.entry("attentions") == Entry(("attent",), ("attentions", "attent"))
    assert tokenizer.entry("dot_general") == Entry(("dot_general",), ("dot_general",))
    assert tokenizer.entry("in place") == Entry(("place",), ("place",))


def test_other_weights_are_used() -> None:
    weights = QueryWeights(whole=8, part=2, number=3, phrase=1, synonym=1)
    assert Tokenizer(weights).query("dot_general 7") == {"dot_general": 8, "dot": 2, "general": 2, "7": 3}


def test_merged_weights_keep_the_largest() -> None:
    assert merge_weights([{"a": 1, "b": 2}, {"a": 3}]) == {"a": 3, "b": 2}


HOSTILE = {
    "combining marks": "a" + "\u0301\u0316" * 100_000,
    "open brackets": "(" * 200_000,
    "a shape that never ends": "(1," * 60_000,
    "spaces after a bracket": "(1" + " " * 200_000,
    "one word": "a" * 300_000,
    "dots": "a." * 150_000,
    "underscores": "_" * 200_000,
    "digits": "1" * 200_000,
    "camels": "aB" * 150_000,
    "products": "1x" * 150_000,
    "backticks": "`" * 200_000,
    "spans": "`a b c" * 40_000,
    "marks of errors": "ValueError: " * 20_000,
    "capitals": "ABCDEFG_" * 30_000,
    "exponents": "1e" * 100_000,
    "ideographs": "漢字" * 100_000,
    "control characters": "\x00\x1b\u202e\x85" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_work_is_bounded_by_the_text(tokenizer: Tokenizer, text: str) -> None:
    """What takes quadratic time on these would run for hours, into the test's time-out."""
    terms = tokenizer.tokens(text)
    assert sum(map(len, terms)) <= 6 * len(text)
    assert all(len(term) <= 101 for term in terms)


def test_long_lexemes_are_left_out_and_their_neighbours_stay(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("x = " + "a" * 300 + " end") == ["x", "end"]
    assert tokenizer.tokens("key " + "f0" * 100) == ["key"]


def test_lone_surrogates_separate_words(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("abc\ud800def") == ["abc", "def"]


@given(st.text(max_size=300))
def test_any_text_gives_clean_terms(text: str) -> None:
    tokenizer = Tokenizer()
    terms = tokenizer.tokens(text)
    assert all(term and "\n" not in term and term == term.strip() for term in terms)
    query = tokenizer.query(text)
    assert set(query) <= set(terms)
    assert all(type(weight) is int and weight > 0 for weight in query.values())
    assert Tokenizer().tokens(text) == terms


def test_settings_name_what_shapes_terms(tokenizer: Tokenizer) -> None:
    settings = tokenizer.settings()
    assert settings["version"] == 1
    assert settings["unicode"] == unicodedata.unidata_version
    assert settings["stemmer"].startswith("snowball-english ")


def test_the_stemmer_loads_on_first_use() -> None:
    code = (
        "import sys; from ragctx.index.tokenizer import Tokenizer; t = Tokenizer(); t.settings();"
        "assert 'snowballstemmer' not in sys.modules; t.tokens('kernels'); assert 'snowballstemmer' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
