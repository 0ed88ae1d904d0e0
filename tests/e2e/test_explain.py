"""`sm explain`: what messages mean, from the page of troubleshooting that the program carries."""

import re
import subprocess

from lab import REPOSITORY, SM

PAGE = (REPOSITORY / "docs/users/troubleshooting.md").read_text()
NAMES = re.findall(r"^### .* \{#([a-z0-9-]+)\}$", PAGE, re.M)


def sm(*words, code=0):
    done = subprocess.run([SM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done


def test_every_name_is_listed_and_told():
    listed = re.findall(r"^  ([a-z0-9-]+) ", sm("explain").stdout, re.M)
    assert listed == NAMES and len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        told = sm("explain", name).stdout
        assert told.splitlines()[0].endswith(f"({name})"), told
        assert "](" not in told and "```" not in told and told.endswith("\n"), told


def test_a_message_is_found_by_its_words():
    by_name = sm("explain", "lost-host").stdout
    assert sm("explain", "algo-2: lost: no heartbeat for 5 s").stdout == by_name
    assert sm("explain", "algo-2:", "lost:", "no", "heartbeat").stdout == by_name


def test_a_slip_is_told_with_what_was_meant():
    assert "did you mean lost-host?" in sm("explain", "lost-hots", code=2).stderr
    assert "sm explain lists the names" in sm("explain", "!", code=2).stderr


def test_a_message_ends_with_its_name():
    done = sm("frobnicate", code=2)
    assert done.stderr.splitlines()[0] == 'sm: no command "frobnicate" (sm explain bad-command)'
