"""Commands as generators: what they get, what comes back, and one clear line when something goes wrong."""

import os
import subprocess
import sys
import time

import pandas as pd
import pytest

from understudy.audit.external import External, external_tables, same_output, words_of
from understudy.errors import UsageError

FRAME = pd.DataFrame({"a": [0, 0, 1], "b c": [0.5, 1.5, 2.5]})


def script(folder, body):
    """A generator of a few lines: `python generator.py INPUT OUTPUT ROWS SEED`."""
    file = folder / "a generator.py"  # a name that a careless split would tear apart
    file.write_text("import sys, pathlib, random, time, csv\nsource, target, rows, seed = sys.argv[1:5]\n" + body)
    return f"'{sys.executable}' '{file}' {{input}} {{output}} {{rows}} {{seed}}"


BOOTSTRAP = """
lines = open(source).read().splitlines()
random.seed(int(seed))
open(target, "w").write("\\n".join([lines[0], *random.choices(lines[1:], k=int(rows))]) + "\\n")
"""


def test_a_command_gets_the_table_and_its_own_seed(tmp_path):
    tables = external_tables(script(tmp_path, BOOTSTRAP), FRAME, 6, rows=20, processes=1)
    assert len(tables) == 6
    for table in tables:
        assert list(table.columns) == ["a", "b c"] and len(table) == 20
        assert set(table["b c"]) <= {0.5, 1.5, 2.5}
    assert same_output(tables) == ""  # equal by chance: below 1e-50


def test_worker_processes_give_as_many_tables(tmp_path):
    told = []
    source = External(script(tmp_path, BOOTSTRAP), rows=5, jobs=2)
    assert len(source(FRAME, 3, lambda done, total: told.append((done, total)))) == 3
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_one_start_can_make_several_tables(tmp_path):
    body = """
count = int(sys.argv[5])
with open(pathlib.Path(target, "starts"), "w"):
    pass
for number in range(count):
    pathlib.Path(target, f"{number}.csv").write_text(f"b c,a\\n{seed},{number}\\n")
"""
    tables = external_tables(script(tmp_path, body) + " {count}", FRAME, 5, rows=1, processes=1, batch=3)
    assert [int(table["a"][0]) for table in tables] == [0, 1, 2, 0, 1]
    assert len({int(table["b c"][0]) for table in tables}) == 2  # one seed per start
    assert list(tables[0].columns) == ["a", "b c"]  # the input's order, whatever the command wrote


def test_a_fixed_seed_is_noticed(tmp_path):
    fixed = BOOTSTRAP.replace("int(seed)", "0")
    tables = external_tables(script(tmp_path, fixed), FRAME, 3, rows=20, processes=1)
    assert "{seed}" in same_output(tables)
    assert same_output(tables[:1]) == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(7)", ["exit code 7", "nothing to standard error"]),
        (
            "print('one\\ntwo\\nthree\\nfour\\nfive', file=sys.stderr); sys.exit(3)",
            ["exit code 3", "two | three | four | five"],
        ),
        ("raise RuntimeError('no such budget')", ["exit code 1", "RuntimeError: no such budget"]),
        ("import os; os.kill(os.getpid(), 9)", ["signal 9"]),
        ("pass", ["wrote no {output}"]),
        ("open(target, 'w')", ["is empty"]),
        ("open(target, 'w').write('a\\n1\\n')", ["'b c'", "same columns"]),
    ],
    ids=["code", "lines", "exception", "signal", "no file", "empty file", "columns"],
)
def test_what_goes_wrong_is_said(tmp_path, body, words):
    with pytest.raises(UsageError) as caught:
        external_tables(script(tmp_path, body + "\n"), FRAME, 1, rows=2, processes=1)
    for word in ["external: ", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failure_in_a_worker_process_is_the_same_line(tmp_path):
    with pytest.raises(UsageError, match="exit code 7"):
        external_tables(script(tmp_path, "sys.exit(7)\n"), FRAME, 2, rows=2, processes=2)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    body = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
time.sleep(60)
"""
    started = time.monotonic()
    with pytest.raises(UsageError, match="within 2 seconds"):
        external_tables(script(tmp_path, body), FRAME, 1, rows=2, timeout=2.0, processes=1)
    assert time.monotonic() - started < 30
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not running(child))


def test_ending_the_audit_ends_the_command(tmp_path):
    body = f"""
import os
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(os.getpid()))
time.sleep(60)
"""
    code = (
        "import sys, pandas as pd\nfrom understudy.audit.external import external_tables\n"
        "external_tables(sys.argv[1], pd.DataFrame({'a': [1]}), 1, rows=1, processes=1)\n"
    )
    audit = subprocess.Popen(
        [sys.executable, "-c", code, script(tmp_path, body)], env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    try:
        wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        audit.terminate()
        assert audit.wait(20) == -15
    finally:
        audit.kill()
        audit.wait()
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not running(child))
    assert not list(tmp_path.glob("understudy-audit-*"))  # the table it was given is gone as well


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(pid):
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip() != "" and not done.stdout.startswith("Z")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "empty"),
        ("python 'synth.py {input} {output}", "quotes"),
        ("synth {input}", "{output}"),
        ("synth {output}", "{input}"),
        ("synth {input} {output} {epsilon}", "{epsilon}"),
        ("synth {input} {output} {", "brace"),
    ],
)
def test_a_bad_template_is_refused_before_anything_runs(command, words):
    with pytest.raises(UsageError) as caught:
        words_of(command)
    assert words in str(caught.value)


def test_a_program_that_does_not_exist_is_named():
    with pytest.raises(UsageError, match="cannot start 'no-such-program-4711'"):
        external_tables("no-such-program-4711 {input} {output}", FRAME, 1, rows=2, processes=1)


def test_no_shell_reads_the_command(tmp_path):
    """A file name with a semicolon is a file name."""
    trap = tmp_path / "trap"
    command = script(tmp_path, BOOTSTRAP) + f" '; touch {trap}'"
    external_tables(command, FRAME, 1, rows=2, processes=1)
    assert not os.path.exists(trap)


@pytest.mark.parametrize(("rows", "timeout"), [(0, 1.0), (5, 0.0)])
def test_numbers_out_of_range_are_refused(rows, timeout):
    with pytest.raises(UsageError):
        External("synth {input} {output}", rows=rows, timeout=timeout)
