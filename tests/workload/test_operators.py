import subprocess
import sys

import pytest
import yaml

from ragctx import data
from ragctx.workload.operators import recognise, shipped_words

WORDS = (
    "attention",
    "flash attention",
    "mamba2",
    "matmul",
    "rms_norm",
    "rmsnorm",
    "softmax",
    "ssd",
    "norm",
    "bias",
    "conv2d",
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("16p_Mamba2_SSD", ("mamba2", "ssd")),
        ("12p_RMSNorm", ("norm", "rms_norm", "rmsnorm")),
        ("rms_norm", ("norm", "rms_norm", "rmsnorm")),
        ("A Flash-Attention kernel.", ("attention", "flash attention")),
        ("two matmuls", ("matmul",)),
        ("fused_softmax", ("softmax",)),
        ("Conv2d_InstanceNorm", ("conv2d", "norm")),
        ("bias", ("bias",)),
        ("enormous softmaxed attentional", ()),
        ("", ()),
    ],
)
def test_words_in_names_and_text(text: str, found: tuple[str, ...]) -> None:
    assert recognise([text], WORDS) == found


def test_words_do_not_join_across_texts() -> None:
    assert recognise(["flash", "attention"], WORDS) == ("attention",)


def test_the_shipped_words_name_the_six_workloads() -> None:
    words = shipped_words()
    if not (data.root() / "corpus" / "synonyms.yaml").is_file():
        pytest.skip("the corpus has no synonyms.yaml yet")
    assert list(words) == sorted(set(words))
    for name in ("1p_Flash_Attention", "8p_GEMM", "12p_RMSNorm", "16p_Mamba2_SSD", "22k_Conv2d_InstanceNorm_Divide"):
        assert recognise([name]), name


def test_the_shipped_words_are_those_that_a_yaml_parser_reads() -> None:
    groups = yaml.safe_load((data.corpus() / "synonyms.yaml").read_text(encoding="utf-8"))["groups"]
    assert list(shipped_words()) == sorted({word for group in groups for word in group["words"]})


def test_without_data_nothing_is_recognised() -> None:
    code = (
        "from ragctx import data; from ragctx.errors import RagctxError\n"
        "def gone(): raise RagctxError('missing')\n"
        "data.root = gone\n"
        "from ragctx.workload.operators import recognise\n"
        "print(recognise(['attention']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "()\n"
