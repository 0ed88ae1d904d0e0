"""tools/parts.py as a whole: lanes, failures, signals, what it prints and what it remembers."""

import contextlib
import io
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import parts  # noqa: E402
import parts_runner  # noqa: E402
from parts_table import Part  # noqa: E402

HANG_SECONDS = 60
FOR_EVER = "tail -f /dev/null"
DOCTEST_PASSES = "echo [doctest] test cases: 12 '|' 12 passed '|' 0 failed '|'"
PYTEST_FAILS = "print('boom\\nFAILED a.py::b\\n1 failed, 2 passed in 3.0s'); raise SystemExit(1)"


class Folder(unittest.TestCase):
    """A repository of its own, with a table and a commit."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()

    def write(self, *rows: tuple[str, str, object, list[str]], suite: str = "gate") -> None:
        """Each row: name, lane, command, after."""
        lines = [
            f'{{ name = "{name}", suite = "{suite}", lane = "{lane}", usual_seconds = 900,'
            f" run = {json.dumps(run)}, after = {json.dumps(after)} }},"
            for name, lane, run, after in rows
        ]
        (self.root / "tools/parts.toml").write_text("\n".join(["parts = [", *lines, "]", ""]))

    def commit(self) -> None:
        (self.root / ".gitignore").write_text("/build/\n")
        author = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "x"]):
            subprocess.run(["git", *words], cwd=self.root, check=True)

    def run_parts(self, *arguments: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = parts.main([*arguments], self.root)
        return code, out.getvalue()

    def row_of(self, name: str, text: str) -> list[str]:
        """The columns of a part in the table at the end."""
        found = re.findall(rf"^{name}  .*$", text, re.M)
        self.assertEqual(len(found), 1, text)
        return re.split(r"  +", found[0])


class Gate(Folder):
    def test_a_failure_stops_only_what_comes_after_it(self):
        self.write(
            ("load", "download", "true", []),
            ("sm", "build", [sys.executable, "-c", PYTEST_FAILS], []),
            ("unit", "test", "true", ["sm"]),
            ("again", "test", "true", ["unit"]),
            ("docs", "test", DOCTEST_PASSES, ["load"]),
        )
        code, text = self.run_parts("gate")
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^\d\d:\d\d:\d\d sm: 3 cases, 1 failed, \d+ s \(exit code 1\)$")
        self.assertIn("sm failed; the last 4 lines of build/parts/sm.log:", text)
        self.assertIn("\n  sm | boom\n", text)
        row = self.row_of("sm", text)
        del row[4]  # The seconds.
        self.assertEqual(row, ["sm", "3", "1", "0", "900", "failed (exit code 1)"])
        self.assertEqual(self.row_of("unit", text)[-1], "not run: sm failed")
        self.assertEqual(self.row_of("again", text)[-1], "not run: sm failed")
        self.assertEqual(self.row_of("docs", text)[1], "12")
        self.assertIn("\nfailed: sm (build/parts/sm.log)\n  a.py::b\n", text)
        self.assertEqual(text.splitlines()[-1], "15 passed, 1 failed, 2 skipped")

    def test_all_passed(self):
        self.write(("a", "test", "true", []), ("b", "test", "true", ["a"]))
        code, text = self.run_parts("gate")
        self.assertEqual((code, text.splitlines()[-1]), (0, "2 passed, 0 failed"))
        self.assertFalse((self.root / "build/parts/results.json").exists())

    def test_what_fails_without_a_failed_case_counts_as_one_and_the_other_way_round(self):
        self.write(
            ("gone", "test", "no-such-program", []),
            ("killed", "test", "sh -c 'kill -SEGV $$'", []),
            ("liar", "test", "echo 1 failed, 2 passed in 3.0s", []),
            ("last", "test", "true", []),
        )
        code, text = self.run_parts("gate")
        self.assertEqual((code, text.splitlines()[-1]), (1, "3 passed, 3 failed"))
        self.assertIn("  gone | cannot start no-such-program: No such file or directory", text)
        self.assertEqual(self.row_of("killed", text)[-1], "failed (killed by SIGSEGV)")
        self.assertIn("its output reports failed cases", self.row_of("liar", text)[-1])

    def test_only_the_last_lines_of_a_failed_part_are_shown(self):
        self.write(("a", "test", "sh -c 'seq 1000; exit 3'", []))
        _, text = self.run_parts("gate")
        shown = re.findall(r"^  a \| (\d+)$", text, re.M)
        self.assertEqual(shown, [str(n) for n in range(921, 1001)])

    def test_wrong_usage_and_a_bad_table_are_one_code(self):
        self.write(("a", "fast", "true", []))
        code, text = self.run_parts("gate")
        self.assertEqual((code, text.count("\n")), (2, 1))
        self.assertIn('tools/parts.toml: part "a": unknown lane "fast"', text)
        for arguments in ([], ["short"], ["gate", "a"], ["gate", "--again"], ["long", "--more"]):
            self.assertEqual(self.run_parts(*arguments)[0], 2)

    def test_the_list_names_lane_and_usual_time(self):
        self.write(("a", "test", "make a", []))
        code, text = self.run_parts("--list")
        self.assertEqual(code, 0)
        self.assertEqual(text.splitlines()[1].split(), "a gate test 900 s make a".split())


class Lanes(Folder):
    def test_lanes_overlap_and_a_status_line_says_what_runs(self):
        """Each of two parts waits for the other; a third part ends once the status line is out."""
        for name in ("one", "two", "told"):
            os.mkfifo(self.root / name)
        said = []

        def say(text: str) -> None:
            said.append(text)
            if " running: " in text and told:
                with open(told.pop(), "w"):
                    pass

        told = [self.root / "told"]
        script = "exec 3<>one 4<>two; echo >&{}; read -r line <&{}"
        rows = [
            Part("a", "gate", "build", 1, ("bash", "-c", script.format(3, 4))),
            Part("b", "gate", "test", 1, ("bash", "-c", script.format(4, 3))),
            Part("c", "gate", "download", 1, ("cat", "told")),
            Part("d", "gate", "test", 1, ("true",), ("a", "b", "c")),
        ]
        options = parts_runner.Options(self.root, self.root, say, status_seconds=0.2)
        results = parts_runner.Runner(rows, set(), options).run()
        self.assertEqual([results[name].state for name in "abcd"], ["passed"] * 4)
        self.assertRegex("\n".join(said), r"running: .*c \(\d+ s\).*; \d of 4 parts done")

    def test_nothing_that_a_part_started_outlives_it(self):
        self.write(("a", "test", f"sh -c '{FOR_EVER} & echo $! >pid'", []))
        self.assertEqual(self.run_parts("gate")[0], 0)
        pid = int((self.root / "pid").read_text())
        self.assertTrue(ended(pid))


class Long(Folder):
    def setUp(self):
        super().setUp()
        self.write(
            ("sm", "build", "sh -c 'echo sm >>build/ran'", []),
            ("page", "test", "sh -c 'echo page >>build/ran; test -e build/good'", ["sm"]),
            ("sdk", "test", "sh -c 'echo sdk >>build/ran; echo 5 passed in 1.0s'", []),
            suite="long",
        )
        (self.root / "build").mkdir()
        self.commit()

    def ran(self) -> list[str]:
        path = self.root / "build/ran"
        words = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(words)

    def test_a_second_call_runs_what_failed_or_is_missing(self):
        code, text = self.run_parts("long", "page")
        self.assertEqual((code, self.ran()), (1, ["page", "sm"]))
        self.assertIn("\nno result yet: sdk\n", text)
        (self.root / "build/good").touch()
        code, text = self.run_parts("long")
        self.assertEqual((code, self.ran()), (0, ["page", "sdk"]))
        self.assertEqual(self.row_of("sm", text)[-1], "earlier")
        self.assertEqual(text.splitlines()[-1], "7 passed, 0 failed")
        code, text = self.run_parts("long", "page")
        self.assertEqual((code, self.ran()), (0, []))
        self.assertEqual(text.splitlines()[-1], "7 passed, 0 failed")
        self.run_parts("long", "page", "--again")
        self.assertEqual(self.ran(), ["page", "sm"])

    def test_an_earlier_failure_is_still_one(self):
        self.run_parts("long", "page")
        code, text = self.run_parts("long", "sdk")
        self.assertEqual((code, text.splitlines()[-1]), (1, "6 passed, 1 failed"))
        self.assertEqual(self.row_of("page", text)[-1], "failed (exit code 1); earlier")

    def test_another_commit_begins_without_results(self):
        self.run_parts("long", "sdk")
        (self.root / "more").touch()
        self.commit()
        self.ran()
        self.run_parts("long", "sdk")
        self.assertEqual(self.ran(), ["sdk"])

    def test_a_changed_tree_remembers_nothing(self):
        (self.root / "more").touch()
        for _ in range(2):
            _, text = self.run_parts("long", "sdk")
            self.assertIn("results are not remembered: the working tree has changes", text)
            self.assertEqual(self.ran(), ["sdk"])

    def test_a_tree_that_changes_during_a_run_is_not_remembered(self):
        self.write(("sdk", "test", "touch more", []), suite="long")
        self.commit()
        _, text = self.run_parts("long")
        self.assertIn("the working tree changed during the run", text)
        self.assertFalse((self.root / "build/parts/results.json").exists())

    def test_without_a_repository_and_with_a_damaged_memory_it_runs_too(self):
        self.run_parts("long", "sdk")
        (self.root / "build/parts/results.json").write_text('{"half')
        self.assertEqual(self.run_parts("long", "sdk")[0], 0)
        subprocess.run(["rm", "-rf", self.root / ".git"], check=True)
        code, text = self.run_parts("long", "sdk")
        self.assertEqual(code, 0)
        self.assertIn("results are not remembered: git rev-parse: ", text)


class Signals(Folder):
    def start(self) -> subprocess.Popen:
        program = "import pathlib, sys, parts; "
        program += "sys.exit(parts.main(['gate'], pathlib.Path(sys.argv[1])))"
        process = subprocess.Popen(
            [sys.executable, "-c", program, self.root],
            cwd=pathlib.Path(__file__).parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def wait_for_pid(self) -> int:
        """The part writes it into a FIFO once it runs."""
        with open(self.root / "pid") as fifo:
            return int(fifo.read())

    def table_with(self, command: str) -> None:
        os.mkfifo(self.root / "pid")
        self.write(("a", "test", ["bash", "-c", command], []), ("b", "test", "true", ["a"]))

    def test_a_signal_ends_the_parts_and_shows_the_table(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                self.root.joinpath("pid").unlink(missing_ok=True)
                self.table_with(f"{FOR_EVER} & echo $! >pid; wait")
                process = self.start()
                pid = self.wait_for_pid()
                process.send_signal(number)
                text, _ = process.communicate(timeout=HANG_SECONDS)
                self.assertEqual(process.returncode, 130, text)
                self.assertIn(f"{number.name}: ending a", text)
                self.assertEqual(self.row_of("a", text)[-1], "interrupted")
                self.assertEqual(self.row_of("b", text)[-1], "not run: interrupted")
                self.assertEqual(text.splitlines()[-1], "0 passed, 0 failed, 2 skipped")
                self.assertTrue(ended(pid))

    def test_a_second_signal_kills_what_ignores_the_first(self):
        self.table_with(f"trap '' TERM; {FOR_EVER} & echo $! >pid; wait; wait")
        process = self.start()
        pid = self.wait_for_pid()
        process.send_signal(signal.SIGTERM)
        for line in process.stdout:
            if "SIGTERM: ending a" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANG_SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(ended(pid))

    def test_a_deadline_kills_what_ignores_the_signal(self):
        script = f"trap '' TERM; kill -TERM $PPID; exec {FOR_EVER}"
        row = Part("a", "gate", "test", 1, ("bash", "-c", script))
        options = parts_runner.Options(self.root, self.root, [].append, grace_seconds=0.1)
        runner = parts_runner.Runner([row], set(), options)
        self.assertEqual(runner.run()["a"].state, "interrupted")
        self.assertTrue(runner.stopped)

    def test_the_first_process_of_a_part_ends_with_the_runner(self):
        self.table_with(f"echo $$ >pid; exec {FOR_EVER}")
        process = self.start()
        pid = self.wait_for_pid()
        process.kill()
        process.wait()
        self.assertTrue(ended(pid))


def ended(pid: int) -> bool:
    """Waits for the end of a process that was killed."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], HANG_SECONDS)[0])
    finally:
        os.close(pidfd)


if __name__ == "__main__":
    unittest.main()
