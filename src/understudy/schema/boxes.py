"""Conditions joined by `and` and `or`, as boxes of which no two have a row in common.

    (age >= 65 and sex = f) or town in {Ulm, Bonn}         `and` binds closer than `or`; parentheses as usual

A box has a set of allowed values for each of some columns. Two boxes meet in a box; what lies in B and not in A, with
conditions a1, a2, ..., is the boxes B and not a1, B and a1 and not a2, ... So a row that fulfils the expression lies in exactly
one box, and the probability of the expression is the sum of theirs. Boxes that differ in one column only become one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from understudy.errors import UsageError
from understudy.schema.conditions import Allowed, Named, Where, parse_conditions, texts_of, tokens

Box = tuple[Allowed, ...]  # at most one of each column
Boxes = tuple[Box, ...]  # disjoint; without conditions there is one box, which is everything
MOST = 256  # each is a conditioning of the whole tree, whatever its probability


def parse_boxes(where: Where, schema: Named) -> Boxes:
    """Where the conditions hold; UsageError that says what is not understood, or that no row can fulfil them."""
    if where is None or isinstance(where, Mapping):
        return (parse_conditions(where, schema),)
    texts = texts_of(where)
    read = [tokens(text, schema) for text in texts]
    if not any("or" in parts for parts in read):
        return (parse_conditions(texts, schema),)
    found: Boxes = ((),)
    for parts in read:
        found = both(found, _any(iter(parts)))
    if not found:
        names = ", ".join(map(repr, _odd(part for parts in read for part in parts if isinstance(part, Allowed))))
        raise UsageError(
            f"where: no row can fulfil the conditions on {names}: each part between `or` contradicts itself"
        )
    return found


def _odd(conditions: Iterable[Allowed]) -> list[str]:
    """Columns whose conditions may contradict each other: one that nothing fulfils, or several of one column."""
    found: dict[str, list[Allowed]] = {}
    for one in conditions:
        found.setdefault(one.column.name, []).append(one)
    return [name for name, own in found.items() if len(own) > 1 or own[0].empty]


def _any(parts: Iterator[Allowed | str]) -> Boxes:
    """A and B or C ..., up to the closing parenthesis or the end."""
    found: Boxes = ()
    term: Boxes = ((),)
    for part in parts:
        if part == ")":
            break
        if part == "or":
            found, term = either(found, term), ((),)
        elif isinstance(part, Allowed):
            term = both(term, () if part.empty else ((part,),))
        elif part == "(":
            term = both(term, _any(parts))
    return either(found, term)


def both(first: Boxes, second: Boxes) -> Boxes:
    """Where both hold."""
    met = (meet(one, other) for one in first for other in second)
    return _bounded([box for box in met if box is not None])


def either(first: Boxes, second: Boxes) -> Boxes:
    """Where at least one holds."""
    found = list(first)
    for box in second:
        rest = [box]
        for other in first:
            rest = [piece for one in rest for piece in without(one, other)]
            _bounded(rest)
        for piece in rest:
            found = joined(found, piece)
    return _bounded(found)


def meet(one: Box, other: Box) -> Box | None:
    """The box that two have in common; None if there is none."""
    found = {own.column.name: own for own in one}
    for own in other:
        name = own.column.name
        found[name] = found[name] & own if name in found else own
        if found[name].empty:
            return None
    return tuple(found.values())


def without(box: Box, other: Box) -> list[Box]:
    """What lies in a box and not in the other."""
    if meet(box, other) is None:
        return [box]
    found, rest = [], box
    for own in other:
        outside = meet(rest, (~own,))
        if outside is not None:
            found.append(outside)
        rest = meet(rest, (own,)) or ()
    return found


def joined(boxes: Sequence[Box], piece: Box) -> list[Box]:
    """The boxes and one more, which becomes one with each that differs from it in one column only."""
    for place, box in enumerate(boxes):
        union = _union(box, piece)
        if union is not None:
            return joined([*boxes[:place], *boxes[place + 1 :]], union)
    return [*boxes, piece]


def _union(one: Box, other: Box) -> Box | None:
    """Two boxes as one, if they differ in one column; a condition that allows everything is none."""
    first, second = ({own.column.name: own for own in box} for box in (one, other))
    if first.keys() != second.keys():
        return None
    odd = [name for name in first if first[name] != second[name]]
    if len(odd) != 1:
        return None
    united = first[odd[0]] | second[odd[0]]
    return tuple(
        united if own.column.name == odd[0] else own for own in one if own.column.name != odd[0] or not _all(united)
    )


def _all(own: Allowed) -> bool:
    return (~own).empty


def _bounded(boxes: Sequence[Box]) -> Boxes:
    if len(boxes) > MOST:
        raise UsageError(
            f"where: the conditions fall into more than {MOST} separate cases; join fewer of them by `or`, or use "
            "`in {...}` and ranges of one column"
        )
    return tuple(boxes)
