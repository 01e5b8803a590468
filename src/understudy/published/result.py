"""What may be published about stand-ins: figures with intervals, and their price."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "understudy published evaluation 1"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure. `floor`: what people drawn from the stand-in itself would give, found without any real row."""

    name: str
    value: float
    low: float
    high: float
    floor: float | None = None

    @property
    def says_something(self) -> bool:
        """Whether the interval is short enough to tell a good stand-in from a bad one: at most a tenth on either side."""
        return self.high - self.low <= 0.2


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """People whose predicted probability lies in one range: what the model says of them, and how many there are indeed."""

    predicted: float  # mean over the stand-in's rows in this range
    observed: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """All figures of one stand-in."""

    name: str
    measures: tuple[Figure, ...]
    k_marginal: Figure | None  # NIST's score, from the distance of three columns; None: there are fewer
    unseen: Figure | None  # share of people with a pair of values that no row of it has; None: there are no pairs
    auroc: Figure | None  # mean over models that learned from the stand-in
    models: tuple[str, ...]
    calibration: tuple[CalibrationBin, ...]


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published evaluation: a function of paid answers and public values."""

    epsilon: float  # recomputed from the events
    delta: float
    unit: str
    level: float
    people: Figure  # how many, noisy
    stand_ins: tuple[StandIn, ...]
    both_epsilon: (
        float | None
    )  # for somebody who is in the training table of the model as well; None: no model was named
    ledger: Mapping[str, Any]
    account: Mapping[str, Any] | None
    void_reason: str = ""
    kinds_epsilon: float | None = (
        None  # with the vote on kinds that the schema carries; None: none, or the model's plan has it
    )
    format: str = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """What it cost, in words."""
        void = [f"NOT A VALID GUARANTEE: {self.void_reason}"] if self.void_reason else []
        both = (
            "" if self.both_epsilon is None else f"; somebody who is in the training table too: {self.both_epsilon:.4g}"
        )
        if self.kinds_epsilon is not None:
            both += f"; somebody whose rows also found kinds of columns, when the schema was drafted: {self.kinds_epsilon:.4g}"
        several = (
            "; choosing between the stand-ins by these figures costs nothing more" if len(self.stand_ins) > 1 else ""
        )
        unsure = any(not one.says_something for each in self.stand_ins for one in each.measures)
        few = ["the intervals are too wide to say much: ask more people, or spend more"] if unsure else []
        return [
            *void,
            f"published figures cost the people of this table epsilon {self.epsilon:.4g}, delta {self.delta:g} (unit: "
            f"{self.unit}){both}{several}",
            *few,
        ]
