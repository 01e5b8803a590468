"""The walk of one fit through the package, the import graph it walks on, and how much there is to read.

    python -m benchmarks.walk                    files and moves between packages of `fit --method pate-gan`, cycles, edges, lines
    python -m benchmarks.walk --at COMMIT        the same of the sources as they were
    python -m benchmarks.walk --draw FILE.svg    the same as a picture, for docs/design.md

A file counts when a function of it runs between the command's words and the written artifact. A move is a call from one
package into another: `sys.setprofile` sees every call, and the package of a call is the folder below `understudy`, or the file
where there is none. Importing is not calling: what runs while a module is imported, class bodies too, is left out. Edges and
cycles are those of the sources (`grimp`), module by module. Lines of code are those that hold more than a comment or a piece of
a docstring.
"""

import argparse
import ast
import contextlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

PACKAGE = "understudy"
OPTIONS = (
    "rounds=6",
    "judged=8",
    "practice=16",
    "batch=16",
    "teachers=20",
    "teacher_steps=2",
    "student_steps=2",
    "hidden=8",
)
# From the command to the sources of randomness: what stands above may call what stands below.
LAYERS = (
    ("cli",),
    ("estimator", "fit", "plan", "recipe", "artifact", "folder"),
    ("methods",),
    ("measure", "nn"),
    ("private",),
    ("questions", "engine"),
    ("accounting", "schema"),
)
METHODS = ("methods", "recipes", "generators")  # the second and third until each system got a folder of its own
BETWEEN = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}  # statements
BOX, ROW, WIDTH, MARGIN = (118, 34), 84, 760, 14


class Walk:
    """Calls into files of the package, by a profile function."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files, self.moves = str(folder), Counter[str](), Counter[tuple[str, str]]()

    def see(self, frame: FrameType, event: str, _: object) -> None:
        """Called by the interpreter; a call counts when its caller's file is another package's."""
        if event != "call":
            return
        here = self.place(frame)
        if here is None or self.importing(frame):
            return
        self.files[here] += 1
        caller = frame.f_back
        while caller is not None and self.place(caller) is None:  # through JAX and other libraries
            caller = caller.f_back
        if caller is not None:
            before, after = package_of(self.place(caller) or ""), package_of(here)
            if before != after:
                self.moves[before, after] += 1

    def importing(self, frame: FrameType | None) -> bool:
        """Whether a module of the package is being imported: class bodies and decorators look like calls."""
        while frame is not None:
            if frame.f_code.co_name == "<module>" and self.place(frame) is not None:
                return True
            frame = frame.f_back
        return False

    def place(self, frame: FrameType) -> str | None:
        """The file of a frame below the package, or None."""
        name = frame.f_code.co_filename
        return name[len(self.folder) + 1 :] if name.startswith(self.folder) else None


def package_of(file: str) -> str:
    """The folder below the package, or the module's name."""
    return file.split("/")[0].removesuffix(".py")


@contextlib.contextmanager
def table() -> Iterator[Path]:
    """A folder with a small made-up table and its schema."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (f"{i % 90},{i % 7 / 7},{'yes' if i % 3 else 'no'}" for i in range(300))
        (folder / "rows.csv").write_text("age,dose,sick\n" + "\n".join(rows) + "\n")
        columns = {
            "age": {"kind": "integer", "lower": 0, "upper": 120},
            "dose": {"kind": "continuous", "lower": 0, "upper": 1},
        }
        document = {
            "columns": columns | {"sick": {"kind": "categorical", "categories": ["no", "yes"]}},
            "label": "sick",
        }
        (folder / "rows.yaml").write_text(json.dumps(document))
        yield folder


def walk(options: tuple[str, ...] = OPTIONS) -> Walk:
    """Run the command and look."""
    from understudy import cli

    found = Walk(Path(cli.__file__).parents[1])
    with (
        table() as folder,
        contextlib.redirect_stderr(io.StringIO()) as said,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        words = [
            "fit",
            str(folder / "rows.csv"),
            "--schema",
            str(folder / "rows.yaml"),
            "--method",
            "pate-gan",
            "--epsilon",
            "1",
            "--set",
            "votes_share=0.1",
        ]
        words += ["--out", str(folder / "model"), *(word for option in options for word in ("--set", option))]
        sys.setprofile(found.see)
        try:
            code = cli.run(words)
        finally:
            sys.setprofile(None)
    if code != 0:
        raise SystemExit(f"the fit ended with {code}: {said.getvalue()}")
    return found


def imports() -> dict[str, set[str]]:
    """Which modules of the package import which."""
    import grimp

    graph = grimp.build_graph(PACKAGE)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that import each other in a ring: what is left when modules without imports, or importers, are taken away."""
    left = {module: set(below) for module, below in graph.items()}
    while True:
        ends = {module for module, below in left.items() if not below & left.keys()}
        used = {below for module in left for below in left[module]}
        ends |= {module for module in left if module not in used}
        if not ends:
            return [sorted(left)] if left else []
        left = {module: below for module, below in left.items() if module not in ends}


def edges(graph: Mapping[str, set[str]]) -> Counter[tuple[str, str]]:
    """Imports from one package into another, module by module."""
    found: Counter[tuple[str, str]] = Counter()
    for module, below in graph.items():
        for other in below:
            before, after = ([*name.split("."), ""][1] for name in (module, other))
            if before != after and before and after:
                found[before, after] += 1
    return found


def code_lines(source: str) -> int:
    """Lines that hold code: no blank ones, no comments, no texts that stand for themselves."""
    every = tokenize.generate_tokens(io.StringIO(source).readline)
    tokens = [token for token in every if token.type not in (tokenize.NL, tokenize.COMMENT)]
    found: set[int] = set()
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        begins = before is None or before.type in BETWEEN
        alone = token.type == tokenize.STRING and begins and after is not None and after.type in BETWEEN
        if token.type not in BETWEEN and not alone:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found)


def bare_any(source: str) -> int:
    """Annotations that say `Any` and nothing else."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
            found += [node.returns, *(one.annotation for one in every if one is not None)]
        elif isinstance(node, ast.AnnAssign):
            found.append(node.annotation)
    return sum(isinstance(one, ast.Name) and one.id == "Any" for one in found)


def lines_by_folder(folder: Path) -> dict[str, int]:
    """Lines of code of a package, by the folders below it; files beside them are one more."""
    found: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.py")):
        place = file.relative_to(folder).parts
        found[place[0] if len(place) > 1 else "files beside the folders"] += code_lines(file.read_text("utf-8"))
    return dict(sorted(found.items()))


@contextlib.contextmanager
def sources_at(commit: str) -> Iterator[None]:
    """The package as it was in a commit of this repository, first on the path of imports."""
    repository = Path(__file__).resolve().parents[1]
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=repository, capture_output=True, check=False)
    if packed.returncode:
        raise SystemExit(packed.stderr.decode())
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(name, filter="data")
        sys.path.insert(0, f"{name}/src")
        yield


def draw(found: Walk, graph: Mapping[str, set[str]]) -> str:
    """Packages in layers, and how often one calls into another; broken lines are calls through an object, without an import.

    What all of them call (the last layer) gets no lines: they would hide the others.
    """
    from understudy.report import svg

    centre = {
        name: ((number + 0.5) * WIDTH / len(layer), MARGIN + depth * ROW + BOX[1] / 2)
        for depth, layer in enumerate(LAYERS)
        for number, name in enumerate(layer)
    }
    files = Counter(package_of(file) for file in found.files)
    known, lines, labels, boxes = edges(graph), [], [], []
    for (before, after), times in sorted(found.moves.items()):
        if before not in centre or after not in centre or after in LAYERS[-1] or centre[before][1] >= centre[after][1]:
            continue
        (x1, y1), (x2, y2) = centre[before], centre[after]
        ends = x1, y1 + BOX[1] / 2, x2, y2 - BOX[1] / 2
        broken = "" if known[before, after] else "4 3"
        lines.append(svg.line(*ends, stroke="#8a94a3", width=1.2, dash=broken))
        x, y = ends[0] + 0.2 * (ends[2] - ends[0]), ends[1] + 0.2 * (ends[3] - ends[1])
        labels.append(svg.rect(x - 11, y - 8, 22, 11, fill="#ffffff"))
        labels.append(svg.text(x, y, times, anchor="middle", size=9))
    for name, (x, y) in centre.items():
        wide = WIDTH / 2 - MARGIN if name in LAYERS[-1] else BOX[0]
        fill = "#fbe9e7" if name == "private" else "#eef3f8"
        boxes.append(svg.rect(x - wide / 2, y - BOX[1] / 2, wide, BOX[1], fill=fill, stroke="#59636e"))
        boxes.append(svg.text(x, y - 1, name, anchor="middle", weight="600"))
        count = f"{files[name]} file{'s' if files[name] != 1 else ''}"
        boxes.append(
            svg.text(x, y + 12, count + (", called by all" if name in LAYERS[-1] else ""), anchor="middle", size=10)
        )
    height = MARGIN + (len(LAYERS) - 1) * ROW + BOX[1] + MARGIN
    title = "The walk of fit --method pate-gan: packages, files entered, calls from one into another"
    drawn = str(svg.picture(title, height, [*lines, *labels, *boxes], width=WIDTH))
    return drawn.replace('font-family="inherit"', 'font-family="sans-serif"')


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walk", description=__doc__.splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="of the sources of this commit instead of those here")
    parser.add_argument("--draw", type=Path, help="write the picture to this file")
    wanted = parser.parse_args(arguments)
    with sources_at(wanted.at) if wanted.at else contextlib.nullcontext():
        report(wanted.draw)


def report(picture: Path | None = None) -> None:
    """Print the figures, and draw if that was asked for."""
    found, graph = walk(), imports()
    lines = lines_by_folder(Path(found.folder))
    between = edges(graph)
    result = {
        "files": len(found.files),
        "packages": len({package_of(file) for file in found.files}),
        "moves": found.moves.total(),
        "pairs of packages": len(found.moves),
        "modules": len(graph),
        "imports": sum(map(len, graph.values())),
        "modules in a cycle": sum(map(len, cycles(graph))),
        "edges from methods into private": sum(between[name, "private"] for name in METHODS),
        "edges from private into methods": sum(between["private", name] for name in METHODS),
        "annotations that are Any": sum(bare_any(file.read_text("utf-8")) for file in Path(found.folder).rglob("*.py")),
        "lines of code": sum(lines.values()),
        "by folder": lines,
    }
    print(json.dumps(result, indent=1))  # noqa: T201
    if picture is not None:
        picture.write_text(draw(found, graph), encoding="utf-8")


if __name__ == "__main__":
    main()
