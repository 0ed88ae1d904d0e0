"""`sm fit --image`: hosts are the image's own, what SageMaker gives them is there."""

import json

import pytest

from fit import GUARD_SECONDS
from lab import SM
from oci_image import layer, programs, write_archive, write_layout
from process import wait_until

TRAIN = b"""#!/bin/sh
echo "arguments: $*, folder $PWD, model $(test -d /opt/ml/model && echo there), team $TEAM"
test -e /usr/bin/python3 && echo "sees the machine"
read -r line </opt/ml/input/config/hyperparameters.json; echo "parameters $line"
while read -r address name; do echo "host $name"; done </etc/hosts
echo weights >/opt/ml/model/$HOSTNAME
"""
# A dynamic `sm`, as the dev build's, needs its libraries in an image; the release's needs nothing.
SHELL = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
del SHELL[str(SM).removeprefix("/")]


@pytest.fixture
def bring(machine, tmp_path):
    """Brings an image of these members, over a shell, by `sm image import`; its name."""

    def make(members: dict, process: dict | None = None, name: str = "team/box:v1") -> str:
        folder = tmp_path / name.replace("/", "-").replace(":", "-")
        write_layout(folder, [layer(SHELL), layer(members)], process=process)
        words = ["image", "import", f"oci:{folder}:v1", "--name", name]
        imported = machine.sm(*words)
        assert imported.wait(GUARD_SECONDS) == 0, imported.text
        return name

    return make


def run(machine, *words):
    process = machine.sm("fit", *words)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.text


def test_an_images_own_program_trains(machine, bring):
    train = {"opt/bin/train": TRAIN}
    name = bring(train, {"Env": ["PATH=/opt/bin:/bin", "TEAM=blue"], "WorkingDir": "/opt/bin"})
    text = run(machine, "--image", name, "--hosts", "2", "-p", "epochs=3", "-o", machine.output)
    assert text.count("arguments: , folder /opt/bin, model there, team blue") == 2, text
    assert '"epochs":"3"' in text
    assert "host algo-1" in text and "host algo-2" in text
    assert "sees the machine" not in text
    assert (machine.output / "model/algo-1").read_text() == "weights\n"
    assert (machine.output / "model/algo-2").read_text() == "weights\n"


def test_an_image_of_a_folder_or_an_archive_runs_as_it_is_there_now(machine, tmp_path):
    def says(text: str, program: str = "bin/train") -> list[bytes]:
        return [layer(SHELL), layer({program: f"#!/bin/sh\necho {text}\n".encode()})]

    folder, archive = tmp_path / "box", tmp_path / "box.tar"
    write_layout(folder, says("first"), process={"Env": ["PATH=/bin"]})
    assert "| first" in run(machine, "--image", f"oci:{folder}:v1")
    (folder / "index.json").unlink()
    write_layout(folder, says("second"), process={"Env": ["PATH=/bin"]})
    assert "| second" in run(machine, "--image", f"oci:{folder}:v1", "--name", "again")
    write_archive(archive, says("third", "train"), "team/third:v1")  # Without PATH: / is searched.
    assert "| third" in run(machine, "--image", f"docker-archive:{archive}")
    listed = machine.sm("image", "ls")
    assert listed.wait(GUARD_SECONDS) == 0
    assert "localhost/box:v1" in listed.text and "docker.io/team/third:v1" in listed.text
    none = machine.sm("fit", "--image", f"oci:{tmp_path}/none")
    assert none.wait(GUARD_SECONDS) == 2
    assert f"--image: oci:{tmp_path}/none: " in none.text


def test_an_entrypoint_gets_the_words_behind_dashes(machine, bring):
    name = bring({"run.sh": b'#!/bin/sh\necho "runs $*"\n'}, {"Entrypoint": ["/run.sh", "-v"]})
    assert "runs -v train\n" in run(machine, "--image", name)
    assert "runs -v serve a b\n" in run(machine, "--image", name, "--", "serve", "a b")


def test_an_image_without_train_runs_scripts_by_musters(machine, bring):
    name = bring({"etc/marker": b"image\n"}, {"Env": ["PATH=/bin"]})
    script = machine.source / "job.sh"
    says = 'echo "in $line: $* on $SM_CURRENT_HOST"'
    script.write_text(f"#!/bin/sh\nread -r line </etc/marker\n{says}\n")
    text = run(machine, script, "--image", name, "-p", "lr=0.1", "--", "--more")
    assert "in image: --lr 0.1 --more on algo-1" in text, text


def test_the_image_that_ran_is_reported_by_name_and_digest(machine, bring):
    name = bring({"bin/train": b"#!/bin/sh\nexit 0\n"}, {"Env": ["PATH=/bin"]})
    listed = machine.sm("image", "ls", "--json")
    assert listed.wait(GUARD_SECONDS) == 0
    digest = json.loads(listed.out)["Digest"]
    text = run(machine, "--image", name, "--name", "of-an-image", "--verbose")
    assert f"runs image docker.io/{name}, {digest}" in text
    described = machine.sm("describe", "of-an-image")
    assert described.wait(GUARD_SECONDS) == 0
    assert f"docker.io/{name}@{digest}" in described.text


def test_an_image_that_runs_is_not_removed(machine, bring):
    gate = machine.source / "open"
    script = b"#!/bin/sh\necho runs\nwhile ! test -e /gate/open; do :; done\nread -r x </etc/left\n"
    members = {"bin/train": script + b'echo "left $x"\n', "etc/left": b"here\n"}
    name = bring(members, {"Env": ["PATH=/bin"]})
    job = machine.sm("fit", "--image", name, "--bind", f"{machine.source}:/gate")
    wait_until("the job to run", lambda: "runs" in job.text or job.ended_at)
    assert "runs" in job.text, job.text
    pruned = machine.sm("image", "prune", "--all")
    assert pruned.wait(GUARD_SECONDS) == 0, pruned.text
    gate.touch()
    assert job.wait(GUARD_SECONDS) == 0, job.text
    assert "left here" in job.text


@pytest.mark.parametrize("count", [200, 999])
def test_hundreds_of_layers_are_one_root(machine, tmp_path, count):
    """An overlay stacks 500 folders, if one page of options names them; the rest is a second."""
    counts = b"#!/bin/sh\nset -- /many/*\nread -r last </last\necho \"$# files, last $last\"\n"
    each = [{f"many/{i}": b"x", "last": b"%d\n" % i} for i in range(count - 2)]
    each[-1]["many/.wh.7"] = b""
    members = [SHELL, {"bin/train": counts}, *each]
    write_layout(tmp_path / "box", [layer(m) for m in members], process={"Env": ["PATH=/bin"]})
    imported = machine.sm("image", "import", f"oci:{tmp_path}/box:v1", "--name", "many")
    assert imported.wait(GUARD_SECONDS) == 0, imported.text
    text = run(machine, "--image", "many")
    assert f"{count - 3} files, last {count - 3}" in text, text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--image", "none/such:1"],
            "there is no image docker.io/none/such:1; list the images with sm image ls",
        ),
        (["--image", "Not A Name"], 'image "Not A Name": expected'),
        (["--image", "oci:/none/x"], "--image: oci:/none/x: "),
    ],
)
def test_an_image_that_cannot_run_is_refused_before_the_job_starts(machine, words, says):
    process = machine.sm("fit", *words)
    assert process.wait(GUARD_SECONDS) == 2, process.text
    assert says in process.err.decode(), process.text
    assert process.err.decode().count("\n") <= 2, process.text  # The second points at --help.
    assert machine.jobs() == []
