"""What tools/release.py takes for a version, its notes and its tag."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import release  # noqa: E402

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- New.

## [0.2.0] - 2027-01-31

### Fixed

- Old.

## [0.1.0] - 2026-12-01

- First.
"""


class Release(unittest.TestCase):
    def test_the_version_is_cmakes(self):
        cmake = "# Words.\nproject(muster VERSION 0.2.0 LANGUAGES CXX)\n"
        self.assertEqual(release.version_in(cmake), "0.2.0")
        with self.assertRaises(release.NoRelease):
            release.version_in("project(other VERSION 1)\n")

    def test_notes_are_the_versions_section(self):
        self.assertEqual(release.notes(CHANGELOG, "0.2.0", "v0.2.0"), "### Fixed\n\n- Old.")
        self.assertEqual(release.notes(CHANGELOG, "0.1.0", None), "- First.")
        self.assertEqual(release.notes(CHANGELOG, "0.3.0", None), "### Added\n\n- New.")

    def test_a_tag_that_is_another_version_or_has_no_section_is_refused(self):
        for version, tag in (("0.2.0", "v0.1.0"), ("0.2.0", "0.2.0"), ("0.3.0", "v0.3.0")):
            with self.assertRaises(release.NoRelease, msg=f"{version} {tag}"):
                release.notes(CHANGELOG, version, tag)

    def test_a_version_has_one_section_with_a_date(self):
        for text in ("## [1.0.0]\n- x\n", "## [Unreleased] - 2027-01-01\n", CHANGELOG + CHANGELOG):
            with self.assertRaises(release.NoRelease):
                release.sections_of(text)

    def test_this_repositorys_files_agree_on_the_version_and_its_date(self):
        version = release.version_in((release.ROOT / "CMakeLists.txt").read_text())
        changelog = (release.ROOT / "CHANGELOG.md").read_text()
        self.assertIn(version, release.sections_of(changelog))
        citation = (release.ROOT / "CITATION.cff").read_text()
        self.assertIn(f"\nversion: {version}\n", citation)
        date = re.search(r"^date-released: (\S+)$", citation, re.M)[1]
        self.assertIn(f"\n## [{version}] - {date}\n", changelog)


if __name__ == "__main__":
    unittest.main()
