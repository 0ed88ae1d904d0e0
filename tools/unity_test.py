"""Tests of tools/unity.py: what stands in one group, and what does not."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import unity  # noqa: E402


class Groups(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.room = pathlib.Path(folder.name) / "room"
        self.room.mkdir()

    def write(self, name, text):
        path = self.room / name
        path.write_text(text)
        return path

    def unnamed(self, name, text, rest=""):
        return self.write(name, f"namespace {{\n\n{text}\n\n}}  // namespace\n{rest}")

    def groups(self, *paths, most=8):
        sources = unity.Sources(self.room.parent)
        return [[path.name for path in group] for group in sources.groups(list(paths), most)]

    def test_hold_no_more_than_was_said(self):
        paths = [self.write(f"{name}.cc", "int x;\n") for name in "abc"]
        self.assertEqual(self.groups(*paths, most=2), [["a.cc", "b.cc"], ["c.cc"]])

    def test_one_name_in_two_unnamed_namespaces_parts_them(self):
        for number, text in enumerate(
            (
                "constexpr int limit = 3;",
                "std::map<std::string, std::vector<int>> limit(int x) {\n  return {};\n}",
                "struct limit {\n  int x;\n};",
                "using limit = int;",
                "constexpr Row limit[] = {\n    {1},\n};",
                "enum class limit : char { one };",
            )
        ):
            first = self.unnamed(f"a{number}.cc", text)
            other = self.unnamed(f"b{number}.cc", "int limit() {\n  return 0;\n}")
            self.assertEqual(len(self.groups(first, other)), 2, text)

    def test_a_namespace_of_one_line_counts(self):
        first = self.write("a.cc", "namespace {\nconstexpr int limit = 3;\n}\n\nvoid f() {\n}\n")
        other = self.unnamed("b.cc", "int limit = 4;")
        after = self.unnamed("c.cc", "int f = 4;")
        self.assertEqual(self.groups(first, other, after), [["a.cc", "c.cc"], ["b.cc"]])

    def test_names_of_members_and_of_named_namespaces_part_nobody(self):
        first = self.unnamed("a.cc", "struct A {\n  int limit;\n};", "int A_limit() {\n}\n")
        other = self.unnamed("b.cc", "int limit = 4;", "int use() {\n  return limit;\n}\n")
        self.assertEqual(self.groups(first, other), [["a.cc", "b.cc"]])

    def test_a_name_of_a_header_is_kept_from_who_means_the_header_s(self):
        self.write("limit.h", "int limit(int x);\n")
        self.write("uses.h", '#include "room/limit.h"\n')
        own = self.unnamed("a.cc", "int limit = 3;")
        none = self.unnamed("b.cc", "int x = 3;")
        direct = self.unnamed("c.cc", "int y = limit(3);")
        by_header = self.write("d.cc", '#include "room/uses.h"\n')
        self.assertEqual(
            self.groups(own, none, direct, by_header), [["a.cc", "b.cc"], ["c.cc", "d.cc"]]
        )

    def test_a_macro_is_kept_from_who_has_its_name(self):
        first = self.write("a.cc", "#define FRAME noinline\n")
        other = self.write("b.cc", "struct FRAME;\n")
        self.assertEqual(self.groups(first, other), [["a.cc"], ["b.cc"]])

    def test_strings_comments_and_raw_strings_hold_no_names(self):
        first = self.unnamed("a.cc", 'auto a = R"(\nint b = 1;\n)";\nchar c = \'"\'; // "\nint d;')
        other = self.unnamed("b.cc", "int b = 2;")
        third = self.unnamed("c.cc", "int d = 2;")
        self.assertEqual(self.groups(first, other, third), [["a.cc", "b.cc"], ["c.cc"]])

    def test_test_cases_do_not_part_tests(self):
        case = 'TEST_CASE("x") {{\n  CHECK({});\n}}'
        first = self.unnamed("a_test.cc", case.format(1))
        other = self.unnamed("b_test.cc", case.format(2))
        self.assertEqual(self.groups(first, other), [["a_test.cc", "b_test.cc"]])

    def test_most_of_our_tests_share_a_group(self):
        sources = unity.Sources(pathlib.Path(__file__).parents[1] / "src")
        rooms = [path for path in sources.folder.rglob("*") if path.is_dir()]
        tests = [sorted(room.glob("*_test.cc")) for room in rooms]
        groups = sum(len(sources.groups(paths, 8)) for paths in tests)
        self.assertLess(groups, sum(map(len, tests)) / 2)


if __name__ == "__main__":
    unittest.main()
