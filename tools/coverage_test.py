"""What tools/coverage.py makes of gcov's reports."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import coverage  # noqa: E402


def branch(count: int, throw: bool = False) -> dict:
    return {"count": count, "throw": throw, "fallthrough": not throw}


def lines(run: int, of: int, ways: list[int]) -> coverage.Lines:
    """`of` lines, of which `run` are run; the first has all branches."""
    counts = {number: {"f": (1 if number <= run else 0, [])} for number in range(1, of + 1)}
    return {**counts, 1: {"f": (1, ways)}} if of else {}


class Coverage(unittest.TestCase):
    def setUp(self):
        src = coverage.ROOT / "src"
        self.rooms = coverage.by_room(
            {
                src / "launch" / "b.cc": lines(5, 10, [1, 0, 0, 0]),
                src / "launch" / "a.cc": lines(10, 10, [1, 2, 3, 0]),
                src / "base" / "x.h": {},
            }
        )

    def test_files_add_up_to_rooms(self):
        self.assertEqual(list(self.rooms), ["base", "launch"])
        self.assertEqual(self.rooms["launch"]["line_covered"], 15)
        self.assertEqual(self.rooms["launch"]["branch_total"], 8)

    def test_the_table_has_a_line_for_each(self):
        head, base, launch = coverage.table(self.rooms).splitlines()
        self.assertRegex(launch, r"^launch +75\.0 % of +20 +50\.0 % of +8$")
        self.assertRegex(base, r"^base +100\.0 % of +0 +100\.0 % of +0$")

    def test_a_room_below_its_floor_or_gone_is_named(self):
        self.assertEqual(coverage.below(self.rooms, {"launch": 50, "base": 100}), [])
        found = coverage.below(self.rooms, {"launch": 51, "calls": 1})
        self.assertEqual(found[0], "launch: 50.0 % of the branches, at least 51")
        self.assertIn("calls: there is no such room", found[1])

    def test_a_call_is_no_decision_run_or_not(self):
        call = [branch(3), branch(0, throw=True)]
        never = [branch(0), branch(0, throw=True)]
        decision = [branch(2), branch(1)]
        self.assertEqual(coverage.decisions([*call, *decision, *never]), [2, 1])
        self.assertEqual(coverage.decisions(call), [])

    def test_tests_and_what_is_not_ours_are_left_out(self):
        src = coverage.ROOT / "src"
        self.assertTrue(coverage.is_ours(src / "host/calls/lead.cc"))
        for name in ("host/calls/lead_test.cc", "host/calls/testing.h", "image/kept/testing.h"):
            self.assertFalse(coverage.is_ours(src / name))
        self.assertFalse(coverage.is_ours(pathlib.Path("/usr/include/c++/12/vector")))

    def test_objects_that_counted_the_same_lines_add_up(self):
        path = coverage.ROOT / "src" / "base" / "backoff.h"
        number = path.read_text().splitlines().index("  Duration next(double chance) {") + 1
        line = {
            "line_number": number,
            "function_name": "next",
            "count": 1,
            "branches": [branch(1), branch(0)],
        }
        report = {
            "current_working_directory": str(coverage.ROOT / "build"),
            "files": [{"file": "../src/base/backoff.h", "lines": [line]}],
        }
        files: dict[pathlib.Path, coverage.Lines] = {}
        coverage.add(files, report)
        coverage.add(files, report)
        self.assertEqual(files, {path: {number: {"next": (2, [2, 0])}}})
        found = coverage.missing(path, files[path])
        self.assertEqual(
            found,
            [f"src/base/backoff.h:{number}: 1 of 2: Duration next(double chance) {{"],
        )

    def test_lines_that_decide_nothing_are_known(self):
        for text in ("}", "  };", "      });", "        tasks(on) {}", "CHECK_THAT(a, b);"):
            self.assertTrue(coverage.NO_DECISION.search(text), text)
        for text in ("if (a) {", "} else if (b) {", "  return a ? b : c;", "void f(int) { g(); }"):
            self.assertFalse(coverage.NO_DECISION.search(text), text)


if __name__ == "__main__":
    unittest.main()
