"""`python -m benchmarks`."""

import sys

from benchmarks.command import run

if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
