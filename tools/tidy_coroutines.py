"""Part of tools/tidy.py: what GCC 12 compiles wrongly in coroutines, as far as text shows it.

docs/decisions/0001-boost-asio.md has the traps; tools/coroutine_traps_test.py shows each of them.
"""

import re

# (how a statement looks, say instead)
TRAPS = [
    (
        re.compile(r"\bco_return\b[^;]*\bTRY\("),
        "co_return TRY: GCC 12 fails on it: if (!r) co_return r.error();",
    ),
    (
        re.compile(r"\bco_await\b[^;]*?[(,]\s*[A-Za-z_:]*\{\s*[^\s}]"),
        "a braced temporary in co_await: GCC 12 destroys it twice: give it a name before",
    ),
    (
        re.compile(r"\bco_await\b[^;{}]*\bin_thread\([^;{}]*\[[^\]]"),
        "a lambda in co_await: GCC 12 destroys its captures twice: give it a name before",
    ),
    (
        re.compile(r"\bstart\(\s*\[[^\]]+\]"),
        "a started lambda's captures die before its coroutine: name the lambda, or pass parameters",
    ),
]
# The one file that is full of traps.
SHOWN_IN = "tests/coroutine_traps.cc"
LOOPED = "a while that awaits in its condition: GCC 12 may never run it: const bool more = ...;"
NESTED = "a TRY in a TRY: -Wshadow, and nobody sees which fails: two lines"


def blank(text: str) -> str:
    """The text with comments and strings emptied; lines and columns stay."""

    def spaces(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    quoted = r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])'|//[^\n]*"
    return re.sub(quoted, spaces, text)


def inside(text: str, opening: str, what: str) -> list[int]:
    """Where `opening`, which ends in a parenthesis, has `what` before the one that closes it."""
    found = []
    for match in re.finditer(opening, text):
        depth, at = 1, match.end()
        while at < len(text) and depth > 0:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if re.search(what, text[match.end() : at]):
            found.append(match.start())
    return found


def check(path: str, text: str) -> list[str]:
    """All findings about one .cc or .h file."""
    if path == SHOWN_IN:
        return []
    code = blank(text)
    found = [(at, NESTED) for at in inside(code, r"\bTRY\(", r"\bTRY\(")]
    found += [(at, LOOPED) for at in inside(code, r"\bwhile \(", r"\bco_await\b")]
    for pattern, instead in TRAPS:
        found += [(match.start(), instead) for match in pattern.finditer(code)]
    return [f"{path}:{code.count(chr(10), 0, at) + 1}: {what}" for at, what in sorted(found)]
