"""Results of tools/parts.py and how they are shown."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from parts_counts import Counts  # noqa: E402
from parts_report import Result, closing_line, end_line, failed_lines, judge, table  # noqa: E402
from parts_table import Part  # noqa: E402


class Report(unittest.TestCase):
    def test_a_part_that_ended(self):
        counts = Counts(2498, 1, 4)
        cases = (
            (0, Counts(2499), "x: 2,499 cases, 0 failed, 512 s"),
            (2, counts, "x: 2,499 cases, 1 failed, 4 skipped, 512 s (exit code 2)"),
            (2, Counts(3), "x: 4 cases, 1 failed, 512 s (exit code 2)"),
            (0, None, "x: passed, 512 s"),
            (-9, None, "x: failed, 512 s (killed by SIGKILL)"),
            (0, Counts(1, 1), "x: 2 cases, 1 failed, 512 s (exit code 0, but its output"),
        )
        for status, counted, want in cases:
            with self.subTest(want):
                line = end_line(judge("x", status, counted, 512), counted is not None)
                self.assertTrue(line.startswith(want), line)

    def test_more_than_twice_the_usual_time_is_a_warning(self):
        part = Part("e2e", "gate", "test", 300, ("true",))
        for seconds, want in ((600, "300"), (1812, "warning: took 1,812 s, usually 300 s")):
            rows = table([part], {"e2e": Result("e2e", "passed", Counts(1), seconds)})
            self.assertTrue(rows[1].endswith(f"  {want}"), rows)

    def test_what_failed_is_named_briefly(self):
        failures = tuple(f"test_{n}" + "x" * 200 for n in range(7))
        lines = failed_lines(
            [
                Result("a", "passed"),
                judge("e2e", 2, Counts(3, 7), 9, failures),
                judge("docs", 1, None, 1),
            ]
        )
        self.assertEqual(lines[0], "failed: e2e (build/parts/e2e.log)")
        self.assertEqual([line[:8] for line in lines[1:6]], [f"  test_{n}" for n in range(5)])
        self.assertEqual({len(line) for line in lines[1:6]}, {162})
        self.assertEqual(lines[6:], ["  and 2 more", "failed: docs (build/parts/docs.log)"])

    def test_the_closing_line_has_plain_numbers(self):
        many = Result("a", "passed", Counts(2000, 0, 0))
        self.assertEqual(closing_line([many]), "2000 passed, 0 failed")
        more = [many, Result("b", "failed", Counts(1, 2, 3)), Result("c", "not run")]
        self.assertEqual(closing_line(more), "2001 passed, 2 failed, 4 skipped")


if __name__ == "__main__":
    unittest.main()
