"""The shipped synonym groups: their form, that what they name exists, and what they do to a query."""

import re
from itertools import combinations

import pytest

from ragctx import data
from ragctx.children import run_script
from ragctx.index import SynonymGroup, Synonyms, load_synonyms
from ragctx.index.tokenizer import Tokenizer
from ragctx.workload.operators import recognise

GROUPS = load_synonyms(data.corpus() / "synonyms.yaml")
BY_NAME = {group.name: group for group in GROUPS}


def members(group: SynonymGroup) -> tuple[str, ...]:
    return (*group.words, *group.primitives)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer()


def test_there_are_25_to_40_groups() -> None:
    assert 25 <= len(GROUPS) <= 40


def test_words_are_lower_case_words_or_phrases_of_at_most_three() -> None:
    form = re.compile(r"[a-z][a-z0-9_]*(?: [a-z]+){0,2}")
    assert [word for group in GROUPS for word in group.words if not form.fullmatch(word)] == []


def test_no_member_is_named_twice() -> None:
    named = [member for group in GROUPS for member in members(group)]
    assert sorted({member for member in named if named.count(member) > 1}) == []


def test_no_two_groups_are_recognised_by_the_same_terms(tokenizer: Tokenizer) -> None:
    required = {g.name: {frozenset(tokenizer.entry(m).required) for m in members(g)} for g in GROUPS}
    assert frozenset() not in set().union(*required.values()), "a member holds nothing but stop words"
    assert [(a, b) for a, b in combinations(required, 2) if required[a] & required[b]] == []


def test_every_primitive_exists_in_jax() -> None:
    primitives = sorted({primitive for group in GROUPS for primitive in group.primitives})
    result = run_script("names.py", {"aliases": {}, "primitives": [*primitives, "no_such_primitive"]})
    assert result.status == 0, result.stderr
    assert [name for name, exists in result.answer["primitives"].items() if not exists] == ["no_such_primitive"]


@pytest.mark.parametrize(
    ("query", "finds"),
    [
        ("rmsnorm", {"layernorm", "norm", "rsqrt"}),
        ("gqa", {"attention", "mha"}),
        ("gmm", {"moe", "ragged_dot_general"}),
        ("einsum", {"matmul", "gemm", "dot_general"}),
        ("dot_general", {"matmul"}),
        ("conv_general_dilated", {"convolution", "im2col"}),
        ("mamba2", {"ssd", "ssm"}),
        ("kv cache", {"paged"}),
        ("softmax", {"logsumexp"}),
        ("int4", {"quantization", "int8"}),
        ("make_async_copy", {"dma"}),
        ("RESOURCE_EXHAUSTED", {"vmem", "oom"}),
        ("embedding", {"gather"}),
        ("allreduce", {"all_gather", "collective"}),
        ("megacore", {"dimension_semantics"}),
    ],
)
def test_a_query_is_searched_for_its_family(tokenizer: Tokenizer, query: str, finds: set[str]) -> None:
    terms = tokenizer.query(query)
    expanded = Synonyms(GROUPS, tokenizer).expand(terms)
    assert finds <= set(expanded)
    assert {expanded[term] for term in finds} == {tokenizer.weights.synonym}
    assert {term: expanded[term] for term in terms} == terms


@pytest.mark.parametrize("query", ["exp", "reduce", "memory", "cache", "group", "linear", "copy", "window", "state"])
def test_a_word_of_many_meanings_expands_to_nothing(tokenizer: Tokenizer, query: str) -> None:
    terms = tokenizer.query(query)
    assert Synonyms(GROUPS, tokenizer).expand(terms) == terms


def test_group_norm_does_not_ask_for_groups(tokenizer: Tokenizer) -> None:
    expanded = Synonyms(GROUPS, tokenizer).expand(tokenizer.query("layernorm"))
    assert "group_norm" in expanded
    assert "group" not in expanded


@pytest.mark.parametrize(
    ("workload", "group"),
    [
        ("1p_Flash_Attention", "attention"),
        ("2p_GQA_Attention", "attention"),
        ("3p_MLA_Attention", "attention"),
        ("4p_Sparse_Attention", "sparse attention"),
        ("5p_Flex_Attention", "score modifiers"),
        ("6p_Paged_Attention", "paged attention"),
        ("7p_Ragged_Paged_Attention", "paged attention"),
        ("8p_GEMM", "matmul"),
        ("9p_SwiGLU_MLP", "gated mlp"),
        ("10p_Sparse_MoE", "grouped matmul"),
        ("11p_Megablox_GMM", "grouped matmul"),
        ("12p_RMSNorm", "norm"),
        ("13p_Cross_Entropy", "cross entropy"),
        ("14p_Ragged_Dot", "grouped matmul"),
        ("15p_RetNet_Retention", "linear attention"),
        ("16p_Mamba2_SSD", "state space"),
        ("17p_Triangle_Multiplication", "triangle multiplication"),
        ("22k_Conv2d_InstanceNorm_Divide", "convolution"),
        ("22k_Conv2d_InstanceNorm_Divide", "norm"),
        ("23k_Matmul_Sum_Max_AvgPool_LogSumExp_LogSumExp", "pooling"),
        ("26k_BMM_InstanceNorm_Sum_ResidualAdd_Multiply", "batched matmul"),
        ("28k_ConvTranspose3d_LayerNorm_GELU_Scaling", "convolution"),
        ("32k_Gemm_Sigmoid_LogSumExp", "softmax"),
        ("38k_Matmul_Dropout_Softmax", "random numbers"),
        ("47k_Matmul_Add_Swish_Tanh_GELU_Hardtanh", "activation"),
    ],
)
def test_operator_words_name_the_family_of_a_workload(workload: str, group: str) -> None:
    assert set(recognise([workload])) & set(BY_NAME[group].words)
