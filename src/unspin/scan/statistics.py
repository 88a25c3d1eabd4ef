"""The statistics of ``unspin tune``: exact intervals of shares, and how well a score tells two groups apart.

Pure functions of numbers. Shares have Clopper-Pearson intervals: exact, whatever the
number of runs, and never too narrow. Areas under the ROC curve have DeLong's.
"""

from __future__ import annotations

from math import comb, exp, isfinite, lgamma, log, log1p, sqrt
from statistics import NormalDist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2  # of one side

_MOST_RUNS = 10_000_000


# -- shares ----------------------------------------------------------------------------


def beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function: the share of a Beta(a, b) distribution below ``x``."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly, and on the other side fast
        return 1 - beta_share(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def _beta_quantile(share: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if beta_share(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def upper(count: int, of: int, tail: float = TAIL) -> float:
    """Return the Clopper-Pearson upper limit: a higher rate gives as few as ``count`` with less than ``tail``."""
    return 1.0 if count >= of else _beta_quantile(1 - tail, count + 1, of - count)


def shows(count: int, of: int, rate: float, tail: float = TAIL) -> bool:
    """Tell whether ``count`` of ``of`` shows a rate of at most ``rate``: whether its ``upper`` limit is no higher."""
    return count < of and beta_share(rate, count + 1, of - count) >= 1 - tail


def lower(count: int, of: int, tail: float = TAIL) -> float:
    """Return the Clopper-Pearson lower limit."""
    return 0.0 if count <= 0 or of <= 0 else _beta_quantile(tail, count, of - count + 1)


def interval(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % Clopper-Pearson interval of the rate behind ``count`` of ``of``."""
    return lower(count, of), upper(count, of)


def needed(rate: float, tail: float = TAIL, count: int = 0) -> int:
    """Return how many runs it takes for ``count`` of them to show a rate of at most ``rate``."""
    low, high = count, count + 1
    while not shows(count, high, rate, tail):
        low, high = high, high * 2
        if high > _MOST_RUNS:
            return high
    while high - low > 1:
        middle = (low + high) // 2
        if not shows(count, middle, rate, tail):
            low = middle
        else:
            high = middle
    return high


def needed_at(share: float, rate: float) -> int | None:
    """Return about how many runs would show ``rate`` if ``share`` of them, below it, went on to be false."""
    if share >= rate:
        return None
    if share <= 0:
        return needed(rate)
    of = needed(rate)
    while not shows(round(share * of), of, rate):
        of = int(of * 1.1) + 1
        if of > _MOST_RUNS:
            return None
    return of


def level(setbacks: int, length: int) -> float:
    """Return the tail that the next test on a path of ``length`` settings may have after so many setbacks.

    A path that is fixed before the data are seen and ends at its first failure needs no correction: each set of
    runs that are told contains the one before, so a false claim needs the very first false one to pass. A path that
    leaves a rule out and goes on can have been any of ``comb(length, setbacks)`` by then: that many tests share
    the tail. All together stay below ``2 * TAIL``: 95 % that no false claim is made.
    """
    return TAIL if not setbacks else TAIL * 2.0**-setbacks / comb(length, setbacks)


# -- scores ----------------------------------------------------------------------------


def auroc(bad: Sequence[float], good: Sequence[float]) -> float:
    """Return the probability that a bad run has a higher score than a good one; ties count half."""
    above, _ = _placements(bad, good)
    return sum(above) / len(above)


def auroc_interval(bad: Sequence[float], good: Sequence[float]) -> tuple[float, float] | None:
    """Return DeLong's 95 % interval; nothing where the runs have no spread to judge by."""
    above, below = _placements(bad, good)
    error = _error(above, below)
    if error is None:
        return None
    middle, reach = sum(above) / len(above), NormalDist().inv_cdf(1 - TAIL) * error
    return max(0.0, middle - reach), min(1.0, middle + reach)


def auroc_difference(
    bad: Sequence[tuple[float, float]], good: Sequence[tuple[float, float]]
) -> tuple[float, tuple[float, float] | None]:
    """Return how much better the first of two scores of the same runs tells them apart, with DeLong's 95 % interval."""
    first = _placements([each[0] for each in bad], [each[0] for each in good])
    second = _placements([each[1] for each in bad], [each[1] for each in good])
    above = [one - two for one, two in zip(first[0], second[0], strict=True)]
    below = [one - two for one, two in zip(first[1], second[1], strict=True)]
    middle, error = sum(above) / len(above), _error(above, below)
    if error is None:
        return middle, None
    reach = NormalDist().inv_cdf(1 - TAIL) * error
    return middle, (max(-1.0, middle - reach), min(1.0, middle + reach))


def _placements(bad: Sequence[float], good: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return for each bad run the share of good ones below it, and for each good run that of bad ones above it."""
    ranks = _midranks([*bad, *good])
    own_bad, own_good = _midranks(bad), _midranks(good)
    above = [(rank - own) / len(good) for rank, own in zip(ranks[: len(bad)], own_bad, strict=True)]
    below = [1 - (rank - own) / len(bad) for rank, own in zip(ranks[len(bad) :], own_good, strict=True)]
    return above, below


def _midranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda at: values[at])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            ranks[at] = (start + end + 1) / 2
        start = end
    return ranks


def _error(above: Sequence[float], below: Sequence[float]) -> float | None:
    if len(above) < 2 or len(below) < 2:
        return None
    error = sqrt(_variance(above) / len(above) + _variance(below) / len(below))
    return error if error > 1e-12 and isfinite(error) else None


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((each - mean) ** 2 for each in values) / (len(values) - 1)


def median(values: Sequence[float]) -> float | None:
    """Return the middle value, nothing of none."""
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
