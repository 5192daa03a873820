"""Progress bars by tqdm, where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Called with the stage, how much of it is done, and how much there is of it (0 where nobody knows).
Progress = Callable[[str, int, int], None]

#: Seconds before a bar is drawn, so that short calls draw none.
_DELAY = 0.5


@contextmanager
def progress_bars(verbose: bool | None) -> Iterator[Progress | None]:
    """What the native module may call; `None` where nobody wants to see bars or tqdm is not installed.

    Bars are drawn in notebooks and terminals, or, with ``verbose=True``, wherever stderr leads.
    """
    if verbose is False or (verbose is None and not _somebody_looks()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bars = _Bars(tqdm)
    try:
        yield bars
    finally:
        bars.close()


def _somebody_looks() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class _Bars:
    """One bar a stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._stage: str | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._bar = self._tqdm(desc=stage, total=total or None, leave=False, delay=_DELAY)
            self._stage = stage
        # How much there is to do may turn out after the stage has begun.
        if total and self._bar.total != total:
            self._bar.total = total
        self._bar.update(max(0, done - self._bar.n))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
