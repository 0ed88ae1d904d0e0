"""Job files: `sm fit job.yaml`, `sm submit job.yaml`, --print-file."""

import json
import os
import subprocess

import pytest

from lab import SM

JOB = """\
script: train.py
source-dir: code
hosts: 2
processes-per-host: 2
input: {train: data}
hyperparameter:
  lr: 1e-5
  zip: 0755
  agree: yes
  id: "007"
  five: "5"
  layers: [1, {a: b}]
env: {A: 'x: y', B: 1}
metric:
  loss: loss=([0-9.]+)
bind: [data:/data]
name: from-file
args: [--resume, last]
"""
WORDS = [
    "train.py", "--source-dir", "code", "--hosts", "2", "--processes-per-host", "2",
    "--input", "train=data", "-p", "lr=1e-5", "-p", "zip=0755", "-p", "agree=yes", "-p", "id=007",
    "--text-hyperparameter", "five=5", "-p", 'layers=[1,{"a":"b"}]', "--env", "A=x: y", "--env",
    "B=1", "--metric", "loss=loss=([0-9.]+)", "--bind", "data:/data", "--name", "from-file",
    "--", "--resume", "last",
]  # fmt: skip


@pytest.fixture
def sm(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "job.yaml").write_text(JOB)

    def run(*words, code=0, cwd=tmp_path):
        env = {**os.environ, "MUSTER_STATE": str(tmp_path / "state")}
        done = subprocess.run(
            [SM, *words], cwd=cwd, capture_output=True, text=True, check=False, env=env
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    run.folder = tmp_path
    return run


def plan(sm, *words, **options):
    return json.loads(sm("fit", *words, **options).stdout)


def test_a_file_and_its_command_line_give_the_same_plan(sm):
    at = WORDS.index("--")
    typed = plan(sm, *WORDS[:at], "--print-plan", *WORDS[at:])
    assert plan(sm, "job.yaml", "--print-plan") == typed
    assert typed["HyperParameters"]["five"] == '"5"'
    elsewhere = plan(sm, sm.folder / "job.yaml", "--print-plan", cwd="/")
    assert elsewhere["Muster"].pop("OutputFolder") == "/from-file"
    elsewhere["Muster"]["OutputFolder"] = typed["Muster"]["OutputFolder"]
    assert elsewhere == typed
    written = sm("fit", *WORDS[:at], "--print-file", *WORDS[at:]).stdout
    (sm.folder / "written.yaml").write_text(written)
    assert plan(sm, "written.yaml", "--print-plan") == typed
    again = sm("fit", "written.yaml", "--print-file", cwd=sm.folder / "code", code=2).stderr
    assert "written.yaml" in again and "No such file" in again
    assert sm("fit", "../written.yaml", "--print-file", cwd=sm.folder / "code").stdout == written


def test_flags_replace_values_of_the_file(sm):
    changed = plan(sm, "job.yaml", "--hosts", "1", "-p", "lr=2", "-p", "five=6", "--print-plan",
                   "--", "other")  # fmt: skip
    assert changed["HyperParameters"]["lr"] == "2"
    assert changed["HyperParameters"]["five"] == "6"
    assert changed["HyperParameters"]["zip"] == '"0755"'
    assert changed["Environment"]["MUSTER_SCRIPT_ARGS"] == '["other"]'
    assert changed["Environment"]["A"] == "x: y"


def test_submit_takes_a_file_too(sm):
    (sm.folder / "server.yml").write_text("script: code/train.py\ntag: {team: vision}\nname: x\n")
    written = sm("submit", "server.yml", "--print-file").stdout
    script = f"script: {sm.folder}/code/train.py\n"
    assert written == script + "name: x\ntag:\n  team: vision\n"


@pytest.mark.parametrize(
    ("text", "words", "want"),
    [
        ("host: 2\n", [], 'job.yaml: line 1: unknown key "host"; did you mean hosts?'),
        ("hosts: x\n", [], "--hosts: expected"),
        ("instance-type: local\n", [], 'line 1: "instance-type" is supported only by sm submit'),
        ("a: &a [x, x]\nb: &b [*a, *a]\n", [], 'job.yaml: line 1: unknown key "a"'),
        ("script: none.py\n", [], "none.py: no such file"),
        ("script: code/train.py\n", ["more"], 'unexpected argument "more"'),
        pytest.param("x" * 2_000_000, [], "job.yaml", id="large"),
    ],
)
def test_a_wrong_file_is_one_line(sm, text, words, want):
    (sm.folder / "job.yaml").write_text(text)
    told = sm("fit", "job.yaml", *words, code=2).stderr
    assert want in told and len(told.splitlines()) <= 2, told


def test_a_file_that_is_missing_or_a_pipe_is_named(sm):
    assert "none.yaml" in sm("fit", "none.yaml", code=2).stderr
    assert "usage: sm fit" in sm("fit", "none.yaml", "--help").stdout


def test_editors_get_a_schema(sm):
    schema = json.loads(sm("completion", "job-file").stdout)
    assert {"script", "args", "hosts", "tag"} <= set(schema["properties"])
