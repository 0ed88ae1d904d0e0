"""The table of tools/parts.py, its errors, and the order in which parts start."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import parts_table  # noqa: E402
from parts_table import Part  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]


def row(
    name: str, more: str = "", lane: str = "test", suite: str = "gate", after: str = ""
) -> str:
    fields = f'name = "{name}", suite = "{suite}", lane = "{lane}", usual_seconds = 3'
    if after:
        fields += f', after = ["{after}"]'
    return f'{{ {fields}, run = "make {name}"{more} }},\n'


def part(name: str, *after: str, lane: str = "test") -> Part:
    return Part(name, "gate", lane, 1, ("true",), after)


class Table(unittest.TestCase):
    def test_a_row_is_a_part(self):
        text = f"parts = [\n{row('sm', lane='build')}{row('e2e', after='sm')}]"
        self.assertEqual(
            parts_table.parse_table(text),
            [
                Part("sm", "gate", "build", 3, ("make", "sm")),
                Part("e2e", "gate", "test", 3, ("make", "e2e"), ("sm",)),
            ],
        )

    def test_a_command_is_a_list_or_a_text_with_quotes(self):
        for run in ("""'a "b c"'""", '["a", "b c"]'):
            text = row("x").replace('"make x"', run)
            self.assertEqual(parts_table.parse_table(f"parts = [{text}]")[0].run, ("a", "b c"))

    def test_each_fault_of_a_table_is_one_clear_line(self):
        no_lane = row("a").replace('lane = "test", ', "")
        open_quote = row("a").replace("make a", "it's")
        cases = {
            "": "expected one list",
            "parts = []": "at least one part",
            "parts = [": "invalid TOML",
            "parts = [3]": "part 1: expected a table of fields",
            f"parts = [{no_lane}]": 'part "a": missing field "lane"',
            f"parts = [{row('a', ', more = 1')}]": 'part "a": unknown field "more"',
            f"parts = [{row('a/b')}]": 'part "a/b": invalid name',
            f"parts = [{row('a', suite='short')}]": 'unknown suite "short"; use gate or long',
            f"parts = [{row('a', lane='fast')}]": 'part "a": unknown lane "fast"; use one of',
            f"parts = [{row('a').replace('3', '0')}]": "usual_seconds must be a whole number",
            f"parts = [{row('a').replace('3', 'true')}]": "usual_seconds must be a whole number",
            f"parts = [{row('a', ', after = 7')}]": "after must be a list of names",
            f"parts = [{row('a').replace('make a', '')}]": "run must be a command",
            f"parts = [{open_quote}]": "invalid run: No closing quotation",
            f"parts = [{row('a')}{row('a')}]": 'part "a": duplicate name',
            f"parts = [{row('a', after='b')}]": 'part "a": unknown part "b" in after',
            f"parts = [{row('a', after='b')}{row('b', suite='long')}]": "another suite",
            f"parts = [{row('a', after='a')}]": "these parts wait for each other: a",
            f"parts = [{row('c')}{row('a', after='b')}{row('b', after='a')}]": (
                "these parts wait for each other: a, b"
            ),
        }
        for text, want in cases.items():
            with self.subTest(want):
                with self.assertRaises(parts_table.BadTable) as caught:
                    parts_table.parse_table(text)
                self.assertIn(want, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))


class Choice(unittest.TestCase):
    parts = [part("a"), part("b", "a"), part("c", "b"), part("d")]

    def names(self, names, passed=()):
        return "".join(each.name for each in parts_table.choose(self.parts, names, set(passed)))

    def test_a_named_part_brings_those_before_it_unless_they_passed(self):
        self.assertEqual(self.names([]), "abcd")
        self.assertEqual(self.names(["c"]), "abc")
        self.assertEqual(self.names(["d", "b"]), "abd")
        self.assertEqual(self.names(["c"], ["a"]), "bc")
        self.assertEqual(self.names(["c"], ["b"]), "c")
        self.assertEqual(self.names([], ["a", "d"]), "bc")

    def test_an_unknown_name_is_an_error(self):
        with self.assertRaisesRegex(parts_table.BadTable, 'unknown part "x"'):
            self.names(["x"])


class Order(unittest.TestCase):
    def test_each_free_lane_starts_the_first_part_that_waits_for_nothing(self):
        parts = [part("a", "load"), part("b"), part("c"), part("sm", lane="build")]
        ready = parts_table.startable(parts, [part("load", lane="download")], set())
        self.assertEqual([each.name for each in ready], ["b", "sm"])
        ready = parts_table.startable(parts, [part("x")], {"load"})
        self.assertEqual([each.name for each in ready], ["sm"])
        ready = parts_table.startable(parts, [], {"load"})
        self.assertEqual([each.name for each in ready], ["a", "sm"])

    def test_what_comes_after_a_failed_part_names_it_also_in_a_chain(self):
        parts = [part("c", "b"), part("b", "x", "a"), part("d", "x")]
        self.assertEqual(parts_table.blocked(parts, {"a"}), {"b": "a", "c": "a"})
        self.assertEqual(parts_table.blocked(parts, set()), {})


class Repository(unittest.TestCase):
    def test_the_table_of_this_repository_is_valid(self):
        parts = parts_table.parse_table((ROOT / "tools/parts.toml").read_text())
        self.assertEqual({part.suite for part in parts}, set(parts_table.SUITES))

    def test_the_nightly_workflow_runs_every_part_of_the_long_suite(self):
        workflow = (ROOT / ".github/workflows/nightly.yml").read_text()
        block = re.search(r"^ +part:\n((?: +- [a-z0-9-]+\n)+)", workflow, re.M)
        named = re.findall(r"- ([a-z0-9-]+)", block[1])
        parts = parts_table.parse_table((ROOT / "tools/parts.toml").read_text())
        long = [part for part in parts if part.suite == "long"]
        self.assertEqual(parts_table.choose(long, named, set()), long)

    def test_workflows_name_actions_by_commit(self):
        for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
            for action in re.findall(r"uses: *(.*)", path.read_text()):
                self.assertRegex(action, r"^[a-z/-]+@[0-9a-f]{40} # v[\d.]+$", path.name)


if __name__ == "__main__":
    unittest.main()
