"""The curated api cards, held against the JAX that is installed: names, signatures, and every block of code run."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from ragctx import data, tokens
from ragctx.children import run_script

FOLDER = data.corpus() / "api"
FILES = sorted(FOLDER.glob("*.md"))

KEYS = {"title", "tags", "primitives", "symbols", "related", "was", "source", "verified"}
ALIASES = {"pl": "jax.experimental.pallas", "pltpu": "jax.experimental.pallas.tpu", "jnp": "jax.numpy"}
PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax.experimental import pallas as pl\n"
PRELUDE += "from jax.experimental.pallas import tpu as pltpu\n"

MOST_TOKENS = 399
# 300 was the aim; a card whose use needs two devices, a barrier and a copy does not fit it.
BODY_TOKENS = range(120, 336)

ENUMS = {"pltpu.MemorySpace", "pltpu.SemaphoreType"}
# What these are for happens on a CPU only; the compiler has nothing to say to it.
CPU_ONLY = {"pltpu.InterpretParams", "pltpu.force_tpu_interpret_mode"}
TWO_DEVICES = {"pltpu.get_barrier_semaphore", "pltpu.make_async_remote_copy"}

_NAME = re.compile(r"(?<![\w.`/])`?((?:pl|pltpu|jax|jnp)(?:\.[A-Za-z_]\w*)+)")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Card:
    """A card taken apart."""

    name: str
    text: str
    front: dict[str, Any]
    body: str
    fences: tuple[tuple[str, str], ...]

    def signatures(self) -> list[str]:
        """Return the signatures, one line each."""
        lines = self.fences[0][1].strip()
        return [" ".join(call.split()).replace("( ", "(") for call in re.split(r"\n(?=\S)", lines)]


def read(path: Path) -> Card:
    text = path.read_text(encoding="utf-8")
    _, block, body = text.split("---\n", 2)
    return Card(path.stem, text, yaml.safe_load(block), body, tuple(_FENCE.findall(body)))


CARDS = {path.stem: read(path) for path in FILES}


@pytest.fixture(params=sorted(CARDS))
def card(request: pytest.FixtureRequest) -> Card:
    return CARDS[request.param]


@cache
def jax_says() -> dict[str, Any]:
    """Return what the installed JAX says of everything that the cards name, asked in one child."""
    names = {name for c in CARDS.values() for name in _NAME.findall(c.body)}
    names |= {symbol for c in CARDS.values() for symbol in c.front["symbols"]}
    names |= {was["name"] for c in CARDS.values() for was in c.front.get("was", [])}
    request = {
        "aliases": ALIASES,
        "names": sorted(names),
        "signatures": sorted({signature for c in CARDS.values() for signature in c.signatures()}),
        "primitives": sorted({p for c in CARDS.values() for p in c.front.get("primitives", [])}),
        "members": sorted(ENUMS),
    }
    result = run_script("names.py", request)
    assert result.status == 0, result.stderr
    answer: dict[str, Any] = result.answer
    return answer


@cache
def runs(topology: str | None) -> dict[str, Any]:
    """Return how every card's code did: in one child, and in another for what a failure left undone."""
    blocks = [
        {"id": c.name, "code": code, "devices": 2 if c.name in TWO_DEVICES else 1}
        for c in CARDS.values()
        for kind, code in c.fences
        if kind == "python" and not (topology and c.name in CPU_ONLY)
    ]
    answer: dict[str, Any] = {}
    while todo := [block for block in blocks if block["id"] not in answer]:
        request = {"prelude": PRELUDE, "blocks": todo, "run": topology is None, "topology": topology}
        request["device_kind"] = "TPU v6 lite"
        # Two simulated devices need the larger thread pool, or they may wait for each other for ever.
        environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "NPROC": "16"}
        result = run_script("blocks.py", request, timeout_s=600, environment=environment)
        assert result.answer, f"{todo[0]['id']} ended the process: {result.stderr}"
        answer |= result.answer
    return answer


def test_there_are_at_least_30_cards() -> None:
    assert len(CARDS) >= 30


def test_front_matter_has_known_keys_of_the_right_form(card: Card) -> None:
    assert set(card.front) <= KEYS
    assert card.front["title"] == card.name == card.front["symbols"][0]
    assert card.front["verified"] == {"jax": "0.10.2"}
    assert card.front["source"]
    assert all(isinstance(tag, str) and tag == tag.lower() for tag in card.front["tags"])
    assert all(set(was) <= {"name", "until"} for was in card.front.get("was", []))
    assert all(isinstance(was.get("until", ""), str) for was in card.front.get("was", []))


def test_related_cards_exist_and_are_others(card: Card) -> None:
    related = card.front.get("related", [])
    assert [name for name in related if name.removeprefix("api/") not in CARDS] == []
    assert f"api/{card.name}" not in related


def test_no_symbol_has_two_cards() -> None:
    symbols = [symbol for c in CARDS.values() for symbol in c.front["symbols"]]
    assert sorted({symbol for symbol in symbols if symbols.count(symbol) > 1}) == []


def test_a_card_is_short(card: Card) -> None:
    assert tokens.count(card.text) <= MOST_TOKENS
    assert tokens.count(card.body) in BODY_TOKENS
    assert max(map(len, card.body.splitlines())) <= 120


def test_a_card_is_purpose_signature_constraint_use(card: Card) -> None:
    assert [kind for kind, _ in card.fences] == ["text", "python"]
    purpose, constraint, after = (part.strip() for part in _FENCE.sub("\f", card.body).split("\f"))
    assert purpose.count("\n\n") == 0 and purpose.endswith((".", "`."))
    assert len(constraint.split()) >= 15
    assert "assert " in card.fences[1][1]
    assert len(after.split()) <= 12


def test_every_name_resolves(card: Card) -> None:
    gone = {was["name"] for was in card.front.get("was", [])}
    names = {*_NAME.findall(card.body), *card.front["symbols"]} - gone
    assert {name: why for name in sorted(names) if (why := jax_says()["names"][name])} == {}


def test_old_names_are_gone_or_deprecated(card: Card) -> None:
    installed = Version("0.10.2")
    for was in card.front.get("was", []):
        why = jax_says()["names"][was["name"]]
        assert why is not None, f"{was['name']} still works"
        if "until" in was:
            assert Version(was["until"]) <= installed
            assert "DeprecationWarning" not in why


def test_signatures_are_those_of_the_installed_jax(card: Card) -> None:
    assert {s: why for s in card.signatures() if (why := jax_says()["signatures"][s])} == {}
    written = {signature.partition("(")[0] for signature in card.signatures()}
    if card.name in ENUMS:
        assert written == {f"{card.name}.{member}" for member in jax_says()["members"][card.name]}
    else:
        assert card.name in written
        assert written <= set(card.front["symbols"])


def test_primitives_exist(card: Card) -> None:
    assert [p for p in card.front.get("primitives", []) if not jax_says()["primitives"][p]] == []


@pytest.mark.slow
def test_the_use_is_right_in_tpu_interpret_mode(card: Card) -> None:
    found = runs(None)[card.name]
    assert found["checks"] >= 1
    assert found["run"] is None


@pytest.mark.slow
@pytest.mark.tpu_compiler
@pytest.mark.parametrize("name", sorted(set(CARDS) - CPU_ONLY))
def test_the_use_compiles_for_v6e(name: str) -> None:
    assert runs("v6e:2x2")[name]["compile"] is None
