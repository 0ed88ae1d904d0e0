"""The table of commands as people meet it: help, refusals, manual pages, completion."""

import re
import shutil
import subprocess

import pytest

from lab import SM

GUARD_SECONDS = 60
SHELLS = ("bash", "zsh", "fish")


def run(*words, code=0, **more):
    argv = [str(word) for word in words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_SECONDS, **more)
    assert done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def sm(*words, code=0):
    return run(SM, *words, code=code, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def man_pages(tmp_path_factory):
    """Every manual page, by its name: one for each command."""
    folder = tmp_path_factory.mktemp("man")
    sm("man", "--write", folder)
    return {path.stem: path for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def commands(man_pages):
    """Every command that people type, as its words, from the usage lines of their pages."""
    found = set()
    for name in man_pages:
        words = name.split("-")[1:]
        parts = [words, [words[0], "-".join(words[1:])]] if len(words) > 1 else [words]
        found |= {" ".join(part) for part in parts if words and has_help(part)}
    assert len(found) == len(man_pages) - 1, (found, man_pages)
    return sorted(found)


def has_help(words):
    told = subprocess.run([SM, "help", *words], capture_output=True, check=False)
    return told.returncode == 0


def flags_of(help_text):
    """(name, whether it takes a value) of each flag that a help text shows."""
    form = r"^  (?:-\w, )?(--[\w-]+)(?: ([A-Z]\S*))?(?: \.\.\.)?(?:  |$)"
    shown = re.findall(form, help_text, re.M)
    return [(name, bool(value)) for name, value in shown]


def test_every_command_helps(commands):
    overview = sm("--help").stdout
    for command in commands:
        text = sm(*command.split(), "--help").stdout
        assert text.startswith(f"usage: sm {command}"), text
        for part in ("\nflags:\n", "\nexamples:\n", "\nexit codes:\n", "--help"):
            assert part in text, (command, part)
        assert sm("help", *command.split()).stdout.splitlines()[0] == text.splitlines()[0]
        assert re.search(rf"^  {command.split()[0]} +\w", overview, re.M), command


def test_the_parser_takes_each_flag_that_help_shows(commands):
    parents = {command.split()[0] for command in commands if " " in command}
    refused = 'unknown flag "--no-such-flag"'
    checked = 0
    for command in commands:
        words = command.split()
        text = sm(*words, "--help").stdout
        flags, passes_flags_on = flags_of(text), "SCRIPT [ARGS]" in text.splitlines()[0]
        assert ("--help", False) in flags
        for name, takes_value in flags:
            if name == "--help":
                continue
            value = ["3"] if takes_value else []
            # The launcher's own flags precede the script, so unknown flags are passed on.
            if passes_flags_on:
                done = sm(*words, name, *value, "--help")
                assert done.stdout.startswith("usage: "), done.stdout
            else:
                done = sm(*words, name, *value, "--no-such-flag", code=2)
                assert refused in done.stderr and done.stderr.count("unknown") == 1, done.stderr
            checked += 1
        if command in parents:
            assert flags == [("--help", False)]
    assert checked > 80, checked


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["fti"], 'sm: unknown command "fti"; did you mean fit?'),
        (["man", "key", "lst"], 'sm key: unknown command "lst"; did you mean list?'),
        (["fit", "x.py", "--host", "3"], 'unknown flag "--host"; did you mean --hosts?'),
        (["completion", "tcsh"], 'expected bash, zsh, fish or job-file, got "tcsh"'),
    ],
)
def test_a_typo_is_reported_with_a_suggestion(words, want):
    done = sm(*words, code=2)
    first, *rest = done.stderr.splitlines()
    assert want in first and len(rest) <= 1, done.stderr
    assert done.stdout == "" and all(line.startswith("see sm ") for line in rest)


def test_no_command_is_a_wrong_line_with_help():
    assert sm(code=2).stderr == sm("--help").stdout == sm("help").stdout


def test_manual_pages_are_written_and_clean(man_pages):
    assert "sm" in man_pages and "sm-key-create" in man_pages
    assert man_pages["sm-fit"].read_text() == sm("man", "fit").stdout
    assert man_pages["sm"].read_text() == sm("man").stdout
    for path in man_pages.values():
        if shutil.which("groff"):
            shown = run("groff", "-man", "-ww", "-Tutf8", "-P-bcou", path)
            assert shown.stderr == "" and "EXIT STATUS" in shown.stdout, (path, shown.stderr)
        if shutil.which("mandoc"):
            lint = run("mandoc", "-Tlint", "-Wwarning", path, code=2).stdout.splitlines()
            # A page without a date is the same on every day.
            assert len(lint) == 1 and "missing date" in lint[0], lint
    if not (shutil.which("groff") or shutil.which("mandoc")):
        pytest.skip("neither groff nor mandoc is installed")


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_a_manual_page_shows_what_help_shows(man_pages):
    plain = run("groff", "-man", "-Tutf8", "-P-bcou", man_pages["sm-fit"]).stdout
    for name, _ in flags_of(sm("fit", "--help").stdout):
        assert name in plain, plain
    assert "sm fit train.py -- --resume 'last run'" in plain


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_script_of_its_shell(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(sm("completion", shell).stdout)
    run(shell, "-n", script)


def completed(tmp_path, shell, words):
    """What `shell` offers for the last of `words`."""
    script = tmp_path / "script"
    script.write_text(sm("completion", shell).stdout)
    if shell == "bash":
        text = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sm; '
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        told = run("bash", "--norc", "-c", text, script, *words, cwd=tmp_path)
    else:
        text = "source $argv[1]; complete -C $argv[2]"
        told = run("fish", "--no-config", "-c", text, script, " ".join(words), cwd=tmp_path)
    return {line.split("\t")[0] for line in told.stdout.splitlines() if line}


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["sm", "fi"], {"fit"}),
        (["sm", "key", ""], {"create", "list", "job", "delete"}),
        (["sm", "key", "create", "--c"], {"--config", "--comment"}),
        (["sm", "fit", "--ho"], {"--hosts"}),
        (["sm", "jobs", "--status", "S"], {"Stopping", "Stopped"}),
        (["sm", "torchrun", "--launcher", ""], {"agent", "direct"}),
        (["sm", "deepspeed", "--launcher", ""], {"agent", "direct"}),
        (["sm", "completion", ""], {"bash", "zsh", "fish", "job-file"}),
        (["sm", "fit", "--source-dir", "co"], {"code/"}),
        (["sm", "jobs", "--limit", ""], set()),
    ],
)
def test_a_shell_completes(tmp_path, shell, words, want):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "code").mkdir()
    found = completed(tmp_path, shell, words)
    if shell == "bash":  # Readline adds the slash, where it shows the names.
        want = {word.rstrip("/") for word in want}
    assert found == want


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_takes_the_script_for_sm(tmp_path):
    script = tmp_path / "_sm"
    script.write_text(sm("completion", "zsh").stdout)
    text = 'autoload -Uz compinit; compinit -u -D; source "$1"; print $_comps[sm]'
    assert run("zsh", "-f", "-c", text, "zsh", script).stdout == "_sm\n"
