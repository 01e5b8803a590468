#!/usr/bin/env python3
"""Recompute epsilon from a model's ledger, for people who trust nobody. One file, the standard library, no understudy.

    python recompute_epsilon.py MODEL/ledger.json --delta 1e-5            # prints an upper bound on epsilon
    python recompute_epsilon.py MODEL/ledger.json --delta 1e-5 --claim 1  # exit code 1 if the claim is not borne out,
                                                                          # 3 if this program cannot decide it

The ledger lists every answer that left the private table, with its noise in units of what one person can change.

Gaussian answers with noise s_1, s_2, ... are together mu-GDP, mu^2 = sum 1 / s_i^2 (Dong, Roth, Su 2022; see below), and

    delta(epsilon) = P(-epsilon/mu + mu/2) - e^epsilon P(-epsilon/mu - mu/2),     P the normal distribution function.

P(x) is summed from its Taylor series; terms alternate, so the first one left out bounds what is missing, and rounding is
bounded by the number of steps. Every quantity is an interval that contains the true value (decimal arithmetic, lower ends
rounded down, upper ends rounded up); epsilon is the smallest one on a fine grid for which the UPPER end of delta(epsilon)
fits. Answers known to be (epsilon', delta')-private are added to both. Laplace answers of scale b are (1/b)-DP. Poisson
samples of Gaussian answers, and mixtures with Laplace, are bounded by Renyi divergences of whole orders (Mironov, Talwar,
Zhang 2019; conversion of Canonne, Kamath, Steinke 2020): also an upper bound, but looser than understudy's own figure.

Noise is drawn on the integers, where an answer costs slightly more than in the continuum: mu_1 with P(mu_1 / 2) =
1/2 + 1 / (2 Z), Z the sum of exp(-x^2 / (2 s^2)) over all integers x, which is at least s sqrt(2 pi) (Poisson's formula).
"""

import argparse
import json
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ORDERS = range(2, 257)


def up(digits=DIGITS):
    return Context(prec=digits, rounding=ROUND_CEILING, Emax=10**15, Emin=-(10**15))


def down(digits=DIGITS):
    return Context(prec=digits, rounding=ROUND_FLOOR, Emax=10**15, Emin=-(10**15))


class Interval:
    """[low, high], with operations that never lose the true value."""

    def __init__(self, low, high=None):
        self.low, self.high = Decimal(low), Decimal(low if high is None else high)

    def __add__(self, other):
        return Interval(down().add(self.low, other.low), up().add(self.high, other.high))

    def __sub__(self, other):
        return Interval(down().subtract(self.low, other.high), up().subtract(self.high, other.low))

    def __mul__(self, other):
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down().multiply(a, b) for a, b in ends), max(up().multiply(a, b) for a, b in ends))

    def __truediv__(self, other):  # of positive numbers only
        if other.low <= 0:
            raise ValueError("division by an interval that holds zero")
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down().divide(a, b) for a, b in ends), max(up().divide(a, b) for a, b in ends))

    def exp(self):  # Decimal's exp is correct to half a unit in the last place: one unit more on either side
        return Interval(down().next_minus(down().exp(self.low)), up().next_plus(up().exp(self.high)))

    def log(self):
        return Interval(down().next_minus(down().ln(self.low)), up().next_plus(up().ln(self.high)))

    def sqrt(self):
        return Interval(down().next_minus(down().sqrt(self.low)), up().next_plus(up().sqrt(self.high)))


def normal(x):
    """P(x) at one decimal number, as an interval."""
    size = abs(x)
    digits = DIGITS + 10 + int(size * size / 2)  # the largest term is below e^(x^2 / 2), and digits cancel
    with localcontext(Context(prec=digits, Emax=10**15, Emin=-(10**15))):
        term, total, steps, largest = x, x, 0, size
        square = x * x
        while True:  # sum of (-1)^n x^(2n+1) / (2^n n! (2n+1))
            steps += 1
            term = -term * square / (2 * steps)
            part = term / (2 * steps + 1)
            total += part
            largest = max(largest, abs(part))
            if abs(part) < Decimal(10) ** -(DIGITS + 5) and 2 * steps > square:
                break
        slack = abs(part) + largest * (8 * steps + 8) * Decimal(10) ** (1 - digits)
        root = (2 * PI).sqrt()
        low, high = total - slack, total + slack
        share = sorted([low / root, high / root])
        ulp = Decimal(10) ** -(DIGITS + 2)
        half = Decimal("0.5")
        return Interval(half + share[0] - ulp, half + share[1] + ulp)


def normal_of(interval):
    """P of an interval: it grows."""
    return Interval(max(normal(interval.low).low, Decimal(0)), normal(interval.high).high)


def gaussian_delta(epsilon, mu):
    """delta(epsilon) of mu-GDP."""
    ratio, half = epsilon / mu, mu / Interval(2)
    zero = Interval(0)
    return normal_of(half - ratio) - epsilon.exp() * normal_of(zero - ratio - half)


def integer_mu(s):
    """An upper bound on mu of one answer with integer Gaussian noise of s times the sensitivity."""
    root = (Interval(2) * Interval(PI, up().next_plus(PI))).sqrt()
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


def flat(event, times=1):
    """Elementary events and how often."""
    if event["type"] == "repeated":
        yield from flat(event["event"], times * int(event["count"]))
    elif event["type"] == "all of":
        for part in event["events"]:
            yield from flat(part, times)
    elif event["type"] != "nothing":
        yield event, times


def exact(value):
    """A float of the file, as the exact number it is."""
    return Interval(Decimal(float(value)))


def gaussian_epsilon(mu, delta):
    """The smallest epsilon on a grid of 1e-9 (relative) with delta(epsilon) <= delta for certain."""
    low, high = Decimal(0), Decimal(1)
    while gaussian_delta(Interval(high), mu).high > delta:
        low, high = high, high * 2
    while high - low > high * Decimal("1e-9"):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(Interval(middle), mu).high <= delta else (middle, high)
    return high


def renyi(counts, order):
    """Upper end of the Renyi divergence of whole order of all answers."""
    total = Interval(0)
    a = Interval(order)
    for event, times in counts:
        kind = event["type"]
        if kind == "gaussian":
            s = exact(event["noise_multiplier"])
            one = a / (Interval(2) * s * s)
        elif kind == "laplace":
            pure = Interval(1) / exact(event["noise_multiplier"])
            bound = a * pure * pure / Interval(2)
            one = Interval(min(pure.low, bound.low), min(pure.high, bound.high))
        else:
            one = sampled(order, exact(event["sampling_probability"]), exact(event["event"]["noise_multiplier"]))
        total = total + one * Interval(times)
    return total


def sampled(order, q, s):
    """Of a Poisson sample at rate q with Gaussian noise s: log E / (order - 1)."""
    rest, total, ways = Interval(1) - q, Interval(0), 1
    for k in range(order + 1):
        piece = Interval(ways)
        for factor, power in ((rest, order - k), (q, k)):
            for _ in range(power):
                piece = piece * factor
        total = total + piece * (Interval(k * k - k) / (Interval(2) * s * s)).exp()
        ways = ways * (order - k) // (k + 1)
    return total.log() / Interval(order - 1)


def renyi_epsilon(counts, delta, orders=ORDERS):
    """The best conversion over whole orders."""
    found = []
    for order in orders:
        a = Interval(order)
        spent = renyi(counts, order) + ((a - Interval(1)) / a).log()
        found.append((spent - (Interval(delta).log() + a.log()) / (a - Interval(1))).high)
        if len(found) > 8 and found[-1] > found[-8]:
            break
    return min(found)


def bound(ledger, delta):
    """An upper bound on epsilon at `delta`, and how it was found."""
    events = [pair for entry in ledger["entries"] for pair in flat(entry["event"])]
    if any(event["type"] == "not private" for event, _ in events):
        return None, "an answer without privacy"
    extra, left = Interval(0), Interval(Decimal(delta))
    for event, times in events:
        if event["type"] == "epsilon delta":
            extra = extra + exact(event["epsilon"]) * Interval(times)
            left = left - exact(event["delta"]) * Interval(times)
    rest = [(event, times) for event, times in events if event["type"] != "epsilon delta"]
    if not rest:
        return extra.high, "nothing but (epsilon, delta) answers"
    if left.low <= 0:
        return None, "the answers' own deltas are larger than delta"
    if all(event["type"] == "gaussian" for event, _ in rest):
        square = Interval(0)
        for event, times in rest:
            mu = integer_mu(exact(event["noise_multiplier"]))
            square = square + Interval(times) * mu * mu
        return up().add(gaussian_epsilon(square.sqrt(), left.low), extra.high), "Gaussian answers, exact"
    if all(event["type"] == "laplace" for event, _ in rest):
        pure = Interval(0)
        for event, times in rest:
            pure = pure + Interval(times) / exact(event["noise_multiplier"])
        return up().add(min(pure.high, renyi_epsilon(rest, left.low)), extra.high), "Laplace answers"
    return up().add(renyi_epsilon(rest, left.low), extra.high), COARSE


COARSE = "Renyi divergences, an upper bound that is not tight"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ledger", help="ledger.json of a model folder")
    parser.add_argument("--delta", required=True, help="delta of the claim, e.g. 1e-5")
    parser.add_argument("--claim", help="epsilon of the claim")
    given = parser.parse_args(words)
    with open(given.ledger, encoding="utf-8") as file:
        found, how = bound(json.load(file), given.delta)
    if found is None:
        sys.stdout.write(f"no epsilon can be stated: {how}\n")
        return 1
    shown = up(12).plus(found)
    sys.stdout.write(f"epsilon is at most {shown} at delta {given.delta} ({how})\n")
    if given.claim is None:
        return 0
    holds = found <= Decimal(given.claim)
    if not holds and how == COARSE:
        sys.stdout.write(f"whether the claim of {given.claim} holds cannot be decided by a bound of this kind\n")
        return 3
    sys.stdout.write(f"the claim of {given.claim} {'holds' if holds else 'is NOT borne out'}\n")
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
