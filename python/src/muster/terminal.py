"""Makes text of a job safe for a terminal, like visible_line() in src/base/terminal.h."""

import re

# Control characters except tab, C1 controls, line separators, bidirectional controls, surrogates.
_ORDERS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _written_out(found):
    code = ord(found.group())
    return ("\\x%02x" if code < 0x80 else "\\u%04x") % code


def visible_line(text):
    """Returns `text` on one line, with control characters escaped."""
    return _ORDERS.sub(_written_out, text)


def visible(text):
    """Applies visible_line() to each line and indents the lines after the first."""
    return "\n    ".join(visible_line(line) for line in text.split("\n"))


def is_terminal(file):
    """Whether `file` is a terminal."""
    return getattr(file, "isatty", lambda: False)()
