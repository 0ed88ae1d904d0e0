"""How tools/parts.py counts the cases in a log."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from parts_counts import Counts, count, failed_cases  # noqa: E402


class Counting(unittest.TestCase):
    def check(self, text: str, *numbers: int):
        self.assertEqual(count(text.splitlines()), Counts(*numbers) if numbers else None)

    def test_pytest(self):
        self.check("2499 passed in 512.34s (0:08:32)", 2499)
        self.check("1 failed, 2499 passed, 3 skipped, 40 deselected in 2.1s", 2499, 1, 3)
        self.check("==== 2 passed, 1 warning in 0.01s ====", 2)
        self.check("\x1b[32m1 passed\x1b[0m, 2 errors, 1 xfailed, 1 xpassed in 3s", 3, 2)
        self.check("12 deselected in 0.01s")
        self.check("no tests ran in 0.01s")
        self.check("it took 3 attempts in 2s\n12 passed of 14 in 3s")

    def test_doctest_of_several_programs(self):
        self.check(
            "[doctest] test cases: 12 | 12 passed | 0 failed | 0 skipped\n"
            "[doctest] assertions: 40 | 40 passed | 0 failed |\n"
            "[doctest] test cases:   7 |   5 passed | 2 failed | 300 skipped\n",
            17,
            2,
        )

    def test_unittest(self):
        self.check("Ran 12 tests in 0.5s\n\nOK", 12)
        self.check("Ran 1 test in 0.500s\n\nOK (skipped=1)", 0, 0, 1)
        self.check(
            "Ran 9 tests in 1.0s\n\n"
            "FAILED (failures=1, errors=2, skipped=1, unexpected successes=1)",
            4,
            4,
            1,
        )
        self.check("FAILED (errors=1)")

    def test_nodes_two_formats(self):
        lines = ("tests 12", "suites 2", "pass 9", "fail 1", "cancelled 1", "skipped 1", "todo 0")
        for sign in "#ℹ":
            self.check("\n".join(f"{sign} {line}" for line in lines), 9, 2, 1)
        self.check("# pass 12")

    def test_ctest_without_the_cases_of_the_output_that_it_shows(self):
        self.check("100% tests passed, 0 tests failed out of 12", 12)
        self.check(
            "Test project /build/dev\n"
            "[doctest] test cases: 1 | 0 passed | 1 failed | 30 skipped\n"
            "92% tests passed, 1 tests failed out of 12\n"
            "Ran 2 tests in 0.1s\nOK\n",
            13,
            1,
        )

    def test_a_log_without_closing_lines_has_no_cases(self):
        self.check("")
        self.check("+ make sm\n[1/2] compiling\nall passed")


class Failures(unittest.TestCase):
    def check(self, text: str, *names: str):
        self.assertEqual(failed_cases(text.splitlines()), list(names))

    def test_pytest(self):
        self.check(
            "tests/e2e/test_a.py:12: AssertionError\n"
            "FAILED tests/e2e/test_a.py::test_b[mpich-a b] - AssertionError: no - x\n"
            "\x1b[31mFAILED\x1b[0m tests/e2e/test_a.py::test_c\n"
            "ERROR tests/e2e/test_d.py - ImportError\n"
            "ERROR tests/e2e/test_a.py::test_e - a fixture\n"
            "ERROR: a line of a program\n",
            "tests/e2e/test_a.py::test_b[mpich-a b] - AssertionError: no - x",
            "tests/e2e/test_a.py::test_c",
            "tests/e2e/test_d.py - ImportError",
            "tests/e2e/test_a.py::test_e - a fixture",
        )

    def test_doctest_names_a_case_once_and_not_for_its_messages(self):
        self.check(
            "a_test.cc:1:\nTEST CASE:  prints\n\na_test.cc:2: MESSAGE: hello\n"
            "a_test.cc:5:\nTEST CASE:  two failures\n\n"
            "a_test.cc:6: ERROR: CHECK( a == b ) is NOT correct!\n"
            "a_test.cc:7: FATAL ERROR: REQUIRE( a ) is NOT correct!\n",
            "two failures",
        )

    def test_unittest_and_node(self):
        self.check(
            "FAIL: test_x (parts_test.Gate.test_x)\nERROR: test_y (__main__.Y.test_y) (n=1)\n"
            "  ✖ folds lines (1.25ms)\n✖ failing tests:\n✖ folds lines (1.25ms)\n",
            "test_x (parts_test.Gate.test_x)",
            "test_y (__main__.Y.test_y) (n=1)",
            "folds lines",
        )


if __name__ == "__main__":
    unittest.main()
