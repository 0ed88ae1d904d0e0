"""bench/history.jsonl: each figure that a benchmark measured, a line each, oldest first.

{"commit", "date", "cores", "memory_gib", "name", "value", "unit", "better": "lower" or "higher"}

Every benchmark calls record(). MUSTER_BENCH_HISTORY names another file, and empty it none: figures
of a machine that is busy with other things are noise. bench/compare-history says what got worse.
"""

import dataclasses
import datetime
import json
import os
import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
WORSE = 0.10  # The share by which a figure may get worse before anybody is told.

# How a figure's name ends, its unit, and which way is better. Other numbers are no figures.
UNITS = (
    ("_us_each", "us", "lower"),
    ("_cpu_s", "s of CPU", "lower"),
    ("mb_per_cpu_s", "MB/s of CPU", "higher"),
    ("mb_per_second", "MB/s", "higher"),
    ("mib_per_second", "MiB/s", "higher"),
    ("per_second", "1/s", "higher"),
    ("_ms", "ms", "lower"),
    ("_s", "s", "lower"),
    ("seconds", "s", "lower"),
    ("rss_mib", "MiB", "lower"),
    ("shrunk_to", "ratio", "lower"),
    ("times_tarfile", "ratio", "higher"),
    ("client_cpu", "ratio", "lower"),
    ("server_cpu", "ratio", "lower"),
)


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    better: str  # "lower" or "higher"


@dataclasses.dataclass(frozen=True)
class Machine:
    cores: int
    memory_gib: int


def unit_of(key: str) -> tuple[str, str] | None:
    """By the longest ending that fits: mb_per_cpu_s is no _cpu_s."""
    fits = [(len(end), unit, better) for end, unit, better in UNITS if key.endswith(end)]
    return max(fits)[1:] if fits else None


def figures_of(name: str, measured) -> list[Figure]:
    """What is nested in dicts and lists, by the path to it; numbers without a unit are left out."""
    found = []
    if isinstance(measured, dict):
        for key, value in measured.items():
            unit = unit_of(key)
            if isinstance(value, (dict, list)):
                found += figures_of(f"{name}: {key}", value)
            elif unit and isinstance(value, (int, float)) and not isinstance(value, bool):
                found.append(Figure(f"{name}: {key}", float(value), *unit))
    if isinstance(measured, list):
        for number, value in enumerate(measured, 1):
            found += figures_of(f"{name} {number}", value)
    return found


def line_of(figure: Figure, commit: str, date: str, machine: Machine) -> str:
    head = {"commit": commit, "date": date, **dataclasses.asdict(machine)}
    return json.dumps({**head, **dataclasses.asdict(figure)})


def this_machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(len(os.sched_getaffinity(0)), round(pages / (1 << 30)))


def this_commit() -> str:
    """The commit's short name, with + if the tree is another; "unknown" without git."""
    words = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def record(figures: list[Figure]) -> None:
    """Appends the figures, with the commit of the tree, the day and the machine."""
    file = os.environ.get("MUSTER_BENCH_HISTORY", str(REPOSITORY / "bench" / "history.jsonl"))
    if not file:
        return
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    commit, machine = this_commit(), this_machine()
    with open(file, "a") as out:
        out.writelines(line_of(figure, commit, date, machine) + "\n" for figure in figures)


def worse(lines: list[str]) -> list[str]:
    """What the last entry of each figure says beside the one before it, on a machine alike."""
    entries: dict[tuple, list[dict]] = {}
    for line in lines:
        one = json.loads(line)
        which = (one["name"], one["unit"], one["cores"], one["memory_gib"])
        entries.setdefault(which, []).append(one)
    found = []
    for (name, unit, cores, memory), each in entries.items():
        if len(each) < 2:
            continue
        before, now = each[-2:]
        old, new = before["value"], now["value"]
        bound = old * (1 + WORSE) if now["better"] == "lower" else old * (1 - WORSE)
        if new > bound if now["better"] == "lower" else new < bound:
            found.append(
                f"{name}: {old:g} {unit} at {before['commit']}, {new:g} at {now['commit']}"
                f" ({cores} cores, {memory} GiB)"
            )
    return found
