"""How commands end: one line on standard error, the right exit code, and no private text."""

import errno
import os

import pytest
import typer

from understudy import cli
from understudy.errors import UsageError

SECRET = "row-value-4711"


def ending(capsys, error: BaseException, *args: str) -> tuple[int, str]:
    """Exit code and standard error when a command raises `error`."""

    def broken():
        raise error

    code = cli.run(args, command=broken)
    return code, capsys.readouterr().err


def test_usage_error_is_one_line_and_code_2(capsys):
    code, err = ending(capsys, UsageError("column 'age' needs bounds;\n  add lower and upper"))
    assert code == 2
    assert err == "error: column 'age' needs bounds; add lower and upper\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENOENT, errno.EISDIR])
def test_trouble_with_files_is_one_line_and_code_2(capsys, number):
    code, err = ending(capsys, OSError(number, os.strerror(number), "out.csv"))
    assert code == 2
    assert err.startswith("error: cannot use 'out.csv': " + os.strerror(number))
    assert err.count("\n") == 1


def test_full_disk_reported_by_arrow_is_recognised(capsys):
    error = OSError(f"Error writing {SECRET}. Detail: [errno {errno.ENOSPC}] No space left on device")
    code, err = ending(capsys, error)
    assert code == 2
    assert "No space left on device" in err
    assert SECRET not in err


def test_interrupt_is_code_130(capsys):
    assert ending(capsys, KeyboardInterrupt()) == (130, "error: interrupted\n")


def test_out_of_memory_is_code_2(capsys):
    code, err = ending(capsys, MemoryError(SECRET))
    assert code == 2
    assert "memory" in err and SECRET not in err


@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET), RuntimeError(SECRET), AssertionError(SECRET)])
def test_unknown_errors_never_show_their_text(capsys, error):
    code, err = ending(capsys, error)
    assert code == 70
    assert SECRET not in err
    assert type(error).__name__ in err and "--debug" in err
    assert err.count("\n") == 1


def test_debug_shows_the_trace(capsys):
    code, err = ending(capsys, ValueError(SECRET), "fit", "--debug")
    assert code == 70
    assert "Traceback" in err and SECRET in err


@pytest.mark.parametrize(
    ("words", "left", "found"),
    [
        (["fit", "--debug", "a"], ["fit", "a"], True),
        (["fit", "a"], ["fit", "a"], False),
        (["fit", "--", "--debug"], ["fit", "--", "--debug"], False),
    ],
)
def test_debug_is_taken_from_anywhere_before_the_double_dash(words, left, found):
    assert cli._take_flag(words, "--debug") is found
    assert words == left


@pytest.mark.parametrize(
    "args",
    [["nonsense"], ["fit", "--nonsense"], ["sample", "model"], ["plan", "s.yaml", "--epsilon", "much"]],
    ids=" ".join,
)
def test_wrong_words_are_one_line_and_code_2(capsys, args):
    assert cli.run(args) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_misspelt_command_gets_a_suggestion(capsys):
    assert cli.run(["smaple"]) == 2
    assert "sample" in capsys.readouterr().err


@pytest.mark.parametrize("rest", [[], ["run", "--suite", "methods"], ["--help"]], ids=" ".join)
def test_a_command_that_moved_says_where_to(capsys, rest):
    assert cli.run(["bench", *rest]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "python -m benchmarks" in err
    assert cli.run(["--help"]) == 0
    assert "bench" not in capsys.readouterr().out


def test_a_signal_to_terminate_is_code_143(capsys):
    assert ending(capsys, cli._Terminated()) == (143, "error: terminated\n")
    with pytest.raises(KeyboardInterrupt):  # so that files half written are taken away
        cli._terminate()


@pytest.mark.parametrize(("way", "code", "word"), [("term", 143, "terminated"), ("int", 130, "interrupted")])
def test_a_command_that_is_stopped_says_how(capsys, way, code, word):
    """Through Typer, which makes one exit code of both: a signal to terminate was reported as Ctrl-C."""
    app = typer.Typer()

    @app.command()
    def work() -> None:
        if way == "term":
            cli._terminate()
        raise KeyboardInterrupt

    assert cli.run([], command=lambda: typer.main.get_command(app)) == code
    assert capsys.readouterr().err == f"error: {word}\n"
