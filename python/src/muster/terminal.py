"""Text of a job as a person may be shown it: as src/base/terminal.h's visible_line()."""

import re

# Controls but the tab, C1 controls, line separators, bidirectional controls, halves of surrogates.
_ORDERS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _written_out(found):
    code = ord(found.group())
    return ("\\x%02x" if code < 0x80 else "\\u%04x") % code


def visible_line(text):
    """`text` with what would order a terminal about written out, on one line."""
    return _ORDERS.sub(_written_out, text)


def visible(text):
    """A text of several lines, each as of visible_line(), those after the first indented."""
    return "\n    ".join(visible_line(line) for line in text.split("\n"))


def is_terminal(file):
    """Whether a person reads what is written to `file`."""
    return getattr(file, "isatty", lambda: False)()
