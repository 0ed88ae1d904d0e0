"""Part of tools/parts.py: counts test cases in the output of test programs and names what failed.

Pure. Known are pytest, doctest, Python's unittest, Node's test runner and ctest.
"""

import dataclasses
import re
from collections.abc import Iterable

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DOCTEST = re.compile(r"\[doctest\] test cases: +\d+ +\| +(\d+) passed +\| +(\d+) failed\b")
UNITTEST = re.compile(r"Ran (\d+) tests? in [\d.]+s$")
UNITTEST_VERDICT = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
PYTEST = re.compile(r"(?:=+ )?(\d+ [a-z ]+(?:, \d+ [a-z ]+)*) in [\d.]+s(?: \([^)]*\))?(?: =+)?$")
NODE = re.compile(r"(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$")
CTEST_BEGIN = re.compile(r"Test project /")
# The lines that name a failed case; doctest names a case first and its failures behind it.
FAILED_PYTEST = re.compile(r"(?:FAILED|ERROR) (\S+?\.py(?:::.*| - .*)?)$")
FAILED_UNITTEST = re.compile(r"(?:FAIL|ERROR): (\w+ \([\w.]+\).*)$")
FAILED_NODE = re.compile(r"✖ (?!failing tests:)(.+?)(?: \([\d.]+ms\))?$")
DOCTEST_CASE = re.compile(r"TEST CASE:  (.*)$")
DOCTEST_FAILURE = re.compile(r"\S+:\d+: (?:FATAL )?ERROR: ")
CTEST = re.compile(r"\d+% tests passed, (\d+) tests? failed out of (\d+)$")

# How a word of a summary counts; the others, like "warnings" and "deselected", are no cases.
PYTEST_WORDS = {
    "passed": "passed",
    "xfailed": "passed",
    "xpassed": "passed",
    "failed": "failed",
    "error": "failed",
    "errors": "failed",
    "skipped": "skipped",
}
NODE_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "cancelled": "failed",
    "skipped": "skipped",
    "todo": "skipped",
}


@dataclasses.dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def cases(self) -> int:
        """The cases that ran."""
        return self.passed + self.failed

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )


def count(lines: Iterable[str]) -> Counts | None:
    """The sum of all closing lines; None if there is no such line."""
    total = None
    in_ctest = in_node = False
    ran = None  # The cases of a unittest run whose verdict has not been read yet.
    for line in lines:
        line = COLOUR.sub("", line).strip()
        found = None
        if CTEST_BEGIN.match(line):
            in_ctest = True
        elif match := CTEST.match(line):
            in_ctest = False
            failed, cases = int(match[1]), int(match[2])
            found = Counts(cases - failed, failed)
        elif in_ctest:
            continue  # ctest shows the output of failed tests, whose cases it counts itself.
        elif match := DOCTEST.match(line):
            # Doctest's skipped cases are those that a filter left out.
            found = Counts(int(match[1]), int(match[2]))
        elif match := UNITTEST.match(line):
            ran = int(match[1])
        elif ran is not None and (match := UNITTEST_VERDICT.match(line)):
            found, ran = _unittest(ran, match[1] or ""), None
        elif match := PYTEST.match(line):
            found = _pytest(match[1])
        elif match := NODE.match(line):
            in_node = in_node or match[1] == "tests"
            if in_node and match[1] in NODE_WORDS:
                found = Counts(**{NODE_WORDS[match[1]]: int(match[2])})
        if found is not None:
            total = found if total is None else total + found
    return total


def failed_cases(lines: Iterable[str]) -> list[str]:
    """The cases that failed, each once, named as its test program does; pytest adds the reason."""
    names: dict[str, None] = {}
    case = None  # The doctest case that the lines are about.
    for line in lines:
        line = COLOUR.sub("", line).strip()
        if match := DOCTEST_CASE.match(line):
            case = match[1]
        elif case is not None and DOCTEST_FAILURE.match(line):
            names[case] = None
        elif match := (
            FAILED_PYTEST.match(line) or FAILED_UNITTEST.match(line) or FAILED_NODE.match(line)
        ):
            names[match[1]] = None
    return list(names)


def _pytest(summary: str) -> Counts | None:
    """A text like "1 failed, 12 passed, 3 warnings"; None if that is not pytest's."""
    total = Counts()
    known = False
    for item in summary.split(", "):
        number, word = item.split(" ", 1)
        if word in PYTEST_WORDS:
            total += Counts(**{PYTEST_WORDS[word]: int(number)})
            known = True
    return total if known else None


def _unittest(ran: int, details: str) -> Counts:
    """`details`: a text like "failures=1, errors=2, skipped=3", which unittest leaves out for 0."""
    numbers = dict(re.findall(r"([a-z ]+)=(\d+)", details.replace(", ", ",")))
    failed = sum(int(numbers.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
    skipped = int(numbers.get("skipped", 0))
    # An error in a class's setup is one that no case ran for.
    return Counts(max(0, ran - failed - skipped), failed, skipped)
