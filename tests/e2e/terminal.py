"""Commands on a terminal of their own, and what must never come out of one."""

import os
import pty
import re
import select
import subprocess
import time

from process import die_with_parent

GUARD_SECONDS = 120.0

# Control characters but tab and newline, C1 controls, line separators, bidirectional controls, and
# bytes that are no UTF-8 (as surrogateescape has them).
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff]"
)
OWN_PROGRESS = re.compile(r"\r([^\r\n\x1b]*)\x1b\[K")  # Uploads: one line, written over.
OWN_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# What bytes of users could do to a reader's terminal.
ORDERS = {
    "moves the cursor up": b"\x1b[1A\x1b[2K",
    "clears the screen": b"\x1b[H\x1b[2J",
    "sets the title": b"\x1b]0;owned\x07",
    "writes the clipboard": b"\x1b]52;c;cm0gLXJmIC8=\x07",
    "makes a link": b"\x1b]8;;http://evil/\x1b\\here\x1b]8;;\x1b\\",
    "asks for the terminal's answer": b"\x1b[c\x1b[6n",
    "a device control string": b"\x1bP$q\"p\x1b\\",
    "resets the terminal": b"\x1bc",
    "another screen": b"\x1b[?1049h",
    "colour of muster's own": b"\x1b[31m",
    "C1 as raw bytes": b"\x9b2J\x9d0;owned\x9c",
    "C1 as UTF-8": "\x9b2J\x9d0;owned\x9c".encode(),
    "overwrites by a return": b"50%\ralgo-9 muster: error: x",
    "overwrites by backspaces": b"\b" * 40 + b"algo-9",
    "rubs out": b"\x7f\x7f",
    "vertical tab and form feed": b"\x0b\x0c",
    "another character set": b"\x0e\x1b(0\x0f",
    "rings and NUL": b"\x07\x00",
    "a bidirectional override": "\u202egnihtyreve\u202c".encode(),
    "a bidirectional isolate": "\u2067x\u2069".encode(),
    "a line separator": "\u2028sm fit: fine\u2029".encode(),
    "no UTF-8": b"\xff\xfe\xc3(\xed\xa0\x80",
    "overlong escape": b"\xc0\x9b[2J",
}


class Shown:
    """What a command wrote on its terminal (both streams), and its exit code."""

    def __init__(self, code: int, output: bytes):
        self.code = code
        self.bytes = output.replace(b"\r\n", b"\n")  # The line discipline's doing.
        self.text = OWN_PROGRESS.sub(r"\1\n", self.bytes.decode(errors="surrogateescape"))
        self.lines = self.text.split("\n")


def on_terminal(argv: list, env: dict | None = None, cwd=None) -> Shown:
    """Runs `argv` with a terminal as standard output and error, to its end."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [os.fsencode(word) if isinstance(word, str) else word for word in map(_word, argv)],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=die_with_parent,
        )
    finally:
        os.close(theirs)
    output, deadline = b"", time.monotonic() + GUARD_SECONDS
    try:
        while True:
            left = deadline - time.monotonic()
            assert left > 0, f"still running: {argv}\n{output!r}"
            if not select.select([ours], [], [], left)[0]:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # EIO: the other end is closed.
                break
            if not piece:
                break
            output += piece
        return Shown(process.wait(GUARD_SECONDS), output)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()


def _word(word):
    return word if isinstance(word, bytes) else str(word)


def quiet(env: dict) -> dict:
    """Without muster's own colours: then no escape at all may come."""
    return {**env, "NO_COLOR": "1"}


def check_harmless(text: str) -> None:
    found = FORBIDDEN.search(text)
    assert not found, f"{found[0]!r} in {text[max(0, found.start() - 80):found.end() + 40]!r}"
