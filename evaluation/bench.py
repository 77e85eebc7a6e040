"""Every measurement of speed and memory, one after the other: `make bench`."""

from __future__ import annotations

import sys

from evaluation import bench_context, bench_index, bench_verify


def main() -> int:
    """Run them all; the worst exit status is ours."""
    return max(bench_context.main(), bench_index.main(), bench_verify.main())


if __name__ == "__main__":
    sys.exit(main())
