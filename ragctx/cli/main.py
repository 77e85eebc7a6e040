"""The `ragctx` command: finds a command's file when it is asked for, and turns errors into one line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from ragctx import __version__
from ragctx.errors import RagctxError

# Command name to module under ragctx.cli and its one-line help: `ragctx --help` imports none of them.
COMMANDS = {
    "build-index": ("build_index", "Index a corpus together with the API reference of installed packages."),
    "context": ("context", "Print the prompt prefix for a workload or a task, or the supplement for an error."),
    "search": ("search", "Search the index."),
    "show": ("show", "Print one document."),
    "explain": ("explain", "Print the documents that address an error."),
    "check": ("check", "Check how Python files use JAX, without running them."),
    "verify": ("verify", "Judge candidate kernels without a TPU: API, TPU compiler, numerics, integrity."),
    "wrap": ("wrap", "Run a command with the prefix put before its input."),
    "doctor": ("doctor", "Say what works here and what each missing extra would add."),
}


class _LazyGroup(click.Group):
    """A group that imports a command's module only when the command is called or its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ragctx.cli.{COMMANDS[cmd_name][0]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ragctx")
def cli() -> None:
    """Put the right documentation in front of a language model that writes code."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; every error is one line on stderr.

    Exit status: 0 done, 1 bad input, 2 usage, 130 interrupted; commands that judge add 3 and 4, and `wrap` passes on
    the wrapped command's.
    """
    try:
        result: Any = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except RagctxError as error:
        print(f"ragctx: {error}", file=sys.stderr)
        return error.exit_status
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("ragctx: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away: not an error.
        _abandon_stdout()
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"ragctx: {place}{error.strerror or error}", file=sys.stderr)
        _abandon_stdout()
        return 1


def _abandon_stdout() -> None:
    """Point stdout at nothing if what it holds cannot be written, so that closing it stays quiet."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Entry point of the console script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by whoever started us, as daemons do.
            setattr(sys, name, open(os.devnull, "w"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    sys.exit(run())
