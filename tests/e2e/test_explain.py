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


def test_every_name_is_listed_and_explained():
    listed = re.findall(r"^  ([a-z0-9-]+) ", sm("explain").stdout, re.M)
    assert listed == NAMES and len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        told = sm("explain", name).stdout
        assert told.splitlines()[0].endswith(f"({name})"), told
        assert "](" not in told and "```" not in told and told.endswith("\n"), told


# Sections about one subject, and the storeys and rooms whose errors belong there.
ROOMS = {
    "archive-damaged": "image places packing",
    "archive-large": "packing",
    "archive-unsafe": "packing",
    "bad-config": "image jobs server vpc",
    "bad-parameter": "job toolkit",
    "bind-path": "cli container job",
    "bind-writable": "cli container",
    "channel": "bucket jobs s3client",
    "checkpoints": "job jobs net machine",
    "code-source": "code env",
    "codeartifact": "code",
    "config-files": "env job",
    "entry-point": "job toolkit",
    "gpus": "container devices job jobs",
    "hosts-list": "launch ranks",
    "image": "cli image places",
    "image-credentials": "api jobs",
    "image-damaged": "image",
    "image-engine": "image",
    "image-login": "cli container image",
    "image-policy": "cli image places",
    "image-policy-file": "image",
    "image-unfit": "container image job",
    "job-key": "coordinate env",
    "launcher-options": "launch",
    "mpi-flavour": "launch operators ranks",
    "mpi-options": "launch",
    "mpi-ssh": "calls sockets",
    "node": "cluster linked engine job node",
    "own-registry": "image registry server",
    "priority": "jobs",
    "process-count": "launch",
    "registry-answer": "image",
    "roll-call": "coordinate",
    "runc-failed": "container",
    "s3-answer": "aws s3client",
    "s3-changed": "bucket s3client s3server",
    "s3-url": "aws calls cli s3wire",
    "slirp": "addresses base container",
    "slurm": "cluster linked",
    "slurm-container": "cluster linked image job places node",
    "slurm-image-tool": "cli container job places",
    "slurm-light": "cli cluster linked places",
    "slurm-lost": "cluster linked",
    "slurm-never": "slurm",
    "slurm-option": "slurm",
    "slurm-shared": "cluster linked",
    "stack": "server",
    "tls-failed": "http net",
    "vpc-config": "job jobs vpc",
    "web-page": "cli server web",
}


def test_every_error_of_the_sources_has_a_section_of_its_subject():
    texts = {each.text: each for each in error_texts.error_texts(REPOSITORY)}
    assert len(texts) > 700, "the walk over the sources finds too little"
    unknown, astray = [], []
    for text, each in texts.items():
        done = subprocess.run([SM, "explain", "--", text], capture_output=True, text=True,
                              check=False)  # fmt: skip
        where = f"{each.path}:{each.line}: {text}"
        if done.returncode:
            unknown.append(where)
            continue
        name = done.stdout.splitlines()[0].rpartition("(")[2].rstrip(")")
        rooms = str(each.path).split("/")[1:-1]
        if name in ROOMS and not set(rooms) & set(ROOMS[name].split()):
            astray.append(f"{name}: {where}")
    assert not unknown, "no section of troubleshooting.md has:\n" + "\n".join(unknown)
    assert not astray, "a section of another subject has:\n" + "\n".join(astray)


def test_what_was_typed_wrong_is_explained_as_such():
    for words in (("--hyperparameter", "noequals"), ("--env", "x"), ("--input", "x"),
                  ("--gpus", "x"), ("--memory", "x"), ("--timeout", "x"), ("--hosts", "x"),
                  ("--cpus", "x"), ("--volume-size", "x"), ("--metric", "x")):  # fmt: skip
        for command in (("fit", "train.py"), ("submit", "job")):
            told = subprocess.run([SM, *command, *words], capture_output=True, text=True,
                                  check=False)  # fmt: skip
            assert told.returncode == 2, told
            assert re.search(r"\(sm explain bad-(value|flag)\)$", told.stderr, re.M), told.stderr


def test_a_message_finds_its_section_in_one_word_or_several():
    message = "host algo-3: lost: no heartbeat for 5 s"
    told = sm("explain", "lost-host").stdout
    assert sm("explain", message).stdout == sm("explain", *message.split()).stdout == told


def test_a_typo_is_reported_with_a_suggestion():
    assert "did you mean lost-host?" in sm("explain", "lost-hots", code=2).stderr
    assert "sm explain lists the topics" in sm("explain", "!", code=2).stderr


def test_a_message_ends_with_its_name():
    done = sm("frobnicate", code=2)
    first = done.stderr.splitlines()[0]
    assert first == 'sm: unknown command "frobnicate" (sm explain bad-command)'
