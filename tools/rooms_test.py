"""What tools/rooms.py finds in the table of rooms and in the sources."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import rooms  # noqa: E402

TABLE = """
[low]
holds = "values"

[low.files]
holds = "files"

[middle]
holds = "nothing: a storey needs no files of its own"
uses = ["low"]

[middle.one]
holds = "one"

[middle.two]
holds = "two"
uses = ["one"]

[high]
holds = "only one room of the storey below"
uses = ["low", "middle/one"]
"""
FILES = {
    "low/value.h": "",
    "low/value.cc": '#include "low/value.h"\n',
    "low/files/file.h": '#include "low/value.h"\n',
    "middle/one/one.h": '#include "low/files/file.h"\n',
    "middle/two/two.h": '#include "middle/one/one.h"\n',
    "middle/two/two.cc": '#include "middle/two/two.h"\n#include <vector>\n#include <archive.h>\n',
    "middle/two/two_test.cc": '#include "low/value.h"\n',
    "high/high.cc": '#include "middle/one/one.h"\n#include "low/value.h"\n',
    "main.cc": '#include "high/high.h"\n',
}


class Rooms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.src = pathlib.Path(folder.name)

    def read(self, changed=None, table=TABLE):
        for name, text in {"rooms.toml": table, **FILES, **(changed or {})}.items():
            path = self.src / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return rooms.read(self.src)

    def found(self, changed=None, table=TABLE):
        return "\n".join(self.read(changed, table).findings)

    def test_a_good_tree_has_no_findings(self):
        self.assertEqual(self.found(), "")

    def test_a_room_links_what_its_files_include(self):
        self.assertEqual(
            rooms.cmake(self.read()),
            "muster_room(low low)\n"
            "muster_room(files low/files DEPS low)\n"
            "muster_room(one middle/one DEPS files)\n"
            "muster_room(two middle/two DEPS one TEST_DEPS low LIBS archive z)\n"
            "muster_room(high high DEPS low one)\n",
        )

    def test_a_forbidden_include_is_named_with_its_line(self):
        cases = {
            "low/value.h": ("middle/one/one.h", "low may not include middle/one"),
            "low/value.cc": ("low/files/file.h", "low may not include low/files"),
            "middle/one/one.h": ("middle/two/two.h", "middle/one may not include middle/two"),
            "high/high.cc": ("middle/two/two.h", "high may not include middle/two"),
            "middle/two/two_test.cc": ("high/high.h", "middle/two may not include high"),
        }
        for name, (header, finding) in cases.items():
            text = f'{FILES[name]}#include "{header}"\n'
            line = text.count("\n")
            found = self.found({name: text, "high/high.h": ""})
            self.assertIn(f"src/{name}:{line}: {finding}", found)
            self.read()

    def test_a_header_that_is_not_there_or_has_no_folder_is_found(self):
        for header in ("low/gone.h", "value.h"):
            found = self.found({"low/value.cc": f'#include "{header}"\n'})
            self.assertIn(f"src/low/value.cc:1: there is no src/{header}", found)

    def test_a_file_outside_of_all_rooms_is_found(self):
        self.assertIn("src/new/x.cc: is in no room", self.found({"new/x.cc": ""}))

    def test_a_room_has_a_limit_of_lines_and_of_files(self):
        self.assertIn("src/low: 4001 lines", self.found({"low/value.cc": "\n" * 4001}))
        self.assertNotIn("lines", self.found({"low/value.cc": "", "low/a_test.cc": "\n" * 5000}))
        many = {f"low/files/f{number}.cc": "" for number in range(40)}
        self.assertIn("src/low/files: 41 files", self.found(many))

    def test_the_table_is_checked(self):
        wrong = {
            'uses = ["one"]': ('uses = ["three"]', "uses three, which is no room beside it"),
            'uses = ["low"]': ('uses = ["low", "high"]', "uses high, which is no storey below it"),
            "[middle.two]": ("[middle.files]", "two rooms are called files"),
            'holds = "two"': ('hold = "two"', "[middle/two]: needs holds, and knows"),
        }
        for text, (instead, finding) in wrong.items():
            self.assertIn(finding, self.found(table=TABLE.replace(text, instead, 1)))

    def test_a_permission_that_nothing_needs_is_found(self):
        found = self.found({"middle/two/two.h": ""})
        self.assertIn("[middle/two]: nothing in it uses one", found)
        self.assertIn("[high]: nothing in it uses low", self.found({"high/high.cc": ""}))

    def test_rooms_that_include_each_other_are_found(self):
        table = TABLE.replace('holds = "one"', 'holds = "one"\nuses = ["two"]')
        found = self.found({"middle/one/one.h": '#include "middle/two/two.h"\n'}, table)
        self.assertIn("src/middle/one: is in a cycle of includes", found)
        self.assertIn("src/middle/two: is in a cycle of includes", found)

    def test_programs_elsewhere_link_what_they_include(self):
        program = self.src / "fuzz" / "yaml.cc"
        program.parent.mkdir()
        program.write_text('#include "middle/two/two.h"\n#include "fuzz.h"\n')
        self.assertEqual(
            rooms.links(rooms.Rooms(TABLE), [program]),
            "target_link_libraries(fuzz_yaml PRIVATE muster_two)\n",
        )


if __name__ == "__main__":
    unittest.main()
