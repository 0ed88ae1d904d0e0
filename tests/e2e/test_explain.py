"""`sm explain`: what messages mean, from the page of troubleshooting that the program carries."""

import re
import subprocess
import sys

from lab import REPOSITORY, SM

sys.path.insert(0, str(REPOSITORY / "tools"))

import error_texts  # noqa: E402

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


def test_every_error_of_the_sources_has_a_section():
    texts = {each.text: each for each in error_texts.error_texts(REPOSITORY)}
    assert len(texts) > 700, "the walk over the sources finds too little"
    unknown = [
        f"{each.path}:{each.line}: {text}"
        for text, each in texts.items()
        if subprocess.run([SM, "explain", "--", text], capture_output=True, check=False).returncode
    ]
    assert not unknown, "no section of troubleshooting.md has:\n" + "\n".join(unknown)


def test_a_message_finds_its_section_in_one_word_or_several():
    message = "host algo-3: lost: no heartbeat for 5 s"
    told = sm("explain", "lost-host").stdout
    assert sm("explain", message).stdout == sm("explain", *message.split()).stdout == told


def test_a_slip_is_told_with_what_was_meant():
    assert "did you mean lost-host?" in sm("explain", "lost-hots", code=2).stderr
    assert "sm explain lists the names" in sm("explain", "!", code=2).stderr


def test_a_message_ends_with_its_name():
    done = sm("frobnicate", code=2)
    assert done.stderr.splitlines()[0] == 'sm: no command "frobnicate" (sm explain bad-command)'
