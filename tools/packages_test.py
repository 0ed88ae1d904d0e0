"""Tests of tools/packages.py's pure parts."""

import unittest

import packages

NINJA = """
build libmuster_cli.a: CXX_STATIC_LIBRARY_LINKER__x a.o
  LINK_LIBRARIES = -lnot_this

build sm sm.debug | ${cmake_ninja_workdir}sm.debug: CXX_EXECUTABLE_LINKER__sm_Release a.o | b.a
  FLAGS = -O2
  LINK_LIBRARIES = libmuster_cli.a  /usr/lib/x86_64-linux-gnu/libssl.a  -lz  -lz  -ldl
"""


class LinkedLibraries(unittest.TestCase):
    def test_are_those_of_sm_once_each_without_our_own(self):
        found = packages.linked_libraries(NINJA)
        self.assertEqual(found, ["-ldl", "-lz", "/usr/lib/x86_64-linux-gnu/libssl.a"])

    def test_of_another_build_are_refused(self):
        with self.assertRaisesRegex(packages.NoPackage, "build/release"):
            packages.linked_libraries("build sm_not: phony\n")


class Tar(unittest.TestCase):
    def test_same_bytes_from_the_same_files(self):
        self.assertEqual(packages.zipped(b"x" * 100), packages.zipped(b"x" * 100))


if __name__ == "__main__":
    unittest.main()
