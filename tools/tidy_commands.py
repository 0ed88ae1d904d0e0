"""Part of tools/tidy.py: programs that muster runs outside of a host start in /, Python with -I.

A program that starts in the folder of whoever calls `sm` can load files from there: Python imports
modules, others read settings. Only a host's own programs get a person's folder and PYTHONPATH.
"""

import re

# What runs in hosts; everything else runs outside. What decides for hosts there is in IN_HOSTS.
IN_HOST = ("src/host/", "src/job/", "src/command/", "src/base/", "src/net/loop/")
IN_HOSTS = {
    "src/container/bundle/bundle.cc": "a host's first process, and its folder",
    "src/os/supervise/programs.cc": "the caller's command",
}
# `Command name{...}`, `Command name;` and `return Command{...}`; copies and results are others'.
MADE = re.compile(r"\b(?:const )?Command (\w+)?\s*(\{|;)|\bCommand\{")
SLASH = r'(?:std::string\()?"/"\)?'
FOLLOWING_LINES = 12
PYTHON = re.compile(r"\bpython\w*\"?,\s*\"-[cm]\"")
IN_SLASH = 'a program outside of a host runs in its caller\'s folder: .cwd = "/"'
OF_PROGRAM = re.compile(r"\bImports::of_program\b")
ISOLATED = "Python outside of a host imports from its caller's folder: -I before -c"


def closing(text: str, at: int) -> int:
    """Where the brace at `at` is closed."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def runs_in_slash(text: str, match: re.Match) -> bool:
    name, end = match[1], match.end()
    if text[end - 1] == "{":
        end = closing(text, end - 1)
        made = text[match.start() : end]
        if re.search(rf'\.cwd = {SLASH}|,\s*"/",?\s*$', made):
            return True
    after = "\n".join(text[end:].split("\n")[:FOLLOWING_LINES])
    return bool(name and re.search(rf"\b{name}\.cwd = {SLASH}", after))


def check(path: str, text: str) -> list[str]:
    """All findings about one .cc or .h file."""
    if not path.startswith("src/") or path.startswith(IN_HOST):
        return []
    if path in IN_HOSTS or "_test." in path:
        return []
    found = []
    for match in MADE.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        declared = match[2] == ";" and path.endswith(".h")  # A member, filled in by others.
        if "//" not in line and not declared and not runs_in_slash(text, match):
            found.append((match.start(), IN_SLASH))
    found += [(match.start(), ISOLATED) for match in PYTHON.finditer(text)]
    found += [(match.start(), ISOLATED) for match in OF_PROGRAM.finditer(text)]
    return [f"{path}:{text.count(chr(10), 0, at) + 1}: {what}" for at, what in sorted(found)]
