"""Training-time checks on PUBLIC data: what the published audit did by hand (Ganev et al. 2025, Section 6.1), as one function.

    rows seen by every teacher       Fig. 2: teachers must see disjoint parts of the table, the same part in every round
    loss on own and other shards     Fig. 3: teachers of different shards must differ
    accountant over the rounds       Fig. 4: what the ledger has charged against a second calculation (`recount.py`)

A trace looks inside the wall and shows what the guarantee protects, so it has no guarantee at all: it is for research on public
tables. It runs the method's own plan, curator, ledger, mechanism, generator and loop (`understudy.fit.talk`); only the rounds
of a chunk run one by one instead of in one program, because it looks at the teachers after every round (`Watched`).
"""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from understudy.accounting import Ledger
from understudy.accounting.events import flatten
from understudy.audit import recount
from understudy.audit.inside import Dealt, deal, losses, teachers_in, used, watched
from understudy.conversation import Generator, State
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.fit import first_state, open_conversation, public_keys, talk
from understudy.methods.registry import check_names
from understudy.methods.registry import method as method_called
from understudy.private import Conversation, Curator, Mechanism, PrivateTable, SecureNoise
from understudy.private.mechanisms.published_votes import PublishedVotes
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.rounds import Held, Round, keys_of_rounds, one_round
from understudy.schema import Schema
from understudy.teller import Teller
from understudy.versions import versions

FORMAT = "understudy trace 1"
WARNING = "Research on public data: this looks inside the wall and shows what the guarantee protects."
TEACHERS = 5  # of the published figures
VOTES_SHARE = 0.1  # of the squared loss, where a method would ask for no votes by default
LOOKS = 25  # rounds in which the rows seen are measured
NEAR, BELOW = 0.01, 1e-3  # the ledger may charge 1 % more than the second calculation, and next to nothing less


@dataclass(frozen=True, kw_only=True)
class TeacherRows:
    """Rows dealt to a teacher, rows that its training used in some round, and those of them that another teacher used too."""

    group: int  # class
    teacher: int
    dealt: int
    seen: int
    shared: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing looked for in a trace, and what was found."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What happened inside the wall: rows seen, losses, and the accountant beside a second calculation."""

    method: str
    options: Mapping[str, object]
    epsilon: float
    delta: float
    rounds: int
    rows: int
    teachers: tuple[TeacherRows, ...]
    losses: tuple[tuple[int, float, float], ...]  # after round, own, other
    accountant: tuple[tuple[int, float, float | None], ...]  # after round, charged, second calculation
    moments: tuple[tuple[int, float, float], ...]  # order, held, second calculation; as published only
    checks: tuple[Check, ...]
    versions: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether all checks found what they should."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, object]:
        """As JSON values, with the warning that belongs to every trace."""
        plain = asdict(self) | {"options": {name: str(value) for name, value in self.options.items()}}
        return {"format": FORMAT, "warning": WARNING} | plain | {"passed": self.passed}


def trace(
    method: str | Estimator,
    data: object,
    schema: Schema,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    options: Mapping[str, object] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Fit `method` on a public table and write down what its teachers saw. `data` is a frame or a file."""
    estimator = method if isinstance(method, Estimator) else make_estimator(method, epsilon, delta, options or {})
    plan, noise = estimator.plan(schema), SecureNoise()
    table, ledger = PrivateTable(data, schema), Ledger(plan)
    curator = Curator(table, schema, ledger, noise)
    _, _, opening = open_conversation(estimator, curator, schema, plan, Teller(None, plan))
    mechanism: Any = opening.mechanism
    if curator._blocks is None or not isinstance(mechanism, TeacherVotes | PublishedVotes):
        raise UsageError(f"method {estimator.method!r} has no teachers that vote; a trace follows PATE-GAN's")
    whole = curator._blocks.gathered()
    units = np.arange(len(whole)) if whole.units is None else whole.units
    dealt = deal(mechanism, whole, noise)
    votes: TeacherVotes = mechanism.votes if isinstance(mechanism, PublishedVotes) else mechanism
    spend = Spending(ledger, mechanism, votes, plan.budget.delta)
    looks = Looks(mechanism, dealt, tuple(watched(votes.teachers)), opening.rounds)

    def look(done: int, before: Held, after: Round, noise: Int[Array, "..."], secret: PRNGKeyArray) -> None:
        spend.see(after)
        looks.see(done, before, after, noise, secret)
        if progress is not None:
            progress(done + 1, opening.rounds)

    conversation = Watched(opening.purpose, mechanism, dealt.data, dealt.held, ledger, noise)
    conversation.look = look
    key_init, key_rounds = public_keys(secrets.randbits(32) if seed is None else seed)
    state = first_state(opening.generator, key_init, opening.hints)
    talk(opening, conversation, state, key_rounds, on_progress=lambda done, _: spend.note(done, conversation._held))
    whom, seen, curve, held = looks.whom, looks.seen, looks.curve, conversation._held
    teachers = told(whom, dealt.numbers, seen)
    moments = spend.moments(held)
    return Trace(
        method=estimator.method,
        options={
            name: value for name, value in estimator.get_params().items() if name not in ("epsilon", "delta", "seed")
        },
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        rounds=spend.points[-1][0],
        rows=len(whole),
        teachers=teachers,
        losses=tuple(curve),
        accountant=tuple(spend.points),
        moments=moments,
        checks=(
            check_partition(teachers, looks.moved, looks.mixed, len(curve), torn_units(whom, seen, units)),
            check_losses(curve, teachers),
            check_accountant(spend.points, moments),
        ),
        versions=versions(),
    )


def make_estimator(method: str, epsilon: float, delta: float, options: Mapping[str, object]) -> Estimator:
    """The method with its options checked, with few teachers and with votes, which are what is traced, unless told otherwise."""
    kind = method_called(method)
    known = kind().get_params()
    check_names(method, sorted(known), options)
    default = {name: value for name, value in (("teachers", TEACHERS), ("votes_share", VOTES_SHARE)) if name in known}
    made: Estimator = kind(epsilon=epsilon, delta=delta, **default | dict(options))
    return made


class Watched(Conversation):
    """A conversation whose rounds run one by one, so that `look` sees each of them: same step, same keys, same noise."""

    __slots__ = ("look",)

    look: Callable[[int, Held, Round, Array, PRNGKeyArray], None]

    def _run(self, generator: Generator, *chunk: Any) -> tuple[Held, State, Any]:
        data, held, state, tape, secret, public = chunk
        infos: list[dict[str, Array]] = []
        keys = zip(*keys_of_rounds(secret, public, tape.shape[0]), strict=True)
        for number, (noise, (key_secret, key_public)) in enumerate(zip(tape, keys, strict=True)):
            before = held
            after = step(self._mechanism, generator, data, held, state, noise, key_secret, key_public)
            held, state = after.held, after.state
            infos.append(after.info)
            self.look(self.done + number, before, after, noise, key_secret)
        return held, state, {name: jnp.stack([info[name] for info in infos]) for name in infos[0]}


step = eqx.filter_jit(one_round)


class Looks:
    """Rows that the watched teachers used, and their losses, in some of the rounds."""

    def __init__(self, mechanism: Mechanism, dealt: Dealt, whom: tuple[tuple[int, int], ...], rounds: int) -> None:
        self.mechanism, self.dealt, self.whom = mechanism, dealt, whom
        self.wanted = set(np.unique(np.linspace(0, rounds - 1, min(LOOKS, rounds)).round().astype(int)).tolist())
        self.seen: list[set[int]] = [set() for _ in whom]
        self.shards = [set(dealt.numbers[place].ravel().tolist()) for place in whom]
        self.curve: list[tuple[int, float, float]] = []
        self.moved = self.mixed = 0

    def see(self, done: int, before: Held, after: Round, noise: Int[Array, "..."], secret: PRNGKeyArray) -> None:
        """Measure what a round used, if it is one of those that are looked at."""
        if done not in self.wanted:
            return
        found = used(self.mechanism, self.dealt, before, after.query, noise, secret, self.whom)
        now = [set(self.dealt.numbers[np.asarray(places)].tolist()) for places in found.places]
        self.moved += any(not rows <= shard for rows, shard in zip(now, self.shards, strict=True))
        self.mixed += bool(np.asarray(found.mixed).any())
        self.seen = [known | more for known, more in zip(self.seen, now, strict=True)]
        own, other = losses(self.dealt.data, teachers_in(after.held))
        self.curve.append((done + 1, float(own), float(other)))


class Spending:
    """What was charged after every chunk, by the ledger (or the published accountant) and by the second calculation."""

    def __init__(self, ledger: Ledger, mechanism: Any, votes: TeacherVotes, delta: float) -> None:
        self.ledger, self.mechanism, self.votes, self.delta = ledger, mechanism, votes, delta
        self.published = isinstance(mechanism, PublishedVotes)
        self.gaps: Counter[int] = Counter()
        self.points: list[tuple[int, float, float | None]] = []
        if not self.published:
            self.note(0, None)

    def see(self, after: Round) -> None:
        """Count how far the votes of a round were apart, which is what the published accountant looks at."""
        if self.published:
            votes = self.votes.votes(teachers_in(after.held), after.query.judged)
            self.gaps.update(np.abs(2 * np.asarray(votes) - self.votes.teachers[0]).reshape(-1).tolist())

    def note(self, done: int, held: Held) -> None:
        """Write down what is spent after so many rounds, by both calculations."""
        if self.published:
            ours = recount.published_epsilon(self._alpha(held), self.delta)
            again = recount.published_epsilon(self._again(), self.delta)
            self.points.append((done, ours, again))
            return
        events = flatten([charge.event for charge in self.ledger.spent])
        self.points.append((done, self.ledger.epsilon_spent, recount.epsilon(events, self.delta)))

    def moments(self, held: Held) -> tuple[tuple[int, float, float], ...]:
        """Log moments by order, held and computed again; of the published accountant only."""
        return tuple(zip(recount.ORDERS, self._alpha(held), self._again(), strict=True)) if self.published else ()

    def _alpha(self, held: Held) -> list[float]:
        return [float(moment) for moment in np.asarray(held.alpha, float)]

    def _again(self) -> list[float]:
        return recount.published_moments(self.gaps, self.mechanism.inverse_scale)


def told(whom: tuple[tuple[int, int], ...], numbers: np.ndarray, seen: list[set[int]]) -> tuple[TeacherRows, ...]:
    """Per teacher: rows dealt to it, rows it saw, rows another teacher saw too."""
    often = Counter(row for rows in seen for row in rows)
    return tuple(
        TeacherRows(
            group=c,
            teacher=i,
            dealt=len(set(numbers[c, i].tolist()) - {0}),
            seen=len(rows),
            shared=sum(often[row] > 1 for row in rows),
        )
        for (c, i), rows in zip(whom, seen, strict=True)
    )


def torn_units(whom: tuple[tuple[int, int], ...], seen: list[set[int]], units: np.ndarray) -> int:
    """Units whose rows of one class were seen by more than one teacher of that class: one person would have many votes."""
    holders = Counter(
        (c, unit) for (c, _), rows in zip(whom, seen, strict=True) for unit in {units[row - 1] for row in rows}
    )
    return sum(count > 1 for count in holders.values())


def check_partition(teachers: tuple[TeacherRows, ...], moved: int, mixed: int, looks: int, torn: int) -> Check:
    """Every row is seen by one teacher, always the same, and teachers do not depend on each other."""
    shared = sum(one.shared for one in teachers)
    wrong = []
    if shared:
        wrong.append(f"rows are seen by more than one teacher ({shared} times)")
    elif torn:
        wrong.append(f"rows of one unit and class are seen by more than one teacher ({torn} units)")
    if moved:
        wrong.append(f"teachers saw rows outside the shard they were dealt in {moved} of {looks} rounds looked at")
    if mixed:
        wrong.append(
            f"a teacher's training depends on another teacher's weights in {mixed} of {looks} rounds looked at"
        )
    total = sum(one.seen for one in teachers)
    good = (
        f"{len(teachers)} teachers saw {total:,} rows, each row one teacher, the same in all {looks} rounds looked at"
    )
    return Check(name="rows seen by each teacher", passed=not wrong, detail="; ".join(wrong) or good)


def check_losses(curve: list[tuple[int, float, float]], teachers: tuple[TeacherRows, ...]) -> Check:
    """Teachers of different rows differ; the same to seven digits in every round means that they learned the same."""
    apart = max((abs(own - other) / max(own, other, 1e-30) for _, own, other in curve), default=0.0)
    alone = sum(one.dealt > 0 for one in teachers) < 2
    detail = f"loss on own and on other shards differ by up to {apart:.2%}"
    if not apart > 1e-6:
        detail = "loss on own and on other shards are the same in every round: the teachers learned from the same rows"
    return Check(name="loss on own and other shards", passed=alone or apart > 1e-6, detail=detail)


def check_accountant(
    points: list[tuple[int, float, float | None]], moments: tuple[tuple[int, float, float], ...]
) -> Check:
    """What was charged agrees with a calculation that shares no code with it."""
    pairs = [(ours, again) for _, ours, again in points if again is not None]
    pairs += [(held, again) for _, held, again in moments]
    pairs = [(ours, again) for ours, again in pairs if max(ours, again) > 1e-9]
    if not pairs:
        return Check(name="accountant", passed=True, detail="no second calculation is at hand for these events")
    off = [(ours - again) / again if again else float("inf") for ours, again in pairs]
    passed = min(off) >= -BELOW and max(off) <= NEAR
    words = f"charged differs from the second calculation by {min(off):+.3%} to {max(off):+.3%}"
    return Check(name="accountant", passed=passed, detail=words + ("" if passed else "; at most 1 % above it is right"))
