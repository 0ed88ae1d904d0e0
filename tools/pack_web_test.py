"""Tests of tools/pack_web.py: what is packed, and that its modules find each other."""

import gzip
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import pack_web  # noqa: E402

WEB = pathlib.Path(__file__).parent.parent / "web"
IMPORT = re.compile(rb'\b(?:from|import) ?"(\.[^"]+)"')


def unpacked(web: pathlib.Path) -> dict[str, bytes]:
    """The files as TABLE and BYTES have them."""
    data, table = pack_web.pack(web)
    rows = re.findall(r'\{"([^"]+)", "[^"]+", (\d+), (\d+)\}', table)
    return {name: gzip.decompress(data[int(at) : int(at) + int(size)]) for name, at, size in rows}


class PackTest(unittest.TestCase):
    def pack(self, files: dict[str, str]) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            web = pathlib.Path(folder)
            for name, text in {"index.html": "<p>{files}", **files}.items():
                (web / name).parent.mkdir(exist_ok=True)
                (web / name).write_text(text)
            return unpacked(web)

    def test_tests_settings_and_notes_are_not_packed(self):
        packed = self.pack({
            "app/a.js": "1", "app/a_test.js": "2", "setup_test.js": "3", "package.json": "{}",
            ".oxlintrc.json": "{}", "README.md": "", "app/style.css": "4", "app/test.js": "5",
        })  # fmt: skip
        self.assertEqual(set(packed), {"index.html", "app/a.js", "app/style.css", "app/test.js"})

    def test_a_test_changes_no_name_that_browsers_keep_files_by(self):
        plain = self.pack({"app/a.js": "1"})
        self.assertEqual(self.pack({"app/a.js": "1", "app/a_test.js": "2"}), plain)
        self.assertNotEqual(self.pack({"app/a.js": "2"})["index.html"], plain["index.html"])

    def test_vendored_names_become_paths_and_globals_exports(self):
        packed = self.pack({"vendor/hooks.mjs": 'import{x}from"preact";', "vendor/uplot.mjs": "u"})
        self.assertEqual(packed["vendor/hooks.mjs"], b'import{x}from"./preact.mjs";')
        self.assertTrue(packed["vendor/uplot.mjs"].endswith(b"export default uPlot;\n"))

    def test_comments_leave_empty_lines_and_indents_nothing(self):
        cases = [
            ("// a\nf();\n  // b\n", "\nf();\n\n"),
            ("/** a\n * b */\nf();", "\n\nf();"),
            ("/* a */\n/* b */\nf();", "\n\nf();"),
            ("f(); // a", "f(); // a"),
            ("/* a */ f(); /* b */", "/* a */ f(); /* b */"),
            ("f(\n  1,\n\t2  );", "f(\n1,\n2  );"),
            ("/* a */ f();\n/* b */\n", "/* a */ f();\n\n"),
            ('f("// a", `/* b */`);', 'f("// a", `/* b */`);'),
        ]
        for text, want in cases:
            self.assertEqual(self.pack({"app/a.js": text})["app/a.js"], want.encode(), text)
        kept = "// a\n  b"
        self.assertEqual(self.pack({"vendor/a.mjs": kept})["vendor/a.mjs"], kept.encode())

    def test_a_line_of_the_page_keeps_its_number(self):
        for name, content in unpacked(WEB).items():
            if name.startswith("vendor/") or not name.endswith(("js", "css")):
                continue
            lines = content.split(b"\n")
            source = (WEB / name).read_bytes().split(b"\n")
            self.assertEqual(len(lines), len(source), name)
            for line, written in zip(lines, source, strict=True):
                self.assertIn(line, (written.lstrip(), b""), name)

    def test_every_import_of_the_page_leads_to_a_packed_file(self):
        packed = unpacked(WEB)
        imports = 0
        for name, content in packed.items():
            if not name.endswith(("js", "mjs")):
                continue
            for target in IMPORT.findall(content):
                path = (WEB / name).parent / target.decode()
                found = path.resolve().relative_to(WEB.resolve()).as_posix()
                self.assertIn(found, set(packed), f"{name} imports {target.decode()}")
                imports += 1
        self.assertGreater(imports, 40)


if __name__ == "__main__":
    unittest.main()
