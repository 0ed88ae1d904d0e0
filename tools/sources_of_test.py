"""Tests of tools/sources_of.py."""

import pathlib
import tempfile
import unittest

import sources_of


class SourcesOf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, *includes, coroutine=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f'#include "{header}"\n' for header in includes]
        path.write_text("".join(lines) + ("co_return;\n" if coroutine else ""))
        return path

    def sources(self, *files):
        found = sources_of.sources_of(files, self.root)
        return [str(path.relative_to(self.root)) for path in found]

    def test_are_what_headers_lead_to(self):
        self.write("a/a.h", "a/only_header.h")
        self.write("a/only_header.h")
        self.write("a/a.cc", "a/a.h", "b/b.h")
        self.write("b/b.h")
        self.write("b/b.cc", "b/b.h")
        self.write("c/not_reached.cc")
        self.assertEqual(self.sources(self.write("main.cc", "a/a.h")), ["a/a.cc", "b/b.cc"])

    def test_of_a_room_without_coroutines_are_all_its_files_but_the_tests(self):
        for name in ("a/a.h", "a/a_test.cc", "a/more.cc"):
            self.write(name)
        self.assertEqual(self.sources(self.write("main.cc", "a/a.h")), ["a/more.cc"])

    def test_of_a_room_with_coroutines_are_those_beside_a_reached_header(self):
        for name in ("a/a.h", "a/a.cc", "a/more.cc"):
            self.write(name)
        self.write("a/task.cc", coroutine=True)
        self.assertEqual(self.sources(self.write("main.cc", "a/a.h")), ["a/a.cc"])

    def test_end_where_headers_include_each_other(self):
        self.write("a/x.h", "a/y.h")
        self.write("a/y.h", "a/x.h")
        self.write("a/y.cc", "a/y.h")
        self.assertEqual(self.sources(self.write("main.cc", "a/x.h")), ["a/y.cc"])

    def test_of_the_fuzzers_hold_no_coroutine(self):
        fuzzers = sorted((sources_of.ROOT / "fuzz").glob("*.cc"))
        with_coroutines = [
            str(path) for path in sources_of.sources_of(fuzzers, sources_of.ROOT / "src")
            if "co_await" in path.read_text()
        ]
        self.assertEqual(with_coroutines, [], "clang 14 cannot build these for `make fuzz`")


if __name__ == "__main__":
    unittest.main()
