"""GCC 12's coroutine traps are still there, and what we write instead is right.

docs/decisions/0001-boost-asio.md lists them; tests/coroutine_traps.cc has a program for each.
With another compiler the cases skip: then look which rules of tools/tidy_coroutines.py can go.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "tests" / "coroutine_traps.cc"
RIGHT = "value 2, 0 more destroyed than made\n"


def is_gcc_12() -> bool:
    if shutil.which("g++") is None:
        return False
    said = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True)
    return said.stdout.startswith("12")


@unittest.skipUnless(is_gcc_12(), "the traps are those of GCC 12")
class Traps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compile(self, name: str, *flags: str) -> tuple[pathlib.Path, str]:
        """The program of one case, and what the compiler said if there is none."""
        program = pathlib.Path(self.folder.name) / name
        argv = ["g++", "-std=c++20", f"-D{name}", *flags, SOURCE, "-o", program]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode == 0, program.exists(), done.stderr)
        return program, done.stderr

    def run_case(self, name: str, *flags: str) -> str:
        program, said = self.compile(name, *flags)
        self.assertTrue(program.exists(), said)
        env = {**os.environ, "ASAN_OPTIONS": "abort_on_error=0"}
        done = subprocess.run(
            [program], capture_output=True, text=True, timeout=60, check=False, env=env
        )
        return done.stdout + done.stderr

    def test_braced_temporaries_of_co_await_are_destroyed_twice(self):
        for name in ("TRAP_BRACES_BY_VALUE", "TRAP_BRACES_BY_REFERENCE", "TRAP_BRACES_EMPTY"):
            self.assertRegex(self.run_case(name), r", 1 more destroyed than made$", name)
        self.assertEqual(self.run_case("RIGHT_NAMED"), RIGHT)

    def test_a_lambda_with_captures_in_co_await_is_destroyed_twice(self):
        self.assertRegex(self.run_case("TRAP_CAPTURES"), r", 1 more destroyed than made$")
        self.assertEqual(self.run_case("RIGHT_CAPTURES"), RIGHT)

    def test_an_object_converted_in_a_condition_loses_the_coroutine(self):
        self.assertNotEqual(self.run_case("TRAP_CONDITION"), RIGHT)
        self.assertEqual(self.run_case("RIGHT_CONDITION"), RIGHT)

    def test_a_loop_that_awaits_in_its_condition_never_runs(self):
        self.assertNotEqual(self.run_case("TRAP_WHILE"), RIGHT)
        self.assertEqual(self.run_case("RIGHT_WHILE"), RIGHT)

    def test_co_return_in_a_statement_expression_ends_the_compiler(self):
        _, said = self.compile("TRAP_STATEMENT_EXPRESSION")
        self.assertIn("internal compiler error", said)

    def test_return_in_a_coroutine_and_so_try_is_refused(self):
        _, said = self.compile("TRAP_RETURN")
        self.assertRegex(said, re.compile("return. statement is not allowed in coroutine"))

    def test_a_lambda_coroutine_outlives_the_captures_of_a_temporary(self):
        self.assertIn("AddressSanitizer", self.run_case("TRAP_LAMBDA", "-fsanitize=address"))
        self.assertEqual(self.run_case("RIGHT_LAMBDA", "-fsanitize=address"), RIGHT)


if __name__ == "__main__":
    unittest.main()
