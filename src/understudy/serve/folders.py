"""Paths lead into the folders named at the start, and nowhere else.

The page calls a file `0/sub/patients.csv`: the number of a named folder, then the way down. Ways up, absolute ways and links
that leave the folder are refused with one and the same line, whether or not something is there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from understudy.errors import UsageError

TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")
DICTIONARIES = (".json", ".yaml", ".yml")
ACCOUNTS = (".account",)
MADE = (".synthetic.csv", ".synthetic.parquet")  # by `sample`; nothing to learn from
MOST_SHOWN = 500


@dataclass(frozen=True)
class Folders:
    """The folders that were named, as they really are (links resolved)."""

    roots: tuple[Path, ...]

    @classmethod
    def named(cls, folders: "tuple[str | Path, ...] | list[Path]") -> "Folders":
        """From the words of the command line; each has to be a folder."""
        roots = []
        for folder in folders:
            if not Path(folder).is_dir():
                raise UsageError(f"{str(folder)!r} is not a folder; name folders that hold tables")
            roots.append(Path(folder).resolve())
        if not roots:
            raise UsageError("name at least one folder; the page opens files of named folders only")
        return cls(tuple(dict.fromkeys(roots)))

    def find(self, name: str) -> Path:
        """The path that the page calls `name`."""
        number, _, rest = name.partition("/")
        way = PurePosixPath(rest)
        odd = "\0" in name or "\\" in name or way.is_absolute() or ".." in way.parts
        if odd or not number.isascii() or not number.isdigit() or int(number) >= len(self.roots):
            raise _outside()
        return self.require(self.roots[int(number)] / way)

    def require(self, path: Path) -> Path:
        """`path` itself, if it lies inside a named folder once all links are followed."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            raise _outside() from None
        if not any(real == root or root in real.parents for root in self.roots):
            raise _outside()
        return path

    def name(self, path: Path) -> str:
        """What the page calls `path`; the reverse of `find`."""
        for number, root in enumerate(self.roots):
            if path == root or root in path.parents:
                return f"{number}/{path.relative_to(root).as_posix()}".removesuffix("/.")
        raise _outside()

    def inside(self, folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
        """Files of `folder` with one of the endings, by name; hidden ones and links that lead out are not listed."""
        listed = sorted(folder.iterdir(), key=lambda one: one.name.lower())
        fitting = (one for one in listed if one.name.lower().endswith(endings) and not one.name.startswith("."))
        shown = (one for one in fitting if not one.name.lower().endswith(MADE) and self._holds(one) and one.is_file())
        for _, one in zip(range(MOST_SHOWN), shown, strict=False):
            yield one

    def below(self, folder: Path) -> list[Path]:
        """Folders in `folder` that one can go down to; models and checkpoints are not for browsing."""
        ours = (".understudy", ".checkpoint", ".evaluation", ".evidence")
        listed = sorted(folder.iterdir(), key=lambda one: one.name.lower())
        shown = [one for one in listed if not one.name.startswith(".") and not one.name.endswith(ours)]
        return [one for one in shown if self._holds(one) and one.is_dir()][:MOST_SHOWN]

    def _holds(self, path: Path) -> bool:
        try:
            self.require(path)
        except UsageError:
            return False
        return True


def _outside() -> UsageError:
    return UsageError("that path is not inside a folder that was named when the page was started")
