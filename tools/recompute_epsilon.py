#!/usr/bin/env python3
"""Recompute epsilon from a model's ledger, for people who trust nobody. One file, the standard library, no understudy.

    python recompute_epsilon.py MODEL/ledger.json --delta 1e-5            # prints an upper bound on epsilon
    python recompute_epsilon.py MODEL/ledger.json --delta 1e-5 --claim 1  # exit code 1 if the claim is not borne out,
                                                                          # 3 if it is too close for this program

The ledger lists every answer that left the private table, with its noise in units of what one person can change.
Every quantity is an interval that contains the true value (decimal arithmetic, ends rounded outwards), or a whole number
that was rounded upwards.

Gaussian answers alone, noise s_1, s_2, ...: together mu-GDP, mu^2 = sum 1 / s_i^2 (Dong, Roth, Su 2022), and

    delta(epsilon) = P(-epsilon/mu + mu/2) - e^epsilon P(-epsilon/mu - mu/2),     P the normal distribution function.

Noise is drawn on the integers, where an answer costs slightly more than in the continuum: mu_1 with P(mu_1 / 2) =
1/2 + 1 / (2 Z), Z the sum of exp(-x^2 / (2 s^2)) over all integers x, which is at least s sqrt(2 pi) (Poisson's formula).

Everything else by the privacy loss L = log(A/B) of one answer, A and B its distributions with and without a person:

    delta(epsilon) = E (1 - e^(epsilon - L))+  under A,  and the losses of several answers add up.

(1 - e^(c - L))+ grows with L and is convex in e^-L. So a measure on a grid of losses bounds delta from above if the mass
of A in each cell, p, goes to the two ends of that cell (at least p in all, and at the upper end at least the share that
keeps B's mass in the cell, too), and the mass beyond the grid to infinity; losses below the grid go up to its first point.
This holds for each answer with the others fixed, hence for the product measure. Mass is counted in units of 2^-96, rounded up;
products of measures are products of whole numbers (each mass a block of digits), exact until their mass is rounded upwards.

| answer | A and B for removing a person; adding one is the reverse |
| --- | --- |
| Gaussian | normal, means mu and 0, variance 1 |
| Poisson sample at rate q, Gaussian noise s | (1-q) N(0, s^2) + q N(1, s^2) and N(0, s^2) (Zhu, Dong, Wang 2022) |
| Laplace of scale b, or known to be (e, d)-private | a bit told truly with probability e^e / (1 + e^e), e = 1/b; d is lost |
"""

import argparse
import json
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ONE = 1 << 96  # mass is counted in units of 2^-96
COARSENESS = 0.004  # of the losses' variance, added by the grid: about half of it in epsilon
FINE = 400  # points for a standard deviation of the losses, at least
CLOSE = Decimal("1.01")  # a bound above the claim by less than this refutes nothing
EXACT, GRID = "Gaussian answers, exact", "privacy losses on a grid, rounded upwards"


def up(digits=DIGITS):
    return Context(prec=digits, rounding=ROUND_CEILING, Emax=10**15, Emin=-(10**15))


def down(digits=DIGITS):
    return Context(prec=digits, rounding=ROUND_FLOOR, Emax=10**15, Emin=-(10**15))


UP, DOWN = up(), down()


class Interval:
    """[low, high], with operations that never lose the true value."""

    def __init__(self, low, high=None):
        self.low, self.high = Decimal(low), Decimal(low if high is None else high)

    def __add__(self, other):
        return Interval(DOWN.add(self.low, other.low), UP.add(self.high, other.high))

    def __sub__(self, other):
        return Interval(DOWN.subtract(self.low, other.high), UP.subtract(self.high, other.low))

    def __mul__(self, other):
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(DOWN.multiply(a, b) for a, b in ends), max(UP.multiply(a, b) for a, b in ends))

    def __truediv__(self, other):  # by positive numbers only
        if other.low <= 0:
            raise ValueError("division by an interval that holds zero")
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(DOWN.divide(a, b) for a, b in ends), max(UP.divide(a, b) for a, b in ends))

    def exp(self):  # Decimal's exp is correct to half a unit in the last place: one unit more on either side
        return Interval(DOWN.next_minus(DOWN.exp(self.low)), UP.next_plus(UP.exp(self.high)))

    def log(self):
        return Interval(DOWN.next_minus(DOWN.ln(self.low)), UP.next_plus(UP.ln(self.high)))

    def sqrt(self):
        return Interval(DOWN.next_minus(DOWN.sqrt(self.low)), UP.next_plus(UP.sqrt(self.high)))


NONE, WHOLE = Interval(0), Interval(1)


# -- the normal distribution -------------------------------------------------------------------------------------------
def normal(x):
    """P(x) at one decimal number, as an interval: its series alternates, so the first term left out bounds what is missing."""
    size, square = abs(x), x * x
    lost = int(square / 4) + 1  # the largest term is below |x| e^(x^2 / 2) < |x| 10^lost, and so many digits cancel
    digits = DIGITS + 10 + lost
    tiny = Decimal(10) ** -(DIGITS + 5)
    with localcontext(Context(prec=digits, Emax=10**15, Emin=-(10**15))):
        term, total, steps, shrinking = x, x, 0, int(square) // 2 + 1
        square = -(x * x)
        while True:  # sum of (-1)^n x^(2n+1) / (2^n n! (2n+1))
            steps += 1
            term = term * square / (2 * steps)
            part = term / (2 * steps + 1)
            total += part
            if steps > shrinking and -tiny < part < tiny:
                break
        slack = abs(part) + (size + 1) * (8 * steps + 8) * Decimal(10) ** (lost + 1 - digits)
        root = (2 * PI).sqrt()
        share = sorted([(total - slack) / root, (total + slack) / root])
        ulp = Decimal(10) ** -(DIGITS + 2)
        half = Decimal("0.5")
        return Interval(half + share[0] - ulp, half + share[1] + ulp)


def normal_of(interval):
    """P of an interval: it grows, and its slope is below 0.4."""
    if interval.high < -40:
        return Interval(0, "1e-300")
    if interval.low > 40:
        return Interval(1 - Decimal("1e-300"), 1)
    middle = +interval.low
    found = normal(middle)
    wide = UP.multiply(Decimal("0.4"), UP.subtract(interval.high, interval.low))
    return Interval(max(found.low, Decimal(0)), min(UP.add(found.high, wide), Decimal(1)))


def gaussian_delta(epsilon, mu):
    """delta(epsilon) of mu-GDP."""
    ratio, half = epsilon / mu, mu / Interval(2)
    return normal_of(half - ratio) - epsilon.exp() * normal_of(NONE - ratio - half)


def gaussian_epsilon(mu, delta):
    """The smallest epsilon on a grid of 1e-9 (relative) with delta(epsilon) <= delta for certain."""
    low, high = Decimal(0), Decimal(1)
    while gaussian_delta(Interval(high), mu).high > delta:
        low, high = high, high * 2
    while high - low > high * Decimal("1e-9"):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(Interval(middle), mu).high <= delta else (middle, high)
    return high


def integer_mu(s):
    """An upper bound on mu of one answer with integer Gaussian noise of s times the sensitivity."""
    root = (Interval(2) * Interval(PI, UP.next_plus(PI))).sqrt()
    wanted = (Interval("0.5") + Interval("0.5") / (s * root)).high
    low, high = Decimal(0), Decimal(1)
    if wanted >= 1:
        raise ValueError("noise too small to bound")
    while normal(high).low < wanted:
        low, high = high, high * 2
    while high - low > high * Decimal("1e-15"):
        middle = (low + high) / 2
        low, high = (low, middle) if normal(middle).low >= wanted else (middle, high)
    return Interval(2 * high)


# -- measures on a grid of losses --------------------------------------------------------------------------------------
class Losses:
    """Masses, in units of 1 / ONE, at the losses (first + k) * step, and at infinity."""

    def __init__(self, first, masses, lost):
        self.first, self.masses, self.lost = first, masses, lost

    def times(self, other, spare):
        """The measure of the sum of two losses; at most `spare` of each tail moves up, to the first point kept or to infinity."""
        ours, theirs = sum(self.masses), sum(other.masses)
        lost = self.lost * theirs + ours * other.lost + self.lost * other.lost
        masses = [rounded(mass) for mass in product(self.masses, other.masses)]
        return Losses(self.first + other.first, masses, rounded(lost)).trimmed(spare)

    def trimmed(self, spare):
        low, high, below, above = 0, len(self.masses), 0, 0
        while low < high - 1 and below + self.masses[low] <= spare:
            below += self.masses[low]
            low += 1
        while high > low + 1 and above + self.masses[high - 1] <= spare:
            high -= 1
            above += self.masses[high]
        kept = self.masses[low:high]
        kept[0] += below
        return Losses(self.first + low, kept, self.lost + above)

    def power(self, times, spare):
        result = None
        square = self
        while True:
            if times & 1:
                result = square if result is None else result.times(square, spare)
            times >>= 1
            if not times:
                return result
            square = square.times(square, spare)


def rounded(mass):
    """A product of two masses in units of ONE, upwards."""
    return -(-mass // ONE)


def product(a, b):
    """Coefficients of the product of two polynomials, exactly: each coefficient has a block of bytes of one whole number."""
    width = (max(a).bit_length() + max(b).bit_length() + min(len(a), len(b)).bit_length()) // 8 + 1
    packed = [int.from_bytes(b"".join(c.to_bytes(width, "little") for c in cs), "little") for cs in (a, b)]
    size = len(a) + len(b) - 1
    digits = (packed[0] * packed[1]).to_bytes(width * size, "little")
    return [int.from_bytes(digits[k * width : (k + 1) * width], "little") for k in range(size)]


def units(number):
    """A decimal mass, upwards, in units of 1 / ONE."""
    return int(UP.multiply(max(number, Decimal(0)), Decimal(ONE)).to_integral_value(ROUND_CEILING))


def connected(first, cells, step, below=NONE, beyond=NONE):
    """The measure that bounds masses (of A, of B) in the cells between the grid points first, first + 1, ..."""
    masses = [0] * (len(cells) + 1)
    drop = WHOLE - (NONE - Interval(step)).exp()
    for k, (mass, other) in enumerate(cells):
        growth = Interval(step * (first + k)).exp()
        all_of_it = units(mass.high)
        upper = min(all_of_it, units(((mass - other * growth) / drop).high))  # keeps B's mass, or leaves less of it
        masses[k] += all_of_it - upper
        masses[k + 1] += upper
    masses[0] += units(below.high)
    return Losses(first, masses, units(beyond.high))


def differences(values):
    return [values[k + 1] - values[k] for k in range(len(values) - 1)]


def gaussian_losses(mu, step, reach):
    """mu-GDP: L is normal with mean mu^2 / 2 under A and - mu^2 / 2 under B, variance mu^2. Adding and removing are alike."""
    half, spread = mu / Interval(2), float(mu.high)
    first = int((spread * spread / 2 - reach * spread) / float(step)) - 1
    last = int((spread * spread / 2 + reach * spread) / float(step)) + 1
    scaled = [Interval(step * k) / mu for k in range(first, last + 1)]
    with_person, without = ([normal_of(x + shift) for x in scaled] for shift in (NONE - half, half))
    cells = list(zip(differences(with_person), differences(without), strict=True))
    return connected(first, cells, step, with_person[0], WHOLE - with_person[-1])


def sampled_losses(q, s, step, reach):
    """A Poisson sample, for removing and for adding a person. L grows with the answer x: x = 1/2 + s^2 log((e^L - 1 + q) / q)."""
    least = (WHOLE - q).log().low
    first = int((least / step).to_integral_value(ROUND_FLOOR))
    alone, shifted = [NONE], [NONE]  # distribution functions of N(0, s^2) and N(1, s^2) where L is on the grid
    k, enough = first, UP.subtract(Decimal(1), normal(Decimal(-reach)).low)
    while shifted[-1].low < enough:
        k += 1
        weight = Interval(step * k).exp() - WHOLE + q
        if weight.low <= 0:
            alone.append(NONE)
            shifted.append(NONE)
            continue
        x = Interval("0.5") + s * s * (weight / q).log()
        alone.append(normal_of(x / s))
        shifted.append(normal_of((x - WHOLE) / s))
    lone = differences(alone)
    mixed = [(WHOLE - q) * a + q * b for a, b in zip(lone, differences(shifted), strict=True)]
    beyond = (WHOLE - q) * (WHOLE - alone[-1]) + q * (WHOLE - shifted[-1])
    removed = connected(first, list(zip(mixed, lone, strict=True)), step, NONE, beyond)
    added = connected(-k, list(zip(lone, mixed, strict=True))[::-1], step, WHOLE - alone[-1], NONE)
    return removed, added


def told_losses(e, step):
    """A bit told truly with probability e^e / (1 + e^e): the loss is e or -e."""
    truth = e.exp() / (WHOLE + e.exp())
    cells = {int((e.high / step).to_integral_value(ROUND_FLOOR)): (truth, WHOLE - truth)}
    cells[-int((e.high / step).to_integral_value(ROUND_FLOOR)) - 1] = (WHOLE - truth, truth)
    first, last = min(cells), max(cells)
    return connected(first, [cells.get(k, (NONE, NONE)) for k in range(first, last + 1)], step)


def epsilon_of(losses, step, delta):
    """The smallest epsilon >= 0 with delta(epsilon) <= delta: between grid points delta is all - e^epsilon * rest."""
    if Decimal(losses.lost) / ONE >= delta:
        return None
    all_of_it, rest, found = Decimal(losses.lost), Decimal(0), Decimal(0)  # mass above, and the same weighted by e^-L
    wanted = DOWN.multiply(delta, Decimal(ONE))
    for k in range(len(losses.masses) - 1, -1, -1):
        loss = step * (losses.first + k)
        if loss <= 0 or all_of_it - Interval(loss).exp().low * rest > wanted:
            break
        all_of_it = UP.add(all_of_it, Decimal(losses.masses[k]))
        rest = DOWN.add(rest, DOWN.multiply(Decimal(losses.masses[k]), Interval(-loss).exp().low))
        over = UP.subtract(all_of_it, wanted)
        found = (Interval(over) / Interval(rest)).log().high if over > 0 else Decimal(0)
    return max(found, Decimal(0))


# -- the ledger --------------------------------------------------------------------------------------------------------
def flat(event, times=1):
    """Elementary events and how often."""
    if event["type"] == "repeated":
        yield from flat(event["event"], times * int(event["count"]))
    elif event["type"] == "all of":
        for part in event["events"]:
            yield from flat(part, times)
    elif event["type"] != "nothing" and times:
        yield event, times


def exact(value):
    """A float of the file, as the exact number it is."""
    return Interval(Decimal(float(value)))


def sorted_events(events):
    """mu^2 of all Gaussian answers, {e: times} of pure ones, {(q, s): times} of Poisson samples, and delta that is lost."""
    square, pure, sampled, lost = NONE, {}, {}, NONE
    for event, times in events:
        kind = event["type"]
        if kind == "gaussian":
            mu = integer_mu(exact(event["noise_multiplier"]))
            square = square + Interval(times) * mu * mu
        elif kind == "laplace":
            one = (WHOLE / exact(event["noise_multiplier"])).high
            pure[one] = pure.get(one, 0) + times
        elif kind == "epsilon delta":
            one = exact(event["epsilon"]).high
            if one:
                pure[one] = pure.get(one, 0) + times
            lost = lost + exact(event["delta"]) * Interval(times)
        elif kind == "poisson sample" and event["event"]["type"] == "gaussian":
            q, s = exact(event["sampling_probability"]), exact(event["event"]["noise_multiplier"])
            if not 0 <= q.low <= 1 or s.low <= 0:
                raise ValueError("a rate outside 0 to 1, or no noise")
            if q.low == 1:
                square = square + Interval(times) / (s * s)
            elif q.low > 0:
                sampled[q.low, s.low] = sampled.get((q.low, s.low), 0) + times
        else:
            raise ValueError(f"an answer of the unknown kind {kind!r}")
    return square, pure, sampled, lost


def grid(square, pure, sampled):
    """The step: rounding adds at most step^2 / 4 to the variance of each answer's loss. Any step gives a valid bound."""
    variance, answers = float(square.high), 1
    for one, times in pure.items():
        variance += times * min(float(one), float(one) ** 2)
        answers += times
    for (q, s), times in sampled.items():
        gain = float(q) ** 2 * (2.718281828459045 ** min(float(s) ** -2, 50.0) - 1)
        variance += times * min(gain, float(s) ** -2)
        answers += times
    step = max(min((4 * COARSENESS * variance / answers) ** 0.5, variance**0.5 / FINE), variance**0.5 / 20_000)
    return Decimal(f"{step:.6g}")


def composed(square, pure, sampled, delta):
    """The larger epsilon of removing and adding a person."""
    step = grid(square, pure, sampled)
    answers = 1 + sum(pure.values()) + sum(sampled.values())
    spare = units(delta) // (10_000 * answers)  # what each product may lose
    reach = 2
    while normal(Decimal(-reach)).high * 10_000 * answers > delta:
        reach += 1
    alike = []
    if square.high > 0:
        alike.append(gaussian_losses(Interval(square.sqrt().high), step, reach))
    alike += [told_losses(Interval(one), step).power(times, spare) for one, times in pure.items()]
    both = [list(alike), list(alike)]
    for (q, s), times in sampled.items():
        for parts, one in zip(both, sampled_losses(Interval(q), Interval(s), step, reach), strict=True):
            parts.append(one.power(times, spare))
    found = []
    for parts in both[: 2 if sampled else 1]:
        total = parts[0]
        for part in parts[1:]:
            total = total.times(part, spare)
        found.append(epsilon_of(total, step, delta))
    return None if None in found else max(found)


def bound(ledger, delta):
    """An upper bound on epsilon at `delta`, and how it was found."""
    events = [pair for entry in ledger["entries"] for pair in flat(entry["event"])]
    if any(event["type"] == "not private" for event, _ in events):
        return None, "an answer without privacy"
    square, pure, sampled, lost = sorted_events(events)
    left = DOWN.subtract(Decimal(delta), lost.high)
    plain = NONE
    for one, times in pure.items():
        plain = plain + Interval(one) * Interval(times)
    if not sampled and square.high == 0 and left >= 0 and (left == 0 or (len(pure) < 2 and sum(pure.values()) < 2)):
        return plain.high, "nothing but (epsilon, delta) answers"
    if left <= 0:
        return None, "the answers' own deltas are larger than delta"
    if not sampled and not pure:
        return gaussian_epsilon(square.sqrt(), left), EXACT
    found = composed(square, pure, sampled, left)
    if not sampled and square.high == 0:
        found = plain.high if found is None else min(found, plain.high)
    return (found, GRID) if found is not None else (None, "more than delta is lost")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ledger", help="ledger.json of a model folder")
    parser.add_argument("--delta", required=True, help="delta of the claim, e.g. 1e-5")
    parser.add_argument("--claim", help="epsilon of the claim")
    given = parser.parse_args(words)
    try:
        with open(given.ledger, encoding="utf-8") as file:
            found, how = bound(json.load(file), given.delta)
        claim = None if given.claim is None else Decimal(given.claim)
    except (OSError, ArithmeticError, ValueError, KeyError, TypeError) as reason:
        sys.stdout.write(f"{given.ledger}: cannot be computed ({type(reason).__name__}: {reason})\n")
        return 2
    if found is None:
        sys.stdout.write(f"no epsilon can be stated: {how}\n")
        return 1
    sys.stdout.write(f"epsilon is at most {up(12).plus(found)} at delta {given.delta} ({how})\n")
    if claim is None:
        return 0
    if how == GRID and claim < found <= CLOSE * claim:
        sys.stdout.write(f"whether the claim of {given.claim} holds cannot be decided: the grid may cost as much\n")
        return 3
    sys.stdout.write(f"the claim of {given.claim} {'holds' if found <= claim else 'is NOT borne out'}\n")
    return 0 if found <= claim else 1


if __name__ == "__main__":
    raise SystemExit(main())
