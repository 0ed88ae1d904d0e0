"""What tools/tidy.py finds, and what it lets pass."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import rooms  # noqa: E402
import tidy  # noqa: E402
import tidy_test_names  # noqa: E402

TABLE = rooms.Rooms((pathlib.Path(__file__).parents[1] / "src/rooms.toml").read_text())


def findings(path: str, text: str) -> str:
    return "\n".join(tidy.check_file(path, text.encode(), TABLE))


class TestNames(unittest.TestCase):
    def test_a_name_that_ctest_would_cut_is_found(self):
        cut = 'TEST_CASE("text: this; that") {\n}\n'
        self.assertIn("ends the test's name", findings("src/base/text_test.cc", cut))
        self.assertEqual(findings("src/base/text_test.cc", cut.replace(";", ",")), "")


class Purity(unittest.TestCase):
    def test_a_pure_room_and_a_file_that_says_so_do_no_input_or_output(self):
        self.assertIn("does no I/O", findings("src/job/spec.cc", "#include <unistd.h>\n"))
        self.assertIn("told the time", findings("src/job/spec.cc", "x = Clock::now();\n"))
        header = "#pragma once\n/// Pure: reads no clock.\nx = Clock::now();\n"
        self.assertIn("told the time", findings("src/host/coordinate/liveness.h", header))

    def test_others_may(self):
        self.assertEqual(findings("src/os/supervise/spawn.cc", "#include <unistd.h>\n"), "")
        self.assertEqual(findings("src/job/spec_test.cc", "#include <fstream>\n"), "")


class Bans(unittest.TestCase):
    def test_each_ban_says_what_to_do(self):
        for text, where in (
            ("std::system(x);", "src/base/a.cc"),
            ("getenv(name)", "src/job/a.cc"),
            ("sleep_for(1s);", "src/net/loop/a.cc"),
            ("std::endl", "tests/sim/a.cc"),
            ("using namespace muster;", "src/base/a.cc"),
            ("asio::post(x)", "src/host/coordinate/a.cc"),
        ):
            self.assertRegex(findings(where, text + "\n"), r"^\S+:1: .+: .+$")

    def test_comments_strings_and_the_right_place_pass(self):
        self.assertEqual(findings("src/base/a.cc", "// no system( here\n"), "")
        self.assertEqual(findings("src/base/a.cc", 'say("std::endl");\n'), "")
        self.assertEqual(findings("src/net/loop/a.cc", "#include <boost/asio.hpp>\n"), "")
        self.assertEqual(findings("src/net/loop/a_test.cc", "using namespace muster;\n"), "")
        self.assertEqual(findings("src/job/a.cc", "using namespace std::chrono_literals;\n"), "")
        self.assertEqual(findings("src/main.cc", "getenv(name);\n"), "")


class Shape(unittest.TestCase):
    def test_long_lines_files_and_functions_are_found(self):
        self.assertIn("101 columns", findings("src/base/a.cc", "x" * 101 + "\n"))
        self.assertIn("601 lines", findings("src/base/a.cc", "x\n" * 601))
        self.assertIn(
            "function of 72 lines",
            findings("src/base/a.cc", "int f(int a) {\n" + "  x();\n" * 70 + "}\n"),
        )
        for opening, lines in (
            ("int f(int a) {", 68),
            ("namespace x {", 90),
            ("int f(\n    A a) {", 67),
            ('TEST_CASE("x") {', 90),
            ("int x = 1;\nclass A {", 90),
        ):
            text = opening + "\n" + "  x();\n" * lines + "}\n"
            self.assertEqual(findings("src/base/a.cc", text), "", opening)
            self.assertEqual("function" in findings("src/base/a.cc", "  x();\n" + text), False)

    def test_a_signature_over_three_lines_counts(self):
        text = "Result<int> f(int a,\n              int b,\n              int c) {\n"
        self.assertIn(
            "a.cc:1: function of 74 lines",
            findings("src/base/a.cc", text + "  x();\n" * 70 + "}\n"),
        )

    def test_spaces_tabs_names_and_ends_are_found(self):
        self.assertIn("space at the end", findings("README.md", "x \n"))
        self.assertIn("a tab", findings("tools/x.py", "\tx\n"))
        self.assertIn("no newline", findings("README.md", "x"))
        self.assertIn("snake_case", findings("src/base/BadName.cc", "x\n"))
        self.assertIn("glossary", findings("src/base/utils.h", "#pragma once\n"))
        self.assertIn("#pragma once", findings("src/base/a.h", "int x;\n"))


class Comments(unittest.TestCase):
    def test_a_comment_begins_with_its_noun(self):
        docstring = 'def f():\n    """Of a host."""\n'
        for text in ("# It waits.\n", docstring, "x = 1  # Its width.\n"):
            self.assertIn("name its noun", findings("tests/e2e/a.py", text))

        for text in ("/// The same, later.\n", "int x;  ///< Of a host.\n", "// This one.\n"):
            self.assertIn("name its noun", findings("src/base/a.cc", text))

    def test_a_comment_goes_on_as_it_likes(self):
        self.assertEqual(findings("tests/e2e/a.py", "# The host waits.\n# It has to.\n"), "")
        self.assertEqual(findings("tests/e2e/a.py", 'x = "# It waits."\n'), "")
        self.assertEqual(findings("src/base/a.cc", 'say("// It waits.");\n'), "")
        self.assertEqual(findings("src/base/a.cc", "// A host waits.\n// It has to.\n"), "")

    def test_the_line_is_where_the_comment_begins(self):
        text = "x = 1\n\n# A word.\n\n# They come.\n# All do.\n"
        self.assertRegex(findings("tests/e2e/a.py", text), r'^tests/e2e/a\.py:5: .*"They"')

    def test_sources_are_there_and_no_private_notes(self):
        found = tidy.check_file(
            "src/base/a.cc",
            b"/// X. Source: docs/protocols/api.md; src/gone.cc.\nint x;  // docs/x.md\n",
            TABLE,
            lambda name: name == "docs/protocols/api.md",
        )
        self.assertEqual(
            found,
            ["src/base/a.cc:1: there is no src/gone.cc", "src/base/a.cc:2: there is no docs/x.md"],
        )
        for text in ("FINDINGS 16", "PROTOCOL.md", "as STYLE says", "the DESIGN", "section 3"):
            self.assertIn("outside source", findings("src/base/a.cc", f"// Rules: {text}.\n"), text)
        self.assertEqual(findings("src/base/a.cc", "// As RFC 9110 section 14.2 has it.\n"), "")


class Coroutines(unittest.TestCase):
    def test_what_gcc_12_compiles_wrongly_is_found(self):
        for text, what in (
            ("  co_return TRY(f());\n", "co_return TRY"),
            ("  co_await f({.a = 1});\n", "braced temporary"),
            ("  const int x = co_await f(a,\n      Options{1});\n", "braced temporary"),
            ("  co_await loop::in_thread(loop,\n      [x] { f(x); });\n", "captures twice"),
            ("  tasks.start([x]() -> Task<> { co_return; }());\n", "captures die"),
            ("  f(TRY(g(TRY(h()))));\n", "a TRY in a TRY"),
        ):
            self.assertRegex(findings("src/base/a.cc", text), rf"^src/base/a\.cc:1: .*{what}")

    def test_the_right_forms_pass(self):
        for text in (
            "  co_return value;\n  TRY(f());\n",
            "  co_await f(a, {}, false);\n",
            "  co_await until([this] { return x; });\n",
            "  return loop::in_thread(loop, [x] { f(x); });\n",
            "  tasks.start(body());\n  const int x = f(a) + TRY(b()) + TRY(c());\n",
            '  say("co_return TRY(x)");  // co_return TRY(x)\n',
        ):
            self.assertEqual(findings("src/base/a.cc", text), "", text)


class Commands(unittest.TestCase):
    FOUND = (
        'Command command{.argv = {"a"}, .env = env, .cwd = {}};',
        'const Command command{.argv = {"a"}, .env = env};',
        'Command command{{"a", "b"}, env, ""};',
        "Command command;\n  command.argv = words;",
        "return Command{words, env, folder};",
    )
    PASS = (
        'Command command{.argv = {"a"},\n  .env = env,\n  .cwd = "/"};',
        'Command command{{"a", "b"}, env, "/"};',
        'Command command;\n  command.argv = words;\n  command.cwd = std::string("/");',
        "Command command = with_env(words);",
    )

    def test_a_program_that_starts_in_its_callers_folder_is_found(self):
        for text in self.FOUND:
            self.assertIn('.cwd = "/"', findings("src/machine/a.cc", f"  {text}\n"), text)
            for hosts_own in ("src/host/code/a.cc", "src/machine/a_test.cc"):
                self.assertEqual(findings(hosts_own, f"  {text}\n"), "", text)
        for text in self.PASS:
            self.assertEqual(findings("src/machine/a.cc", f"  {text}\n"), "", text)

    def test_python_that_imports_from_its_callers_folder_is_found(self):
        for text in ('f({python, "-c", text});', "f(Imports::of_program);"):
            self.assertIn("-I", findings("src/cli/a.cc", f"  {text}\n"), text)
        isolated = 'f({python, "-I", "-c", text}, Imports::isolated);'
        self.assertEqual(findings("src/cli/a.cc", f"  {isolated}\n"), "")


class TestsThatDocsName(unittest.TestCase):
    TESTS = tidy_test_names.Tests(
        {
            "src/base/text_test.cc": tidy_test_names.cases_of(
                'TEST_CASE(\n    "text: one line, "\n    "not two") {\n'
                'TEST_CASE_FIXTURE(Bench, "text: a user\'s \\"word\\"") {\n'
            ),
            "tests/e2e/test_lines.py": tidy_test_names.cases_of(
                "def test_a_users_line_is_whole(lab):\nclass A:\n    def test_short(self):\n"
            ),
            "fuzz/text.cc": [],
        }
    )

    def findings(self, text: str, page: str = "docs/security.md") -> str:
        return "\n".join(tidy_test_names.check(page, text, self.TESTS))

    def test_names_of_functions_files_and_cases_are_found(self):
        for name in (
            "`test_short`, `test_a_users_*`",
            "`text_test.cc`, src/base/text_test.cc, text_test, `fuzz/text.cc`",
            '`text_test.cc`: "one line, not two", "a user\'s "',
            'text_test.cc (on Linux): "one … two"; `test_lines.py`: "a user\'s line"',
            "`tests/e2e/test_*.py`, `*_test.cc`, `test_NAME.py`, `contest_test_x`",
            "```sh\nbuild/gone_test\n```\n\n    build/gone_test",
        ):
            self.assertEqual(self.findings(name), "", name)

    def test_names_of_no_test_are_findings_with_their_line(self):
        for name, finding in (
            ("a\n\n`test_gone`", "docs/security.md:3: there is no test test_gone"),
            ("`gone_test.cc`", "there is no test gone_test.cc"),
            ("`e2e/gone/test_lines.py`", "there is no test e2e/gone/test_lines.py"),
            ("`test_gone_*`", "there is no test test_gone_*"),
            ("fuzz/gone.cc", "there is no test fuzz/gone.cc"),
            ('`text_test.cc`: "one line", "gone"', 'text_test.cc has no test case "gone"'),
            ('`test_lines.py`: "whole … user"', 'no test case "whole … user"'),
            ('`test_short`: "a line"', 'test_short has no test case "a line"'),
            ("`…line_is_whole`", "`…line_is_whole`: write a test's name in full"),
            ("`a_users_line…`", "`a_users_line…`: write a test's name in full"),
        ):
            self.assertIn(finding, self.findings(name), name)

    def test_only_security_md_needs_full_names_and_other_projects_tests_are_not_ours(self):
        self.assertEqual(self.findings("`…NativeStacks`", "docs/protocols/stacks.md"), "")
        self.assertEqual(self.findings("`test_gone`", "docs/protocols/s3.md"), "")


if __name__ == "__main__":
    unittest.main()
