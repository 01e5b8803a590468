"""One table and the files that belong to it, all beside it and named as the command line would name them.

    patients.csv               the table
    patients.yaml              what is public about it            (schema)
    patients.fit.yaml          method, epsilon, delta             (options: understudy fit --config)
    patients.understudy/       the model, with its certificate    (may be handed on)
    patients.synthetic.csv     synthetic rows                     (may be handed on)
    patients.evidence/         checklists, cards, metadata        (may be handed on)
    patients.evaluation/       result and reports                 (internal.html must stay)

The page keeps nothing else, so it can be closed and started again at any step, and every step can be done by hand.
"""

from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UsageError
from understudy.serve.folders import TABLES, Folders


@dataclass(frozen=True)
class Work:
    """A table of a named folder."""

    folders: Folders
    table: Path

    @classmethod
    def open(cls, folders: Folders, name: str) -> "Work":
        """The table that the page calls `name`."""
        table = folders.find(name)
        if not table.name.lower().endswith(TABLES) or not table.is_file():
            raise UsageError("there is no such table in the folders of this page; choose one of the list")
        return cls(folders, table)

    @property
    def name(self) -> str:
        """What addresses call it."""
        return self.folders.name(self.table)

    def beside(self, ending: str) -> Path:
        """The neighbour with another ending, if no link of that name leads out of the folders."""
        return self.folders.require(self.table.with_suffix(ending))

    @property
    def schema(self) -> Path:
        """The schema file."""
        return self.beside(".yaml")

    @property
    def options(self) -> Path:
        """Options of the fit, as `--config` takes them."""
        return self.beside(".fit.yaml")

    @property
    def model(self) -> Path:
        """The model folder."""
        return self.beside(".understudy")

    @property
    def checkpoint(self) -> Path:
        """What an interrupted fit leaves."""
        return self.model.with_name(self.model.name + ".checkpoint")

    @property
    def synthetic(self) -> Path:
        """Synthetic rows, in the format of the table."""
        parquet = self.table.name.lower().endswith((".parquet", ".pq"))
        return self.beside(".synthetic.parquet" if parquet else ".synthetic.csv")

    @property
    def evaluation(self) -> Path:
        """The folder of result and reports."""
        return self.beside(".evaluation")

    @property
    def evidence(self) -> Path:
        """The folder for reviewers and registries."""
        return self.beside(".evidence")

    def inner(self, folder: Path, file: str) -> Path:
        """A file in one of the folders above; the name is ours, a link there may not lead out."""
        return self.folders.require(folder / file)

    @property
    def fitted(self) -> bool:
        """Whether a model stands there."""
        return self.inner(self.model, "model.json").is_file()
