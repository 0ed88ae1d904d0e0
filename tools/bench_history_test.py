"""bench/history.py: what is a figure, how it is written, and when it got worse."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import history  # noqa: E402
from history import Figure, Machine  # noqa: E402

SMALL, BIG = Machine(2, 8), Machine(64, 256)


def entry(value: float, better: str = "lower", machine: Machine = SMALL, name: str = "x") -> str:
    return history.line_of(Figure(name, value, "s", better), f"c{value:g}", "2026-01-01", machine)


class Figures(unittest.TestCase):
    def test_a_key_says_its_unit(self):
        for key, unit in (
            ("p50_ms", ("ms", "lower")),
            ("mb_per_cpu_s", ("MB/s of CPU", "higher")),
            ("client_cpu_s", ("s of CPU", "lower")),
            ("mib_per_second", ("MiB/s", "higher")),
            ("per_second", ("1/s", "higher")),
            ("server_us_each", ("us", "lower")),
            ("calls", None),
        ):
            self.assertEqual(history.unit_of(key), unit, key)

    def test_nested_figures_have_the_path_as_their_name(self):
        measured = {"a": {"calls": 7, "p50_ms": 1.5, "error": "x"}, "b": [{"seen_s": 2}, {}]}
        self.assertEqual(
            history.figures_of("server", measured),
            [
                Figure("server: a: p50_ms", 1.5, "ms", "lower"),
                Figure("server: b 1: seen_s", 2.0, "s", "lower"),
            ],
        )


class File(unittest.TestCase):
    def test_a_line_for_each_figure_is_appended(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "history.jsonl"
            with mock.patch.dict(os.environ, {"MUSTER_BENCH_HISTORY": str(file)}):
                history.record([Figure("a", 1, "s", "lower"), Figure("b", 2, "1/s", "higher")])
                history.record([Figure("a", 3, "s", "lower")])
            lines = [json.loads(line) for line in file.read_text().splitlines()]
        self.assertEqual([line["value"] for line in lines], [1, 2, 3])
        names = {"commit", "date", "cores", "memory_gib", "name", "value", "unit", "better"}
        self.assertEqual(set(lines[0]), names)
        self.assertGreaterEqual(lines[0]["cores"], 1)

    def test_an_empty_name_writes_nothing(self):
        with mock.patch.dict(os.environ, {"MUSTER_BENCH_HISTORY": ""}):
            history.record([Figure("a", 1, "s", "lower")])


class Worse(unittest.TestCase):
    def test_more_than_a_tenth_worse_is_told_either_way(self):
        self.assertEqual(history.worse([entry(1.0), entry(1.1)]), [])
        self.assertEqual(history.worse([entry(1.0), entry(0.5)]), [])
        (found,) = history.worse([entry(1.0), entry(1.2)])
        self.assertEqual(found, "x: 1 s at c1, 1.2 at c1.2 (2 cores, 8 GiB)")
        self.assertEqual(len(history.worse([entry(10, "higher"), entry(8.9, "higher")])), 1)
        self.assertEqual(history.worse([entry(10, "higher"), entry(12, "higher")]), [])

    def test_the_entry_before_counts_on_a_machine_alike(self):
        self.assertEqual(history.worse([entry(0.1, machine=BIG), entry(1.0)]), [])
        lines = [entry(1.0), entry(0.1, machine=BIG), entry(9, name="y"), entry(2.0), entry(2.0)]
        self.assertEqual(history.worse(lines), [])
        self.assertEqual(len(history.worse(lines[:-1])), 1)


if __name__ == "__main__":
    unittest.main()
