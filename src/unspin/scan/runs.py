"""A recorded run as ``unspin tune`` sees it: what it used step by step, and when which rule fires at which threshold.

Every rule's own detector runs once for every threshold, all of them over the same rounds
of one scan. That is exact whatever a rule does with its threshold: nothing is concluded
from one threshold about another. Reading the transcript costs most, and is done once.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from unspin import events as ev
from unspin.detect import DETECTORS
from unspin.guard import Settings
from unspin.guard.settings import KEYS
from unspin.scan.judged import as_noticed, judged
from unspin.scan.scanning import scan
from unspin.scan.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from unspin.cost.prices import Prices
    from unspin.detect import Detector
    from unspin.scan.items import Thing
    from unspin.scan.scanning import Scanned, Session

_AROUND = (-2, -1, 0, 1, 2, 3, 5, 7)  # of a threshold's default
_FEWEST = {"count": 2, "laps": 3}  # what comes once is no loop
_MOST = {"count": 10**6, "laps": 10}


def tuned() -> list[type[Detector]]:
    """Return the rules that have a threshold to be measured: those about loops."""
    return [each for each in DETECTORS if each.loop and KEYS[each.switch()][0] in _FEWEST]


def thresholds(rule: type[Detector], settings: Settings) -> list[int]:
    """Return the thresholds of a rule that are measured, rising: around its default, and the one that is set."""
    kind, default, _ = KEYS[rule.switch()]
    found = {default + each for each in _AROUND} | {settings[rule.switch()] or default}
    return sorted(each for each in found if _FEWEST[kind] <= each <= _MOST[kind] or each == settings[rule.switch()])


@dataclass(slots=True)
class Run:
    """One run. ``tokens[n]`` and ``dollars[n]`` are what it had used when ``n`` steps were done.

    ``first[rule][threshold]`` are the steps that were done when the rule fired; thresholds at which
    it did not are left out. ``score[rule]`` is the highest count that it came to.
    """

    path: str
    session: str
    how: str = ""
    steps: int = 0
    tokens: array[int] = field(default_factory=lambda: array("q", [0]))
    dollars: array[float] = field(default_factory=lambda: array("d", [0.0]))
    total_tokens: int = 0
    total_dollars: float | None = 0.0
    first: dict[str, dict[int, int]] = field(default_factory=dict)
    score: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Measured:
    """What one file came to."""

    path: str
    runs: list[Run] = field(default_factory=list)
    without_steps: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)


def measure(source: Source, settings: Settings, *, prices: Prices | None = None, format: str = "") -> Measured:
    """Scan one file and measure its runs. What cannot be read is in ``errors``."""
    watch = _Watch(settings)
    result = scan(source, settings, prices=prices, format=format, watch=watch)
    runs = [watch.run(scanned) for scanned in result.sessions]
    return Measured(
        source.path,
        [run for run in runs if run is not None and run.steps],
        sum(run is None or not run.steps for run in runs),
        result.skipped,
        result.errors,
    )


def each_of(
    sources: Iterable[Source], settings: Settings, *, prices: Prices | None = None, format: str = "", jobs: int = 1
) -> Iterator[Measured]:
    """Measure many files, with ``jobs`` processes, in their order."""
    if jobs <= 1:
        for source in sources:
            yield measure(source, settings, prices=prices, format=format)
        return
    from concurrent.futures import ProcessPoolExecutor

    paths = [source.path for source in sources]
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(settings.as_mapping(), prices, format)) as pool:
        yield from pool.map(_measure_path, paths, chunksize=max(1, min(8, len(paths) // (jobs * 4))))


_worker: dict[str, Any] = {}


def _begin(settings: dict[str, Any], prices: Prices | None, format: str) -> None:
    _worker.update(settings=Settings(settings), prices=prices, format=format)


def _measure_path(path: str) -> Measured:
    return measure(Source(path), _worker["settings"], prices=_worker["prices"], format=_worker["format"])


class _Watch:
    def __init__(self, settings: Settings):
        values = settings.as_mapping()
        self._each = [
            (rule, threshold, Settings({**values, rule.switch(): threshold}))
            for rule in tuned()
            for threshold in thresholds(rule, settings)
        ]
        self._runs: dict[int, _Measuring] = {}

    def __call__(self, thing: Thing, when: str, session: Session) -> None:
        run = self._runs.get(id(session.scanned))
        if run is None:
            detectors = [(threshold, rule(settings)) for rule, threshold, settings in self._each]
            run = self._runs[id(session.scanned)] = _Measuring(session, detectors)
        run.take(thing)

    def run(self, scanned: Scanned) -> Run | None:
        measuring = self._runs.get(id(scanned))
        return None if measuring is None else measuring.end(scanned)


class _Measuring:
    def __init__(self, session: Session, detectors: list[tuple[int, Detector]]):
        self._session = session
        self._detectors = detectors
        self._lowest: dict[str, int] = {}
        for threshold, detector in detectors:
            self._lowest[detector.rule] = min(threshold, self._lowest.get(detector.rule, threshold))
        self._run = Run(session.scanned.path, session.scanned.session)

    def take(self, thing: Thing) -> None:
        for closed in judged(thing, self._session):
            if not closed.agent:
                self._run.steps += 1
                self._run.tokens.append(self._session.scanned.tokens)
                self._run.dollars.append(self._session.scanned.dollars or 0.0)
            for noticed in as_noticed(closed):
                self._notice(noticed)
        if isinstance(thing, (ev.Message, ev.Compaction, ev.ContextSize, ev.TurnReport)):
            self._notice(thing)

    def _notice(self, noticed: Any) -> None:
        run, over = self._run, []
        for at, (threshold, detector) in enumerate(self._detectors):
            found = [each for each in detector.observe(noticed) if not each.quiet]
            if not found:
                continue
            rule = detector.rule
            run.first.setdefault(rule, {}).setdefault(threshold, run.steps)
            run.score[rule] = max(run.score.get(rule, 0), *(each.count for each in found))
            if threshold != self._lowest[rule]:  # it has fired; how far a count goes the lowest one tells
                over.append(at)
        for at in reversed(over):
            del self._detectors[at]

    def end(self, scanned: Scanned) -> Run:
        run = self._run
        run.how, run.total_tokens, run.total_dollars = scanned.how, scanned.tokens, scanned.dollars
        return run


def stem(name: str) -> str:
    """Return the name of a file without the ends that say its format."""
    while True:
        bare = name
        for end in (".gz", ".zst", ".zstd", ".json", ".jsonl", ".ndjson", ".traj", ".md"):
            bare = bare.removesuffix(end)
        if bare == name or not bare:
            return name
        name = bare
