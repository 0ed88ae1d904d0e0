"""Part of tools/parts.py: the table of parts, and which of them may start.

Pure: nothing here reads a clock, a file or a variable.
"""

import dataclasses
import re
import shlex
import tomllib

SUITES = ("gate", "long")
LANES = ("download", "build", "test")
# A name is also the name of a log file.
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class BadTable(Exception):
    """One line that says what is wrong with the table."""


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    suite: str  # One of SUITES.
    lane: str  # One of LANES.
    usual_seconds: int  # On 2 cores; only a warning depends on this number.
    run: tuple[str, ...]  # The command and its arguments; no shell reads them.
    after: tuple[str, ...] = ()  # Parts of the same suite that must pass first.


def parse_table(text: str) -> list[Part]:
    """All parts in the table's order. Raises BadTable."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadTable(f"invalid TOML: {error}") from None
    rows = table.get("parts")
    if not isinstance(rows, list) or not rows or set(table) != {"parts"}:
        raise BadTable("expected one list, parts = [ ... ], with at least one part")
    parts = [_parse_row(number, row) for number, row in enumerate(rows, 1)]
    _check_names(parts)
    _check_cycles(parts)
    return parts


def _parse_row(number: int, row: object) -> Part:
    if not isinstance(row, dict):
        raise BadTable(f"part {number}: expected a table of fields")
    where = f'part "{row["name"]}"' if isinstance(row.get("name"), str) else f"part {number}"
    for field in ("name", "suite", "lane", "usual_seconds", "run"):
        if field not in row:
            raise BadTable(f'{where}: missing field "{field}"')
    for field in row:
        if field not in (each.name for each in dataclasses.fields(Part)):
            raise BadTable(f'{where}: unknown field "{field}"')
    if not isinstance(row["name"], str) or not NAME.fullmatch(row["name"]):
        raise BadTable(f"{where}: invalid name; use lower-case letters, digits and hyphens")
    if row["suite"] not in SUITES:
        raise BadTable(f'{where}: unknown suite "{row["suite"]}"; use {" or ".join(SUITES)}')
    if row["lane"] not in LANES:
        raise BadTable(f'{where}: unknown lane "{row["lane"]}"; use one of {", ".join(LANES)}')
    usual = row["usual_seconds"]
    if type(usual) is not int or usual < 1:
        raise BadTable(f"{where}: usual_seconds must be a whole number of at least 1")
    after = row.get("after", [])
    if not _is_texts(after):
        raise BadTable(f"{where}: after must be a list of names of parts")
    return Part(row["name"], row["suite"], row["lane"], usual, _argv(where, row["run"]), (*after,))


def _argv(where: str, run: object) -> tuple[str, ...]:
    """A text is split into words as a shell would split it; a list is used as it is."""
    words = run
    if isinstance(run, str):
        try:
            words = shlex.split(run)
        except ValueError as error:
            raise BadTable(f"{where}: invalid run: {error}") from None
    if not _is_texts(words) or not words or not words[0]:
        raise BadTable(f"{where}: run must be a command, as a text or as a list of texts")
    return tuple(words)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _check_names(parts: list[Part]) -> None:
    suites: dict[str, str] = {}
    for part in parts:
        if part.name in suites:
            raise BadTable(f'part "{part.name}": duplicate name')
        suites[part.name] = part.suite
    for part in parts:
        for name in part.after:
            if name not in suites:
                raise BadTable(f'part "{part.name}": unknown part "{name}" in after')
            if suites[name] != part.suite:
                raise BadTable(f'part "{part.name}": part "{name}" in after is of another suite')


def _check_cycles(parts: list[Part]) -> None:
    waiting = {part.name: set(part.after) for part in parts}
    while free := [name for name, after in waiting.items() if not after]:
        for name in free:
            del waiting[name]
        for after in waiting.values():
            after.difference_update(free)
    if waiting:
        raise BadTable(f"these parts wait for each other: {', '.join(waiting)}")


def choose(parts: list[Part], names: list[str], passed: set[str]) -> list[Part]:
    """The named parts (all, if `names` is empty) and their `after`, without those that passed."""
    by_name = {part.name: part for part in parts}
    for name in names:
        if name not in by_name:
            raise BadTable(f'unknown part "{name}"; --list shows all')
    chosen: set[str] = set()
    todo = names or list(by_name)
    while todo:
        name, *todo = todo
        if name not in chosen and name not in passed:
            chosen.add(name)
            todo.extend(by_name[name].after)
    return [part for part in parts if part.name in chosen]


def startable(waiting: list[Part], running: list[Part], passed: set[str]) -> list[Part]:
    """The parts that may start now, in the table's order: at most one for each free lane."""
    busy = {part.lane for part in running}
    found = []
    for part in waiting:
        if part.lane not in busy and passed.issuperset(part.after):
            busy.add(part.lane)
            found.append(part)
    return found


def blocked(waiting: list[Part], failed: set[str]) -> dict[str, str]:
    """The parts that cannot run any more, each with the failed part that is the reason.

    The reason is the part that failed first, also where a part between the two never ran.
    """
    reasons: dict[str, str] = {}
    known = -1
    while known != len(reasons):
        known = len(reasons)
        for part in waiting:
            for name in part.after:
                reason = name if name in failed else reasons.get(name)
                if reason is not None:
                    reasons.setdefault(part.name, reason)
    return reasons
