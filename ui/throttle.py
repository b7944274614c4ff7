"""Slows down guessing: so many failures in a span of time, then a pause. In memory, bounded."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

__all__ = ["Throttle"]


class Throttle:
    """Counts failures by key (a name, an address) in a sliding window of ``window_s`` seconds.

    Not safe between threads: use it on the event loop. An attempt counts as a failure from its start, so that many at once
    count as many; :meth:`forgive` takes back those that succeeded.
    """

    def __init__(
        self, *, failures: int, window_s: float = 900.0, max_keys: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._failures = failures
        self._window_s = window_s
        self._max_keys = max_keys
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def minutes_left(self, key: str) -> int:
        """Whole minutes until the next attempt is open, rounded up; 0: it is open now."""
        times = self._recent(key)
        if len(times) < self._failures:
            return 0
        return max(1, math.ceil((times[0] + self._window_s - self._clock()) / 60.0))

    def note(self, key: str) -> None:
        """Count an attempt."""
        times = self._recent(key)
        times.append(self._clock())
        while len(times) > self._failures:
            times.popleft()
        self._times[key] = times
        self._times.move_to_end(key)
        if len(self._times) > self._max_keys:
            self._times.popitem(last=False)

    def forgive(self, key: str) -> None:
        """Take back the latest attempt: it was no failure."""
        times = self._times.get(key)
        if times:
            times.pop()
        if not times:
            self._times.pop(key, None)

    def _recent(self, key: str) -> deque[float]:
        times = self._times.get(key, deque())
        while times and times[0] <= self._clock() - self._window_s:
            times.popleft()
        return times
