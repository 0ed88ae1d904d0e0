"""tools/clang_tidy.py: the files it chooses, in whole and shallow clones, and those it knows."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import clang_tidy  # noqa: E402


class Chosen(unittest.TestCase):
    def test_a_header_means_its_own_source_and_each_comes_once(self):
        names = ["/r/b.h", "/r/a.cc", "/r/b.cc", "/r/only.h", "/r/README.md"]
        compiled = ["/r/a.cc", "/r/b.cc", "/r/c.cc"]
        self.assertEqual(clang_tidy.chosen(names, compiled), ["/r/b.cc", "/r/a.cc"])


class Key(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(self.root)

    def write(self, root: pathlib.Path) -> None:
        root.mkdir(exist_ok=True)
        (root / "a.cc").write_text(f'#include "{root}/b.h"\n')
        (root / "b.h").write_text("int b();\n")

    def key(self, root: pathlib.Path, words: str = "-Wall", common: str = "rules") -> str | None:
        clang_tidy.digest_of.cache_clear()
        command = f"g++ {words} -o a.o -c {root}/a.cc"
        entry = {"directory": str(root), "command": command, "file": f"{root}/a.cc"}
        return clang_tidy.key_of(entry, str(root), common)

    def test_a_change_of_what_is_included_or_how_it_is_compiled_or_checked_counts(self):
        before = self.key(self.root)
        self.assertEqual(self.key(self.root), before)
        self.assertNotEqual(self.key(self.root, words="-Wextra"), before)
        self.assertNotEqual(self.key(self.root, common="other rules"), before)
        (self.root / "b.h").write_text("int b(int);\n")
        self.assertNotEqual(self.key(self.root), before)
        self.assertFalse((self.root / "a.o").exists())

    def test_another_clone_has_the_same_key(self):
        other = self.root / "clone"
        self.write(other)
        self.assertEqual(self.key(other), self.key(self.root))

    def test_a_file_that_does_not_compile_has_none(self):
        (self.root / "b.h").unlink()
        self.assertIsNone(self.key(self.root))


class Touched(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "whole"
        self.root.mkdir()
        self.git("init", "-q", ".")
        for name in ("first.cc", "second.cc", "third.cc"):
            (self.root / name).write_text(name)
            self.git("add", "-A")
            who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            self.git(*who, "commit", "-q", "-m", name)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True)

    def clone(self, depth: int) -> str:
        place = f"{self.folder.name}/{depth}"
        argv = ["git", "clone", "-q", f"--depth={depth}", f"file://{self.root}", place]
        subprocess.run(argv, check=True)
        return place

    def test_newest_first_without_the_oldest_commit(self):
        names = clang_tidy.touched_names(str(self.root))
        self.assertEqual(names, ["third.cc", "second.cc"])

    def test_what_is_not_committed_comes_first(self):
        (self.root / "first.cc").write_text("more")
        names = clang_tidy.touched_names(str(self.root))
        self.assertEqual(names, ["first.cc", "third.cc", "second.cc"])

    def test_a_shallow_clone_has_fewer_files_not_all(self):
        self.assertEqual(clang_tidy.touched_names(self.clone(2)), ["third.cc"])
        self.assertEqual(clang_tidy.touched_names(self.clone(1)), [])

    def test_no_checkout_has_none(self):
        self.assertEqual(clang_tidy.touched_names("/"), [])


if __name__ == "__main__":
    unittest.main()
