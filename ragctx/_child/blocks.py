"""Runs Python blocks of documents: every `assert` is evaluated in TPU interpret mode and compiled for a TPU.

Request: {"prelude": imports executed before each block, "blocks": [{"id", "code", "devices"}], "run": bool,
"topology": "v6e:2x2" or null for no compilation, "device_kind": "TPU v6 lite"}.
Answer: {id: {"checks": how many asserts, "run": null or the error, "compile": null or the error}}. The answer is
rewritten after every block, so that a block that ends the process is the first one missing; so is the one after a block
that failed to run, because TPU interpret mode does not recover from an exception.

An `assert` whose test is a JAX expression is the part that must hold on a TPU, so the block is executed twice: once
with the test evaluated on the CPU under TPU interpret mode, once with the test traced, lowered and compiled.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

Test = Callable[[], Any]


class AssertToCheck(ast.NodeTransformer):
    """Turns `assert test` into `__check__(lambda: test)`."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802 - the name ast.NodeTransformer looks for
        """Replace one assert."""
        self.count += 1
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        call = ast.Call(
            func=ast.Name(id="__check__", ctx=ast.Load()), args=[ast.Lambda(args=empty, body=node.test)], keywords=[]
        )
        return ast.copy_location(ast.Expr(value=call), node)


def error_text(error: Exception) -> str:
    """Return type and message, shortened: a compiler's message may hold a whole program."""
    return f"{type(error).__name__}: {error}"[:4000]


def execute(block: dict[str, Any], check: Callable[[Test], None]) -> str | None:
    """Execute a block in a fresh namespace and return its error, or None."""
    namespace = {"__name__": block["id"], "__check__": check}
    try:
        exec(block["prelude"], namespace)
        exec(block["code"], namespace)
    except Exception as error:
        return error_text(error)
    return None


def evaluate(test: Test) -> None:
    """Check that a test holds."""
    if not bool(test()):
        raise AssertionError("the block's assert does not hold")


def tpu_context(device_kind: str, devices: int) -> AbstractContextManager[Any]:
    """Return the context in which lowering finds a TPU; several devices bring a mesh of their own."""
    if devices > 1:
        return contextlib.nullcontext()
    device = AbstractDevice(device_kind, 1, "tpu")
    mesh: AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(
        AbstractMesh((1,), ("_x",), abstract_device=device)
    )
    return mesh


def run_block(block: dict[str, Any], device_kind: str) -> str | None:
    """Execute a block with its asserts evaluated in TPU interpret mode."""
    with tpu_context(device_kind, block["devices"]), pltpu.force_tpu_interpret_mode():
        error = execute(block, evaluate)
    jax.clear_caches()  # type: ignore[no-untyped-call]
    return error


def compile_block(block: dict[str, Any], topology: Any, device_kind: str) -> str | None:
    """Execute a block with its asserts compiled for the first devices of a topology."""
    placed: dict[str, Any] = (
        {} if block["devices"] > 1 else {"out_shardings": SingleDeviceSharding(topology.devices[0])}
    )

    def compile_test(test: Test) -> None:
        jax.jit(test, **placed).trace().lower(lowering_platforms=("tpu",)).compile()

    real_devices = jax.devices
    jax.devices = lambda *_: list(topology.devices)
    try:
        with tpu_context(device_kind, block["devices"]):
            error = execute(block, compile_test)
    finally:
        jax.devices = real_devices
    jax.clear_caches()  # type: ignore[no-untyped-call]
    return error


def main(request_path: str, answer_path: str) -> None:
    """Run every block of the request."""
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    topology = None
    if request["topology"] is not None:
        topology = topologies.get_topology_desc(topology_name=request["topology"], platform="tpu")
    answer: dict[str, Any] = {}
    for block in request["blocks"]:
        rewriter = AssertToCheck()
        tree = ast.fix_missing_locations(rewriter.visit(ast.parse(block["code"])))
        block["code"] = compile(tree, block["id"], "exec")
        block["prelude"] = request["prelude"]
        found: dict[str, Any] = {"checks": rewriter.count, "run": None, "compile": None}
        if topology is not None:
            found["compile"] = compile_block(block, topology, request["device_kind"])
        if request["run"]:
            found["run"] = run_block(block, request["device_kind"])
        answer[block["id"]] = found
        with open(answer_path + ".part", "w", encoding="utf-8") as file:
            json.dump(answer, file)
        os.replace(answer_path + ".part", answer_path)
        if found["run"] is not None:
            break


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
