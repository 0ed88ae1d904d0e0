"""Part of tools/parts.py: results of parts, and how they are shown. Pure."""

import dataclasses
import signal
from collections.abc import Iterable

from parts_counts import Counts
from parts_table import Part

# Continuous integration often shows the end of its output alone: what failed must fit there.
FAILURES_MAX = 5
FAILURE_CHARACTERS_MAX = 160

HEADINGS = ("part", "cases", "failed", "skipped", "seconds", "usual")


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    state: str  # "passed", "failed", "interrupted" or "not run".
    counts: Counts = Counts()
    seconds: int = 0
    reason: str = ""  # Why the part failed or did not run.
    earlier: bool = False  # Remembered from an earlier call.
    failures: tuple[str, ...] = ()  # Names of failed cases.


def judge(
    name: str,
    exit_status: int,
    counted: Counts | None,
    seconds: int,
    failures: Iterable[str] = (),
) -> Result:
    """The result of a part that ended; `exit_status` is negative for a signal, as Popen's.

    A part without countable cases counts as one case. A part fails by its exit status or by a
    failed case in its output, and then at least one case of it has failed.
    """
    counts = counted or Counts()
    if exit_status == 0 and counts.failed == 0:
        return Result(name, "passed", counted or Counts(passed=1), seconds)
    if exit_status > 0:
        reason = f"exit code {exit_status}"
    elif exit_status < 0:
        reason = f"killed by {signal.Signals(-exit_status).name}"
    else:
        reason = "exit code 0, but its output reports failed cases"
    if counts.failed == 0:
        counts += Counts(failed=1)
    return Result(name, "failed", counts, seconds, reason, failures=tuple(failures))


def end_line(result: Result, counted: bool) -> str:
    """What is printed when a part ends; `counted`: whether its output has countable cases."""
    words = [result.state]
    if counted:
        words = [f"{result.counts.cases:,} cases", f"{result.counts.failed:,} failed"]
        if result.counts.skipped:
            words.append(f"{result.counts.skipped:,} skipped")
    text = f"{result.name}: {', '.join(words)}, {result.seconds:,} s"
    return f"{text} ({result.reason})" if result.reason else text


def table(parts: Iterable[Part], results: dict[str, Result]) -> list[str]:
    """One row for each part that has a result, in the table's order."""
    rows = [(HEADINGS, "")]
    for part in parts:
        result = results.get(part.name)
        if result is None:
            continue
        counts = result.counts
        cells = [f"{n:,}" for n in (counts.cases, counts.failed, counts.skipped, result.seconds)]
        if result.state in ("not run", "interrupted"):
            cells[:3] = ["-"] * 3
        rows.append(((part.name, *cells, f"{part.usual_seconds:,}"), _note(part, result)))
    widths = [max(len(cells[i]) for cells, _ in rows) for i in range(len(HEADINGS))]
    lines = []
    for cells, note in rows:
        shown = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))]
        lines.append("  ".join([*shown, note]).rstrip())
    return lines


def _note(part: Part, result: Result) -> str:
    notes = []
    if result.state == "not run":
        notes.append(f"not run: {result.reason}")
    elif result.state != "passed":
        notes.append(f"{result.state} ({result.reason})" if result.reason else result.state)
    if result.seconds > 2 * part.usual_seconds:
        notes.append(f"warning: took {result.seconds:,} s, usually {part.usual_seconds:,} s")
    if result.earlier:
        notes.append("earlier")
    return "; ".join(notes)


def failed_lines(results: Iterable[Result]) -> list[str]:
    """Each part that failed, with its log and the first of its failed cases."""
    lines = []
    for result in results:
        if result.state != "failed":
            continue
        lines.append(f"failed: {result.name} (build/parts/{result.name}.log)")
        for name in result.failures[:FAILURES_MAX]:
            lines.append(f"  {name[:FAILURE_CHARACTERS_MAX]}")
        if (more := len(result.failures) - FAILURES_MAX) > 0:
            lines.append(f"  and {more:,} more")
    return lines


def closing_line(results: Iterable[Result]) -> str:
    """Scripts read this line: `N passed, N failed`, and `, N skipped` unless that is 0.

    A part that did not run, or not to its end, counts as one skipped case.
    """
    total = Counts()
    for result in results:
        ended = result.state in ("passed", "failed")
        total += result.counts if ended else Counts(skipped=1)
    line = f"{total.passed} passed, {total.failed} failed"
    return f"{line}, {total.skipped} skipped" if total.skipped else line


def list_lines(parts: Iterable[Part]) -> list[str]:
    """All parts with suite, lane and usual seconds."""
    rows = [("part", "suite", "lane", "usual", "runs")]
    rows += [(p.name, p.suite, p.lane, f"{p.usual_seconds:,} s", " ".join(p.run)) for p in parts]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [
        f"{name:{widths[0]}}  {suite:{widths[1]}}  {lane:{widths[2]}}  {usual:>{widths[3]}}  {run}"
        for name, suite, lane, usual, run in rows
    ]
