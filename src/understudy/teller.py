"""What a fit tells whoever listens: where it is, and what it has spent. Values are public or released."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from understudy.accounting import Ledger, Plan
from understudy.accounting.plan import spoken


@dataclass
class Teller:
    """Tells a callback where the fit is."""

    callback: Callable[[dict[str, Any]], None] | None
    plan: Plan
    rounds: int = 0
    started: float = field(default_factory=time.monotonic)
    ledger: Ledger | None = None
    priced: tuple[str, float] = ("", 0.0)  # the ledger's head, and what it had charged by then

    def tell(self, stage: str, done: int = 0, **figures: object) -> None:
        """Where the fit is, with figures that are public or released."""
        if self.callback is None:
            return
        elapsed = time.monotonic() - self.started
        eta = elapsed * (self.rounds - done) / done if done else None
        event = {"stage": stage, "round": done, "rounds": self.rounds, "elapsed": elapsed, "eta": eta}
        money = {"epsilon_planned": self.plan.budget.epsilon, "epsilon_spent": self.spent()}
        self.callback(event | money | figures)

    def spent(self) -> float:
        """Epsilon of all charges so far, that of the question being asked included; priced again after a new charge only."""
        if self.ledger is not None and self.ledger.head != self.priced[0]:
            self.priced = (self.ledger.head, self.ledger.epsilon_spent if self.ledger.spent else 0.0)
        return self.priced[1]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Purposes for people."""
        return {charge.purpose: spoken(charge.purpose, charge.detail) for charge in self.plan.charges}

    def passes(self, purpose: str, share: float) -> None:
        """A pass over the table: told in equal steps, as many for every table."""
        self.tell("question", purpose=self.titles.get(purpose, purpose), share=share)

    def share(self, stage: str) -> Callable[[float], None]:
        """A function that tells which share of a stage is done."""
        return lambda share: self.tell(stage, share=share)
