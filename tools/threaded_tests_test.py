"""The unit tests that tools/threaded_tests.py takes for those with threads."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import threaded_tests  # noqa: E402


class Threaded(unittest.TestCase):
    def test_a_test_has_threads_by_itself_or_by_what_it_includes(self):
        texts = {
            "loop/worker": "std::thread thread;",
            "base/text": "int x;",
            "loop/own_test": "std::jthread other;",
            "s3/packing_test": '#include "loop/worker.h"\n',
            "code/copy_test": '#include "loop/worker.h"\n',
            "s3/sign_test": '#include "base/text.h"\n// std::thread_local words\n',
        }
        self.assertEqual(
            threaded_tests.threaded(texts),
            {"loop": ["own_test.cc"], "s3": ["packing_test.cc"]},
        )

    def test_this_repository_has_some(self):
        texts = threaded_tests.texts_of(threaded_tests.ROOT / "src")
        self.assertIn("loop", threaded_tests.threaded(texts))


if __name__ == "__main__":
    unittest.main()
