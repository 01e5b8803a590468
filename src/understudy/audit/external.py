"""Anybody's generator, audited as a command that reads a CSV file and writes one.

    python synth.py {input} {output} --rows {rows} --seed {seed}

Each shadow run is one start of the command: `{input}` is the table to learn from, `{output}` the file it must write, `{rows}`
how many rows to write, `{seed}` a fresh number for every run. A template with `{count}` makes that many tables in one start, each
from a fit of its own, and writes them as `0.csv`, `1.csv`, ... into the folder `{output}`: heavy tools then start less often.

No shell is involved: the template is split like a shell would split it, then placeholders are filled word by word. Runs go
through `understudy.engine`; a run that fails, hangs or writes something else ends the audit with one line that says which.

The runs must be independent. A command that ignores `{seed}` and fixes its own would write the same table again and again, and
the attack would then tell apart two constants: `same_output` looks for that.
"""

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import string
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pandas as pd

from understudy import engine
from understudy.errors import UsageError
from understudy.schema.tables import read_table

PLACES = ("input", "output", "rows", "seed", "count")
TIMEOUT = 600.0
BATCH = 25  # tables per start of a command that can make several
_LINES, _LETTERS = 4, 500  # of standard error that a message quotes

Progress = Callable[[int, int], None]  # tables made, tables wanted


class Task(NamedTuple):
    """One start of the command."""

    words: tuple[str, ...]
    table: str
    rows: int
    seed: int
    tables: int | None  # None: one, written to a file; else as many, written into a folder
    timeout: float


@dataclass(frozen=True)
class External:
    """A source of synthetic tables: `source(frame, count)` is `count` tables, each from a fit of its own on `frame`."""

    command: str
    rows: int
    timeout: float = TIMEOUT
    jobs: int | None = None  # None: one process per core
    batch: int = BATCH
    remarks: list[str] = field(default_factory=list, compare=False)  # what was odd about the tables, once each

    def __post_init__(self) -> None:
        words_of(self.command)
        if self.rows < 1:
            raise UsageError(f"rows={self.rows} must be 1 or more: the number of rows the command writes")
        if not self.timeout > 0:
            raise UsageError(f"timeout={self.timeout:g} must be more than 0 seconds")

    def __call__(self, frame: pd.DataFrame, count: int, progress: Progress | None = None) -> list[pd.DataFrame]:
        tables = external_tables(
            self.command,
            frame,
            count,
            rows=self.rows,
            timeout=self.timeout,
            processes=self.jobs,
            batch=self.batch,
            progress=progress,
        )
        odd = same_output(tables)
        if odd and odd not in self.remarks:
            self.remarks.append(odd)
        return tables


def external_tables(
    command: str,
    frame: pd.DataFrame,
    count: int,
    *,
    rows: int,
    timeout: float = TIMEOUT,
    processes: int | None = None,
    batch: int = BATCH,
    progress: Progress | None = None,
) -> list[pd.DataFrame]:
    """`count` synthetic tables of the command, each from a run of its own on `frame`, in no meaningful order."""
    words = words_of(command)
    several = any("{count}" in word for word in words)
    sizes = [min(batch, count - start) for start in range(0, count, batch)] if several else [1] * count
    table = frame.to_csv(index=False)
    tasks = [
        Task(words, table, rows, secrets.randbits(31), size if several else None, timeout * (size if several else 1))
        for size in sizes
    ]

    def tell(done: int, total: int, label: str) -> None:
        if progress is not None:
            progress(min(count, done * batch) if several else done, count)

    found = engine.run_jobs(run_one, tasks, jobs=processes, progress=tell)
    return [one for tables in found for one in tables]


def words_of(command: str) -> tuple[str, ...]:
    """The words of a template, or a sentence about what is wrong with it."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"external: cannot split the command into words ({error}); check its quotes") from None
    if not words:
        raise UsageError("external: the command is empty; write a command such as 'python synth.py {input} {output}'")
    named = set()
    for word in words:
        try:
            parts = list(string.Formatter().parse(word))
        except ValueError:
            raise UsageError(f"external: {word!r} has a single brace; write {{{{ or }}}} for a literal one") from None
        named |= {name for _, name, _, _ in parts if name is not None}
    for name in sorted(named - set(PLACES)):
        known = ", ".join(f"{{{place}}}" for place in PLACES)
        raise UsageError(f"external: the placeholder {{{name}}} is not known; there are {known}")
    for name in ("input", "output"):
        if name not in named:
            raise UsageError(f"external: the command has no {{{name}}}; it must read {{input}} and write {{output}}")
    return words


def run_one(task: Task) -> list[pd.DataFrame]:
    """Start the command once, in an empty folder of its own, and read what it wrote."""
    with tempfile.TemporaryDirectory(prefix="understudy-audit-") as place:
        source, target = Path(place, "input.csv"), Path(place, "output.csv" if task.tables is None else "output")
        source.write_text(task.table, encoding="utf-8")
        if task.tables is not None:
            target.mkdir()
        filled = {
            "input": str(source),
            "output": str(target),
            "rows": str(task.rows),
            "seed": str(task.seed),
            "count": str(task.tables),
        }
        _run([word.format(**filled) for word in task.words], task, Path(place))
        columns = pd.read_csv(source, nrows=0).columns
        if task.tables is None:
            return [_read(target, columns, task)]
        return [_read(target / f"{number}.csv", columns, task) for number in range(task.tables)]


def _run(words: Sequence[str], task: Task, place: Path) -> None:
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"external: cannot start {words[0]!r}: {error.strerror}") from None
        with _mourned(child, place):
            try:
                code = child.wait(task.timeout)
            except subprocess.TimeoutExpired:
                raise UsageError(
                    f"external: the command did not finish within {task.timeout:g} seconds (seed {task.seed}); "
                    "raise the timeout or make it do less"
                ) from None
        if code != 0:
            ended = f"exit code {code}" if code > 0 else f"signal {-code}"
            said = _tail(errors)
            told = f"; it said: {said}" if said else "; it wrote nothing to standard error"
            raise UsageError(f"external: the command failed with {ended} (seed {task.seed}){told}")


@contextlib.contextmanager
def _mourned(child: "subprocess.Popen[bytes]", place: Path) -> Iterator[None]:
    """Whatever ends the wait (timeout, Ctrl-C, the end of this worker), the command, its children and its folder go too."""

    def end() -> None:
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def leave(number: int, frame: object) -> None:
        end()
        shutil.rmtree(place, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # an exception instead would be handed on as a worker's result

    # A handler that somebody else has set is not ours to replace, and only the main thread may set one.
    free = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if free:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        end()
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _tail(errors: BinaryIO) -> str:
    """The last lines of standard error on one line."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - 20_000))
    lines = [line.strip() for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(lines[-_LINES:])[-_LETTERS:]


def _read(path: Path, columns: "pd.Index[str]", task: Task) -> pd.DataFrame:
    if not path.is_file():
        what = "{output}" if task.tables is None else f"{{output}}/{path.name}"
        raise UsageError(f"external: the command ended well but wrote no {what} (seed {task.seed})")
    try:
        frame = read_table(path)
    except UsageError as error:
        told = str(error).replace(repr(str(path)), "that the command wrote")
        raise UsageError(f"external: {told} (seed {task.seed})") from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise UsageError(
            f"external: the output lacks column {missing[0]!r} of the input (seed {task.seed}); "
            "the command must write the same columns"
        )
    return frame[list(columns)]


def same_output(tables: Sequence[pd.DataFrame]) -> str:
    """A sentence if all tables of one input are equal, which independent runs of a random method do not produce."""
    if len(tables) < 2 or any(not table.equals(tables[0]) for table in tables[1:]):
        return ""
    return (
        f"{len(tables)} runs on the same input wrote the same table: the command seems to fix its seed, so that a "
        "difference between inputs is seen without any noise; pass {seed} on to it"
    )
