"""tools/prose.py: which texts it reads, what it finds in them, and what is a hint only."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import prose  # noqa: E402


def remarks(**files: str) -> list[str]:
    """What is said of these files; a name is a path, with _ for / and __ for a dot."""
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), files)
        return [str(each) for each in prose.remarks(pathlib.Path(folder))]


def write(root: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name.replace("__", ".").replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Hard(unittest.TestCase):
    def test_words_of_the_list_are_found_with_their_line(self):
        page = "# Page\n\nThe first line\nis told to\nnobody.\n"
        self.assertEqual(
            remarks(docs_users_a__md=page),
            [
                'docs/users/a.md:4: "told" in "The first line is told to nobody."',
                'docs/users/a.md:5: "nobody" in "The first line is told to nobody."',
            ],
        )

    def test_a_phrase_is_found_across_a_line_break(self):
        found = remarks(README__md="The file is\nno archive.\n")
        self.assertEqual(found, ['README.md:1: "is no" in "The file is no archive."'])

    def test_good_english_with_the_same_words_is_none(self):
        page = "There is no space left. The key is no longer valid. It is not nobody's.\n"
        self.assertEqual(len(remarks(README__md=page)), 1)
        self.assertEqual(remarks(README__md="Recommend understanding the standby.\n"), [])

    def test_code_and_link_targets_are_not_read(self):
        page = "See `nobody` and [it](told.md#stands).\n\n```text\nnobody came\n```\n"
        self.assertEqual(remarks(docs_users_a__md=page), [])

    def test_errors_and_help_are_read(self):
        error = 'int a;\nauto e = fail(Errc::denied, "nobody " + "came");\n'
        self.assertEqual(
            remarks(src_base_x__cc=error), ['src/base/x.cc:2: "nobody" in "nobody came"']
        )
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "src/command/table_x.cc"
            table.parent.mkdir(parents=True)
            table.write_text(
                '// nobody reads "this or that"\n'
                'f("--a", "N", "what is "\n  "told", "sm nobody x");'
            )
            found = [str(each) for each in prose.remarks(pathlib.Path(folder))]
        self.assertEqual(found, ['src/command/table_x.cc:2: "told" in "what is told"'])

    def test_a_message_starts_in_lower_case_unless_its_first_word_is_a_name(self):
        for text, found in (
            ("No space left: 3 MiB", True),
            ("A job is running", True),
            ("The disk's state is unknown.", True),
            ("no space left", False),
            ("Slurm does not respond", False),
            ("Slurm's sbatch failed", False),
            ("GPU 3 is in use", False),
            ("TrainingJobName is missing", False),
            ("HTTP/1.0 is unsupported", False),
            ("WWW-Authenticate: too long", False),
            ("Muster.Spares: expected 0", False),
            ("Expecting 's3' scheme, got: file", False),
        ):
            remark = "a message starts in lower case, except for names: " + text
            source = f'fail(Errc::denied, "{text}");\n'
            want = [f"src/cli/x.cc:1: {remark}"] if found else []
            hard = [each for each in remarks(src_cli_x__cc=source) if "hint: " not in each]
            self.assertEqual(hard, want, text)
        self.assertEqual(remarks(README__md="A sentence of a page.\n"), [])

    def test_a_refusal_in_place_of_aws_may_be_a_sentence(self):
        for text, count in (("The key was deleted.", 0), ("The key was deleted", 1)):
            for path in ("src_server_x__cc", "src_aws_x__cc"):
                source = f'fail(Errc::denied, "{text}");\n'
                self.assertEqual(len(remarks(**{path: source})), count, text)

    def test_help_of_a_flag_starts_in_lower_case_too(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "src/command/table_x.cc"
            table.parent.mkdir(parents=True)
            table.write_text('{"--a", "N", "Number of hosts"}, {"--b", "N", "CPU limit per host"}')
            found = [str(each) for each in prose.remarks(pathlib.Path(folder))]
        self.assertEqual(len(found), 1)
        self.assertIn("except for names: Number of hosts", found[0])


class Hints(unittest.TestCase):
    def test_long_sentences_are_hints_and_short_ones_in_a_row_are_not(self):
        long = "One " + "word and " * 16 + "end."
        found = remarks(README__md=long + "\n")
        self.assertEqual(len(found), 1)
        self.assertIn("README.md:1: hint: 34 words: One word and", found[0])
        self.assertEqual(remarks(README__md="Six words are in this one. " * 20), [])
        self.assertEqual(remarks(README__md="- six words are in this item\n" * 20), [])

    def test_help_over_two_lines_and_a_full_stop_are_hints(self):
        long = "help " * 25
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "src/command/table_x.cc"
            table.parent.mkdir(parents=True)
            table.write_text(f'{{"--a", "N", "{long}"}}, {{.about = "{long}"}}')
            found = [str(each) for each in prose.remarks(pathlib.Path(folder))]
        self.assertEqual(len(found), 1)
        self.assertIn("hint: help of 125 characters, at most 96", found[0])
        error = 'fail(Errc::denied, "the file is gone.");'
        self.assertIn("full stop", remarks(src_base_x__cc=error)[0])

    def test_only_the_hard_list_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, code in (("It works by itself.\n", 0), ("Nobody came.\n", 1)):
                write(pathlib.Path(folder), {"README__md": text})
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    self.assertEqual(prose.main([folder]), code)
                self.assertIn(f"prose: {code} findings, {1 - code} hints", said.getvalue())


class Draw(unittest.TestCase):
    def test_the_same_seed_draws_the_same_sentences_none_from_a_code_block(self):
        pages = {
            "docs_users_a__md": "# Page\nThis one is directly under its heading.\n\n"
            "One whole sentence of [six words](b.md#c). Short one.\n\n"
            "```text\nNot this line of a block.\n```\n\n- Another sentence of the same page.\n",
            "docs_decisions_b__md": "Here is a sentence about a decision. "
            "pip needs one, e.g. this one. (It has five words here.)\n\n"
            "**Bold.** A label belongs to it.\n\n"
            "- **One bold sentence of ten words or more is drawn alone.** "
            "A second sentence follows here.\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder), pages)
            first = prose.draw(pathlib.Path(folder), 60, 7)
            self.assertEqual(first, prose.draw(pathlib.Path(folder), 60, 7))
        self.assertEqual(
            sorted(first),
            [
                "(It has five words here.)",
                "**Bold.** A label belongs to it.",
                "- **One bold sentence of ten words or more is drawn alone.**",
                "- Another sentence of the same page.",
                "A second sentence follows here.",
                "Here is a sentence about a decision.",
                "One whole sentence of six words.",
                "This one is directly under its heading.",
                "pip needs one, e.g. this one.",
            ],
        )

    def test_choices_and_usage_lines_are_not_drawn(self):
        table = (
            'f("--a", "N", "one help text of six words", "", false, "a b c d e f");\n'
            'g("--b FILE [--c N] [--d | --e]");\n'
        )
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "src/command/table_x.cc"
            path.parent.mkdir(parents=True)
            path.write_text(table)
            drawn = prose.draw(pathlib.Path(folder), 60, 1)
        self.assertEqual(drawn, ["one help text of six words"])


if __name__ == "__main__":
    unittest.main()
