"""`sm explain`: what messages mean, from the page of troubleshooting that the program carries."""

import re
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("algo-2: mpirun: /opt/x: No such file or directory", "no-such-file"),
        ('rank 2 on algo-2: exit code 1: ValueError: expected 3, got "4"', "exit-code"),
        ("AlgorithmError: rank 2 on algo-2: exit code 1: OSError: [Errno 28] full", "exit-code"),
        ("rank 0 on algo-1: killed by SIGSEGV", "signal"),
        ("rank 0 on algo-1: killed by SIGKILL (out of memory)", "out-of-memory"),
        ("rank 0: exit code 1; algo-1: disk: 5 GiB of VolumeSizeInGB=5 full", "volume-full"),
        ("rank 0: exit code 1; algo-1: /dev/shm: 64 MiB full", "memory-place-full"),
        ("rank 0: exit code 1; algo-1: processes: 16384 used up", "no-more-processes"),
        ("rank 0: exit code 1; algo-1: open files: 65536 of one process used up",
         "no-more-open-files"),
        ("rank 0: exit code 1; algo-1: memory: 96 MiB used up", "out-of-memory"),
        ("host algo-3: lost: no heartbeat for 5 s", "lost-host"),
        ("[::1]:7700: Address already in use; --listen ADDRESS:PORT names another", "port-taken"),
        ("roll call: algo-2 did not come within 15 min; algo-1 is here", "roll-call"),
        ("code: cannot write a: No space left on device", "disk-full"),
        ("s3://b/k: the server answered 412 (BadDigest); the server says: no", "s3-request"),
        ("s3://b/k: the server answered 503 (SlowDown)", "s3-answer"),
    ],
)
def test_a_message_as_it_is_told_finds_its_section(message, name):
    assert sm("explain", message).stdout == sm("explain", name).stdout


def test_a_message_may_come_in_several_words():
    told = sm("explain", "algo-2:", "lost:", "no", "heartbeat", "for", "5", "s").stdout
    assert told == sm("explain", "lost-host").stdout


def test_a_slip_is_told_with_what_was_meant():
    assert "did you mean lost-host?" in sm("explain", "lost-hots", code=2).stderr
    assert "sm explain lists the names" in sm("explain", "!", code=2).stderr


def test_a_message_ends_with_its_name():
    done = sm("frobnicate", code=2)
    assert done.stderr.splitlines()[0] == 'sm: no command "frobnicate" (sm explain bad-command)'
