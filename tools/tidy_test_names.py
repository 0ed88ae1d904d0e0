"""Part of tools/tidy.py: every test that a page of docs names exists.

A page names a test function in full, or with a * for several, or a file of tests. Text in quotes
that follows a file and a colon is part of the name of a test case in the file, such as
`queue_test.cc`: "no job waits forever".
"""

import dataclasses
import fnmatch
import pathlib
import re

# The tests that these pages name are those of another project.
OF_OTHERS = {"docs/protocols/s3.md": "ceph's s3-tests"}
# The page whose rows have to name their tests so that a reader finds them.
IN_FULL = "docs/security.md"

NAME = re.compile(
    r"(?<![\w/.*…-])((?:[a-z0-9_]+/)*(?:test_[a-z0-9_*]+|[a-z0-9_]+_test)(?:\.(?:py|cc))?"
    r"|fuzz/[a-z0-9_]+\.cc)(?![\w*/]|\.\w)"
)
QUOTED = re.compile(r'"([^"]*)"')
QUOTES = re.compile(r'`?(?: \([^)]*\))?: ("[^"]*"(?:(?:, | and )"[^"]*")*)')
SHORTENED = re.compile(r"`(?:(?:…|\.\.\.)\w+…?|\w+…)`")
FENCED = re.compile(r"(?ms)^\s*```.*?^\s*```")
INDENTED = re.compile(r"(?m)^    .*$")
CASE = re.compile(
    r'^TEST_CASE(?:_FIXTURE)?\(\s*(?:\w+,\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)'
    r"|^ *(?:async )?def (test_\w+)",
    re.M,
)


@dataclasses.dataclass(frozen=True)
class Tests:
    """The cases of each file of tests, by its path."""

    by_file: dict[str, list[str]]

    def of(self, name: str) -> list[str] | None:
        """The cases of all files of this name or path, which may lack its ending."""
        files = [
            path
            for path in self.by_file
            if f"/{path}".endswith(f"/{name}") or pathlib.PurePath(path).stem == name
        ]
        return [case for path in files for case in self.by_file[path]] if files else None

    def exists(self, name: str) -> bool:
        if self.of(name) is not None:
            return True
        if "*" in name:
            files = list(self.by_file)
            return bool(fnmatch.filter(self.functions(), name) or fnmatch.filter(files, name))
        return name in self.functions()

    def functions(self) -> list[str]:
        return [case for cases in self.by_file.values() for case in cases]


def cases_of(text: str) -> list[str]:
    found = []
    for literals, function in CASE.findall(text):
        found.append(function or "".join(QUOTED.findall(literals.replace('\\"', "'"))))
    return found


def read(root: pathlib.Path, paths: list[pathlib.Path]) -> Tests:
    by_file = {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        if re.search(r"(^|/)test_\w+\.py$|_test\.(py|cc)$|^fuzz/\w+\.cc$", name):
            by_file[name] = cases_of(path.read_text())
    return Tests(by_file)


def words_of(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower().replace("'", "").replace("’", "")).strip()


def is_case(quoted: str, cases: list[str]) -> bool:
    """A … of `quoted` leaves words out."""
    pattern = ".*".join(words_of(part) for part in quoted.split("…"))
    return any(re.search(pattern, words_of(case)) for case in cases)


def check(path: str, text: str, tests: Tests) -> list[str]:
    """All findings about one page of docs."""
    if path in OF_OTHERS:
        return []
    without_code = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    found = []
    for number, line in enumerate(INDENTED.sub("", without_code).splitlines(), 1):
        where = f"{path}:{number}"
        for name in NAME.finditer(line):
            if not tests.exists(name[1]):
                found.append(f"{where}: there is no test {name[1]}")
                continue
            quotes = QUOTES.match(line, name.end())
            for quoted in QUOTED.findall(quotes[1]) if quotes else ():
                if not is_case(quoted, tests.of(name[1]) or []):
                    found.append(f'{where}: {name[1]} has no test case "{quoted}"')
        for short in SHORTENED.findall(line) if path == IN_FULL else ():
            found.append(f"{where}: {short}: write a test's name in full")
    return found
