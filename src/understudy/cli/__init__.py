"""The command line: parse, call one library function, print text or `--json`.

This file turns every way a command can end into an exit code and at most one line on standard error:

    0    done
    1    a check ran and the answer is no (`certificate verify`, `audit`)
    2    something the user can mend: an option, a file, a schema, a full disk
    70   a defect of ours; the message carries no text of the exception, because that may quote a private row
    130  interrupted; 143 if by a signal to terminate

Commands are listed in `COMMANDS` and imported when they are called, so `understudy --help` does not import JAX.
`run` serves another command line too (`python -m benchmarks`), which then ends in the same ways.
"""

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from understudy.errors import UsageError

_DEFECT = 70
Command = Callable[[], Any]  # makes the Typer command to run; a function, because making it imports


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the `understudy` script; always raises SystemExit."""
    signal.signal(signal.SIGTERM, _terminate)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us; nothing must fail for that
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")  # terminals that know ASCII only
    raise SystemExit(run(sys.argv[1:] if args is None else args))


class _Terminated(KeyboardInterrupt):
    """SIGTERM: like Ctrl-C, so that half-written files are taken away and what was spent is said."""


_terminated = threading.Event()  # Typer turns both interrupts into one exit code, so which one it was is kept here


def _terminate(*_: object) -> None:
    _terminated.set()
    raise _Terminated


def _understudy() -> Any:
    from understudy.cli._commands import command

    return command()


def run(args: Sequence[str], command: Command = _understudy, program: str = "understudy") -> int:
    """Run one command and return its exit code."""
    words = list(args)
    debug = _take_flag(words, "--debug")
    if not debug:
        return _guarded(words, command, program)
    try:
        return _invoke(words, command, program)
    except BaseException:
        traceback.print_exc()
        return _DEFECT


def _guarded(words: list[str], command: Command, program: str) -> int:
    _terminated.clear()
    try:
        code = _invoke(words, command, program)
    except UsageError as error:
        return _complain(str(error), 2)
    except _Terminated:
        return _complain("terminated", 143)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except OSError as error:
        return _complain(_describe_os_error(error), 2)
    except MemoryError:
        return _complain("not enough memory; try fewer teachers, a smaller batch or fewer columns", 2)
    except Exception as error:
        if (usage := _as_usage(error)) is not None:
            return usage
        return _complain(_describe_defect(error), _DEFECT)
    if code == 130:
        return _complain("terminated", 143) if _terminated.is_set() else _complain("interrupted", 130)
    return code


def _invoke(words: list[str], command: Command, program: str) -> int:
    result = command().main(args=words, prog_name=program, standalone_mode=False)
    return result if isinstance(result, int) else 0


def _as_usage(error: Exception) -> int | None:
    """A wrong option or argument, as Typer reports it, in our one-line form."""
    import typer

    if isinstance(error, typer.Abort):
        return _complain("cancelled", 130)
    if isinstance(error, typer.TyperException):
        if not error.format_message():
            return error.exit_code  # a group without a command has printed its help
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context is not None else ""
        return _complain(error.format_message().rstrip(".") + hint, 2)
    return None


def _take_flag(words: list[str], flag: str) -> bool:
    """Remove `flag` wherever it stands before `--`; it belongs to the program, not to one command."""
    end = words.index("--") if "--" in words else len(words)
    found = flag in words[:end]
    words[:end] = [word for word in words[:end] if word != flag]
    return found


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    with suppress(OSError):  # nobody may be listening; the exit code still says it
        print(f"error: {line}", file=sys.stderr)  # noqa: T201
    return code


def _describe_os_error(error: OSError) -> str:
    number = error.errno
    if number is None:
        # PyArrow puts the number into the text only, and the text may hold more than we want to show.
        text = str(error)
        known = (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.ENOENT, errno.EISDIR)
        number = next((code for code in known if f"errno {code}]" in text or os.strerror(code) in text), None)
    reason = os.strerror(number) if number is not None else type(error).__name__
    where = f" {os.fsdecode(error.filename)!r}" if isinstance(error.filename, str | bytes) else ""
    advice = {
        errno.ENOSPC: "; free some space and run the command again",
        errno.EDQUOT: "; free some space and run the command again",
        errno.EACCES: "; choose a place you may write to, or change its permissions",
        errno.EROFS: "; choose a place you may write to",
    }.get(number or 0, "")
    return f"cannot use{where or ' a file'}: {reason}{advice}"


def _describe_defect(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}understudy{os.sep}" in frame.filename]
    where = ""
    if ours:
        file = ours[-1].filename.rsplit(f"{os.sep}understudy{os.sep}", 1)[1]
        where = f" in understudy/{file.replace(os.sep, '/')} line {ours[-1].lineno}"
    return (
        f"unexpected {type(error).__name__}{where}; this is a defect of understudy. "
        "Run again with --debug for the trace (it may show private values: do not share it unread)"
    )


def _silence_stdout() -> None:
    """Whoever read our output has gone; point it at nothing, so that the interpreter's last flush stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
