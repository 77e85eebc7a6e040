"""Wrapping a function that asks a model: the prefix goes before its prompt."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from ragctx.context.builder import ContextBuilder
from ragctx.context.options import ContextOptions
from ragctx.workload import WorkloadFacts

_Function = TypeVar("_Function", bound=Callable[..., Any])


def wrap(
    generate: _Function,
    builder: ContextBuilder,
    *,
    workload: Path | str | WorkloadFacts | None = None,
    options: ContextOptions | None = None,
) -> _Function:
    """Return `generate` with the documentation put before its prompt.

    The wrapped function takes what `generate` takes; its first argument is the prompt, a string. With a workload the
    prefix is built once and is the same for every call, so that a provider's prompt cache keeps hitting; without one,
    each prompt is its own query. A prompt for which nothing is found goes through unchanged.

        ask = ragctx.wrap(client_generate, ContextBuilder(index), workload="flash_attention.py")
        answer = ask("Write the kernel.", temperature=0.2)

    Args:
        generate: A function or coroutine function whose first argument is a prompt string.
        builder: Builds the prefixes.
        workload: The workload every call is about, or None.
        options: Options of the prefix.

    Raises:
        RagctxError: On wrapping, if the workload cannot be read.
    """
    fixed = None if workload is None else builder.prefix(workload, options=options)

    def with_prefix(prompt: str) -> str:
        context = fixed
        if context is None:
            context = builder.prefix(task=prompt, options=options) if prompt.strip() else None
            if context is None or not context.selected:
                return prompt
        return f"{context.text}\n{prompt}" if context.text else prompt

    if inspect.iscoroutinefunction(generate):

        @functools.wraps(generate)
        async def wrapped_async(prompt: str, *args: Any, **kwargs: Any) -> Any:
            return await generate(with_prefix(prompt), *args, **kwargs)

        return cast(_Function, wrapped_async)

    @functools.wraps(generate)
    def wrapped(prompt: str, *args: Any, **kwargs: Any) -> Any:
        return generate(with_prefix(prompt), *args, **kwargs)

    return cast(_Function, wrapped)
