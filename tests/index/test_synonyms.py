from __future__ import annotations

from pathlib import Path

import pytest

from ragctx.corpus import Layer
from ragctx.errors import RagctxError
from ragctx.index.synonyms import SynonymGroup, Synonyms, from_json, layered, load_synonyms, synonyms_of, to_json
from ragctx.index.tokenizer import Tokenizer

GROUPS = (
    SynonymGroup("attention", ("attention", "gqa", "flash attention"), ("dot_product_attention",)),
    SynonymGroup("norm", ("rmsnorm", "rms norm"), ("rsqrt",)),
)


@pytest.fixture
def synonyms() -> Synonyms:
    return Synonyms(GROUPS, Tokenizer())


def test_the_other_members_come_at_a_lower_weight(synonyms: Synonyms) -> None:
    assert synonyms.expand({"gqa": 4}) == {
        "gqa": 4,
        "attention": 1,
        "attent": 1,
        "flash": 1,
        "dot_product_attention": 1,
    }


def test_terms_of_the_query_keep_their_weight(synonyms: Synonyms) -> None:
    assert synonyms.expand({"gqa": 4, "flash": 4})["flash"] == 4


def test_words_are_recognised_by_their_stem(synonyms: Synonyms) -> None:
    assert "gqa" in synonyms.expand(Tokenizer().query("Attentions"))


def test_a_phrase_is_held_when_all_its_words_are(synonyms: Synonyms) -> None:
    assert synonyms.expand({"rms": 4, "norm": 4}) == {"rms": 4, "norm": 4, "rmsnorm": 1, "rsqrt": 1}
    assert synonyms.expand({"norm": 4}) == {"norm": 4}


def test_a_primitive_is_held_whole(synonyms: Synonyms) -> None:
    assert "gqa" in synonyms.expand({"dot_product_attention": 4})
    assert synonyms.expand({"product": 4}) == {"product": 4}


def test_added_terms_are_not_expanded_again() -> None:
    chain = Synonyms([SynonymGroup("1", ("a1", "b1")), SynonymGroup("2", ("b1", "c1"))], Tokenizer())
    assert chain.expand({"a1": 4}) == {"a1": 4, "b1": 1}


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.yaml"
    path.write_text("groups:\n  - name: norm\n    words: [rmsnorm, rms norm]\n    primitives: [rsqrt]\n")
    assert load_synonyms(path) == (GROUPS[1],)
    path.write_text("")
    assert load_synonyms(path) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("groups: [", "malformed YAML"),
        ("- a", "not a synonym file"),
        ("groups: {}", "not a synonym file"),
        ("groups: []\nmore: 1", "not a synonym file"),
        ("groups: [a]", r"groups\[0\]: not a group"),
        ("groups: [{name: 1, words: [a, b]}]", r"groups\[0\]: not a group"),
        ("groups: [{name: a, words: [a, b], word: [c]}]", r"groups\[0\]: unknown key 'word'"),
        ("groups: [{name: a, words: [a, no]}]", r"groups\[0\]: 'words' is not a list of strings"),
        ("groups: [{name: a, words: [a]}]", r"groups\[0\]: a group needs two members"),
        ("groups: [{name: a, words: [a, b]}, {name: a, words: [c, d]}]", "two groups are named 'a'"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_the_entry(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "synonyms.yaml"
    path.write_text(content)
    with pytest.raises(RagctxError, match=message) as caught:
        load_synonyms(path)
    assert str(path) in str(caught.value)
    assert caught.value.remedy


def test_a_higher_layer_replaces_a_group_by_name() -> None:
    mine = SynonymGroup("norm", ("x", "y"))
    assert layered([GROUPS, [mine]]) == (GROUPS[0], mine)


def test_layers_are_read_in_their_order(tmp_path: Path) -> None:
    for name, text in (("low", "groups: [{name: x, words: [a, b]}, {name: y, words: [c, d]}]"), ("none", None),
                       ("high", "groups: [{name: x, words: [e, f]}]")):  # fmt: skip
        (tmp_path / name).mkdir()
        if text:
            (tmp_path / name / "synonyms.yaml").write_text(text)
    layers = [Layer(name, tmp_path / name) for name in ("low", "none", "high")]
    assert synonyms_of(layers) == (SynonymGroup("x", ("e", "f")), SynonymGroup("y", ("c", "d")))


def test_groups_come_back_from_json() -> None:
    assert from_json(to_json(GROUPS)) == GROUPS
    for content in (b"{", b"[1]", b"[[1, 2]]", b"3"):
        with pytest.raises(ValueError):
            from_json(content)
