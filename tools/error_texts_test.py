"""tools/error_texts.py: which texts the calls that make errors may say."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import error_texts  # noqa: E402


def texts(code: str, path: str = "src/base/x.cc") -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True)
        file.write_text(code)
        return [each.text for each in error_texts.error_texts(pathlib.Path(folder))]


class ErrorTexts(unittest.TestCase):
    def test_what_is_no_literal_is_a_gap(self):
        self.assertEqual(
            texts('return fail(Errc::denied, name + ": \\"" + utf8(x, 2) + "\\" is " "no key");'),
            ['…: "…" is no key'],
        )
        self.assertEqual(texts('fail(Errc::denied, std::string("no ") + (name));'), ["no …"])
        self.assertEqual(texts("return fail(Errc::denied, text);"), [])

    def test_each_branch_is_a_text(self):
        self.assertEqual(
            texts('fail(Errc::denied, "it is " + (is_old ? "old" : "new") + ", " + why);'),
            ["it is old, …", "it is new, …"],
        )

    def test_how_a_maker_joins_its_arguments(self):
        self.assertEqual(texts('fail_errno("open " + path);'), ["open …: Input/output error"])
        self.assertEqual(texts('return aws::Refusal{"NotThere", "No " + x};'), ["NotThere: No …"])
        self.assertEqual(texts('return {"ValidationException", "No " + x};'), ["No …"])
        self.assertEqual(
            texts('expected_key("images", "an object");', "src/server/jobs/job_config.cc"),
            ["jobs.images: expected an object"],
        )
        self.assertEqual(texts('expected("images", "x");'), ["images: expected x"])
        self.assertEqual(
            texts('expected("x");', "src/job/training/python_json.cc"),
            ["line …, column …: expected x"],
        )

    def test_a_maker_whose_texts_are_not_of_muster(self):
        self.assertEqual(texts('invalid("x");'), ["x"])
        self.assertEqual(texts('invalid("x");', "src/server/cloudformation/a.cc"), [])

    def test_comments_and_tests_make_no_error(self):
        self.assertEqual(texts('// fail(Errc::denied, "x");\nint a = 1;'), [])
        self.assertEqual(texts('fail(Errc::denied, "x");', "src/base/x_test.cc"), [])


if __name__ == "__main__":
    unittest.main()
