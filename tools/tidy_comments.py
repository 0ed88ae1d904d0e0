"""Part of tools/tidy.py: comments name their noun, and the sources that they name are there."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator

# A reader comes to a comment from anywhere: what an "it" stands for is not in sight.
NOUNLESS = re.compile(
    r"(Of|The same|It|They|Them|This|These|That|Those|Its|Their|Theirs|Which|Whose"
    r"|He|She|His|Her)\b(?! =)"
)
# Notes that were never part of the repository: what rests on them stands in docs/.
NOTES = re.compile(r"\bFINDINGS\b|\bPROTOCOL\.md\b|\bSTYLE\b|\bDESIGN\b")
SECTION = re.compile(r"(?<!RFC \d{4} )\bsection \d")
SOURCE = re.compile(r"Source: (.*?)(?=\n\n|$)", re.S)
OURS = re.compile(r"(?<![\w/.-])(?:docs|src|tests|tools|bench)/[\w./-]*\w")
DOCS = re.compile(r"(?<![\w/.-])docs/[\w./-]*\w")

Comment = tuple[int, str]  # The line it begins at, and its text without markers.


def comments_of_code(text: str) -> Iterator[Comment]:
    """Whole-line comments that follow each other are one; one behind code stands alone."""
    begin, words = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        whole = re.match(r"\s*//+<?\s?(.*)", line)
        if whole:
            begin = begin or number
            words.append(whole[1].strip())
            continue
        if begin:
            yield begin, "\n".join(words)
            begin, words = 0, []
        behind = re.search(r'^(?:[^"/]|"(?:\\.|[^"\\])*"|/(?!/))*?\s//+<?\s+(.*)$', line)
        if behind:
            yield number, behind[1]
    if begin:
        yield begin, "\n".join(words)


def comments_of_python(text: str) -> Iterator[Comment]:
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        return  # The interpreter says what is wrong.
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            said = ast.get_docstring(node)
            if said is not None:
                yield node.body[0].lineno, said
    last = None  # The whole-line comment before this one: (its line, its column, where it began).
    block: list[str] = []
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        words = token.string.lstrip("#").strip()
        row, column = token.start
        whole = token.line.lstrip().startswith("#")
        if last is not None and whole and last[:2] == (row - 1, column):
            block.append(words)
            last = (row, column, last[2])
            continue
        if last is not None:
            yield last[2], "\n".join(block)
        block, last = [words], (row, column, row) if whole else None
        if not whole:
            yield row, words
    if last is not None:
        yield last[2], "\n".join(block)


def check(path: str, text: str, exists: Callable[[str], bool]) -> list[str]:
    """All findings about the comments of one .cc, .h or .py file."""
    comments = comments_of_python(text) if path.endswith(".py") else comments_of_code(text)
    found = []
    for number, said in sorted(comments):
        where = f"{path}:{number}"
        nounless = NOUNLESS.match(said)
        if nounless:
            found.append(f'{where}: a comment begins with "{nounless[0]}": name its noun')
        note = NOTES.search(said) or SECTION.search(said)
        if note:
            found.append(f"{where}: {note[0]}: name a page in docs/, or an outside source")
        named = set(DOCS.findall(said))
        for source in SOURCE.findall(said):
            named.update(OURS.findall(source))
        for name in sorted(named):
            if not exists(name):
                found.append(f"{where}: there is no {name}")
    return found
