"""What tools/coverage.py makes of gcovr's numbers."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import coverage  # noqa: E402


def file(name: str, lines: tuple[int, int], branches: tuple[int, int]) -> dict:
    return {
        "filename": name,
        "line_covered": lines[0],
        "line_total": lines[1],
        "branch_covered": branches[0],
        "branch_total": branches[1],
    }


class Coverage(unittest.TestCase):
    def setUp(self):
        self.rooms = coverage.by_room(
            [
                file("src/launch/b.cc", (5, 10), (1, 4)),
                file("src/launch/a.cc", (10, 10), (3, 4)),
                file("src/base/x.h", (0, 0), (0, 0)),
            ]
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


if __name__ == "__main__":
    unittest.main()
