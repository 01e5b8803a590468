"""The privacy events of a run, as plain values.

Events come from dp_accounting; one that it lacks (version 0.6) is added here: `EpsilonDeltaDpEvent(epsilon, delta)`,
anything known to be (epsilon, delta)-DP, e.g. a thresholded list of categories.

What each event is taken to mean, so that the price is an upper bound whichever noise was drawn:

| event | noise | price |
| --- | --- | --- |
| GaussianDpEvent(m) | real, or integer with sensitivity >= 1 step; m = sigma / L2 sensitivity | GDP, `lattice` |
| LaplaceDpEvent(b) | real or integer, b = scale / L1 sensitivity | pure 1/b-DP, `pure` |
| PoissonSampledDpEvent(q, GaussianDpEvent(m)) | real | privacy-loss distribution |
| EpsilonDeltaDpEvent | any | pure epsilon, and delta to infinity |
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attr
import dp_accounting as dpa

from understudy.accounting.budget import Real
from understudy.errors import UsageError


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dpa.DpEvent):  # type: ignore[misc]
    """A mechanism of which only its (epsilon, delta) is known."""

    epsilon: float
    delta: float


_TYPES: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "gaussian": (dpa.GaussianDpEvent, ("noise_multiplier",)),
    "laplace": (dpa.LaplaceDpEvent, ("noise_multiplier",)),
    "epsilon delta": (EpsilonDeltaDpEvent, ("epsilon", "delta")),
    "nothing": (dpa.NoOpDpEvent, ()),
    "not private": (dpa.NonPrivateDpEvent, ()),
}
_NAMES = {kind: name for name, (kind, _) in _TYPES.items()}


def flatten(events: dpa.DpEvent | Iterable[dpa.DpEvent]) -> dict[dpa.DpEvent, int]:
    """Counts of elementary events. Composition is taken to be adaptive, so order does not matter for the price."""
    counts: dict[dpa.DpEvent, int] = {}
    _add(counts, events, 1)
    return counts


def _add(counts: dict[dpa.DpEvent, int], event: object, times: int) -> None:
    if isinstance(event, dpa.SelfComposedDpEvent):
        _check_count(event.count)
        _add(counts, event.event, times * int(event.count))
    elif isinstance(event, dpa.ComposedDpEvent):
        for part in event.events:
            _add(counts, part, times)
    elif isinstance(event, dpa.NoOpDpEvent) or times == 0:
        return
    elif isinstance(event, dpa.DpEvent):
        check(event)
        counts[event] = counts.get(event, 0) + times
    elif isinstance(event, Iterable):
        for part in event:
            _add(counts, part, times)
    else:
        raise UsageError(f"{type(event).__name__} is not a privacy event")


def check(event: dpa.DpEvent) -> None:
    """Refuse elementary events that have no price here, or parameters that make no sense."""
    if isinstance(event, dpa.PoissonSampledDpEvent):
        _number("sampling_probability", event.sampling_probability, 0.0, 1.0)
        if not isinstance(event.event, dpa.GaussianDpEvent):
            raise UsageError(f"a Poisson sample of {type(event.event).__name__} has no price here")
        check(event.event)
        return
    if type(event) not in _NAMES:
        raise UsageError(f"{type(event).__name__} has no price here; see understudy.accounting.events")
    for field in _TYPES[_NAMES[type(event)]][1]:
        _number(field, getattr(event, field), 0.0, 1.0 if field == "delta" else math.inf)


def _number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, float | int) or math.isnan(value) or not low <= value <= high:
        raise UsageError(f"{name}={value!r} of a privacy event must be a number from {low:g} to {high:g}")


def _check_count(count: Any) -> None:
    if isinstance(count, bool) or int(count) != count or count < 0:
        raise UsageError(f"count={count!r} of a privacy event must be a whole number, zero or more")


def compose(counts: Mapping[dpa.DpEvent, int]) -> dpa.DpEvent:
    """The inverse of `flatten`."""
    parts = [event if times == 1 else dpa.SelfComposedDpEvent(event, times) for event, times in counts.items()]
    if not parts:
        return dpa.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else dpa.ComposedDpEvent(parts)


def to_json(event: dpa.DpEvent) -> dict[str, Any]:
    """A JSON object that `from_json` turns back into an equal event."""
    if isinstance(event, dpa.SelfComposedDpEvent):
        _check_count(event.count)
        return {"type": "repeated", "count": int(event.count), "event": to_json(event.event)}
    if isinstance(event, dpa.ComposedDpEvent):
        return {"type": "all of", "events": [to_json(part) for part in event.events]}
    check(event)
    if isinstance(event, dpa.PoissonSampledDpEvent):
        inner = to_json(event.event)
        return {"type": "poisson sample", "sampling_probability": float(event.sampling_probability), "event": inner}
    name = _NAMES[type(event)]
    fields: Sequence[str] = _TYPES[name][1]
    return {"type": name} | {field: _plain(getattr(event, field)) for field in fields}


def _plain(value: Real) -> Real:
    return int(value) if isinstance(value, int) else float(value)


def from_json(data: Any) -> dpa.DpEvent:
    """Read what `to_json` wrote; anything else is a UsageError."""
    try:
        kind = data["type"]
        if kind == "repeated":
            _check_count(data["count"])
            return dpa.SelfComposedDpEvent(from_json(data["event"]), int(data["count"]))
        if kind == "all of":
            return dpa.ComposedDpEvent([from_json(part) for part in data["events"]])
        if kind == "poisson sample":
            event = dpa.PoissonSampledDpEvent(data["sampling_probability"], from_json(data["event"]))
        else:
            made, fields = _TYPES[kind]
            event = made(*(data[field] for field in fields))
    except (KeyError, TypeError, ValueError) as reason:
        if isinstance(reason, UsageError):
            raise
        raise UsageError("a privacy event in the file is damaged or of an unknown kind") from None
    check(event)
    return event


def describe(event: dpa.DpEvent) -> str:
    """A short line for people: `1000 x Gaussian noise, sigma 117.9 times the sensitivity`."""
    lines = [(f"{times:,} x " if times > 1 else "") + _name(part) for part, times in flatten(event).items()]
    return "; ".join(lines) or "nothing"


def _name(event: dpa.DpEvent) -> str:
    if isinstance(event, dpa.GaussianDpEvent):
        return f"Gaussian noise, sigma {event.noise_multiplier:.6g} times the sensitivity"
    if isinstance(event, dpa.LaplaceDpEvent):
        return f"Laplace noise, scale {event.noise_multiplier:.6g} times the sensitivity"
    if isinstance(event, dpa.PoissonSampledDpEvent):
        return f"Poisson sample at rate {event.sampling_probability:.6g} with {_name(event.event)}"
    if isinstance(event, EpsilonDeltaDpEvent):
        return f"({event.epsilon:.6g}, {event.delta:.3g})-private release"
    return "a release without privacy"
