"""Functions for workers, in a module that they can import."""

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import UsageError

SECRET = "patient 4711 has a value of 17"


def pid(_: object) -> int:
    time.sleep(0.05)  # so that every worker gets some
    return os.getpid()


def square(x: int) -> int:
    return x * x


def zeros() -> Any:
    return np.zeros(3, np.int64)


def count(piece: range) -> Any:
    return np.bincount(np.asarray(piece) % 3, minlength=3).astype(np.int64)


def die_once(task: tuple[str, int]) -> Any:
    """The first worker that gets piece 2 dies before it answers."""
    marker, number = task
    if number == 2 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return np.full(3, number, np.int64)


def wrong_shape(piece: range) -> Any:
    return np.zeros(4, np.int64)


def floats(piece: range) -> Any:
    return np.full(3, np.nan)


def texts(piece: range) -> Any:
    return Counter({SECRET: 0.5})


def blurt(piece: range) -> Any:
    raise ValueError(SECRET)


def missing_file(piece: range) -> Any:
    raise UsageError("table 'rows.parquet' is not there")
