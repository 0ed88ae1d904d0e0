"""Attacks on the machine's files from inside a job: what a host does not need is not there.

One job looks for all of them; each case is one place. The places are made for the test, beside the
machine's own, with unique names.
"""

import json
import os
import pathlib
import secrets
import shutil
import subprocess

import pytest

from fit import GUARD_SECONDS, Machine
from lab import SM, VENV
from process import Process

MARK = f"muster-attack-{secrets.token_hex(4)}"
SECRET = f"secret-{secrets.token_hex(8)}"

# In the home of the submitting user, of another user, and of root.
IN_HOMES = (
    ".npmrc", ".pgpass", ".netrc", ".pypirc", ".git-credentials", ".ssh/id_ed25519",
    ".aws/credentials", ".config/gcloud/credentials.db", ".kaggle/kaggle.json",
    ".cache/huggingface/token", ".cargo/credentials.toml", ".docker/config.json", ".kube/config",
    ".bash_history", "notes.txt",
)  # fmt: skip
# Each of these folders contains a secret of the machine.
ON_THE_MACHINE = (
    "/etc/kubernetes", "/etc/wireguard", "/etc/letsencrypt/live", "/etc/NetworkManager",
    "/etc/ssl/private", "/etc/pki/tls/private", "/etc/profile-of-nobody", "/var/lib", "/var/log",
    "/var/backups", "/var/spool/cron", "/srv", "/mnt", "/home", "/boot",
)  # fmt: skip

LOOK = """
import json, os, sys
wanted = json.load(open("/opt/ml/input/data/places/wanted.json"))
found = {}
for path in wanted["files"]:
    try:
        found[path] = open(path, "rb").read(64).decode("latin-1")
    except OSError as error:
        found[path] = error.strerror
everything = []
for top, folders, files in os.walk("/"):
    if top == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    everything += [os.path.join(top, name) for name in folders + files if wanted["mark"] in name]
root = sorted(os.listdir("/"))
found = {
    "files": found,
    "walk": everything,
    "root": root,
    "home": os.listdir("/root"),
    "homes": os.listdir("/home"),
    "accounts": [line.split(":")[0] for line in open("/etc/passwd")],
    "ids": open("/proc/self/uid_map").read().split(),
    "mounts": open("/proc/self/mountinfo").read(),
}
json.dump(found, open("/opt/ml/model/found.json", "w"))
"""


def plant(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SECRET)
    return path


class Planted:
    """Secrets in places of the machine, and what has to be removed again."""

    def __init__(self, folder: pathlib.Path):
        self.files = {
            f"{home}: {each}": folder / home / each
            for home in ("submitter", "other")
            for each in IN_HOMES
        }
        self.files |= {place: pathlib.Path(place, MARK, "secret") for place in ON_THE_MACHINE}
        # A folder of muster's that is not this job's: among programs, where hosts do look.
        self.state = pathlib.Path("/usr/local", MARK)
        job = self.state / "jobs" / "other"
        self.of_state = {
            "another state: key": job / "key",
            "another state: journal": job / "algo-1" / "journal",
        }
        # The topmost folder of each place that is not there yet.
        self.tops = [
            [each for each in (path, *path.parents) if not each.exists()][-1]
            for path in (*self.files.values(), self.state)
        ]

    def make(self) -> None:
        for path in self.files.values():
            plant(path)

    def make_state(self) -> None:
        for path in self.of_state.values():
            plant(path)
        self.files |= self.of_state

    def remove(self) -> None:
        for top in self.tops:
            shutil.rmtree(top, ignore_errors=True)


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    """What one job found, and the places that it was sent to look at."""
    folder = tmp_path_factory.mktemp("files")
    planted = Planted(folder)
    machine = Machine(folder)
    machine.home = folder / "submitter"
    try:
        planted.make()
        # A job of another state folder has been here: it is noted on the machine.
        other = {**machine.environment(), "MUSTER_STATE": str(planted.state)}
        (machine.source / "pass.py").write_text("pass\n")
        subprocess.run(
            [SM, "fit", "pass.py", "--source-dir", machine.source, "--python", VENV / "bin/python"],
            env=other, check=True, capture_output=True, timeout=GUARD_SECONDS,
        )  # fmt: skip
        planted.make_state()
        # The submitter's own folder has such a state inside, too.
        inside = machine.source / "state"
        subprocess.run(
            [SM, "fit", "pass.py", "--source-dir", machine.source, "--python", VENV / "bin/python"],
            env={**other, "MUSTER_STATE": str(inside)},
            check=True, capture_output=True, timeout=GUARD_SECONDS,
        )  # fmt: skip
        plant(inside / "jobs" / "other" / "key")
        planted.files["a state in the source folder"] = pathlib.Path(
            "/opt/ml/code/state/jobs/other/key"
        )
        places = folder / "places"
        files = [str(path) for path in planted.files.values()]
        places.mkdir()
        (places / "wanted.json").write_text(json.dumps({"files": files, "mark": MARK}))
        process = machine.fit(LOOK, "--input", f"places={places}")
        assert process.wait(GUARD_SECONDS) == 0, process.text
        found = json.loads((machine.output / "model" / "found.json").read_text())
        yield planted, found
    finally:
        machine.close()
        planted.remove()


NAMES = (
    [f"{home}: {each}" for home in ("submitter", "other") for each in IN_HOMES]
    + list(ON_THE_MACHINE)
    + ["another state: key", "another state: journal", "a state in the source folder"]
)


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_of_the_machine_is_not_there(attack, name):
    planted, found = attack
    path = str(planted.files[name])
    assert found["files"][path] in ("No such file or directory", "Not a directory"), path


def test_no_name_of_them_shows_anywhere_but_as_a_covered_folder(attack):
    planted, found = attack
    assert set(found["walk"]) <= {str(planted.state)}


def test_the_root_has_programs_and_empty_places(attack):
    _, found = attack
    programs = {"usr", "opt", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu"}
    own = {"dev", "etc", "home", "media", "mnt", "proc", "root", "run", "srv", "sys", "tmp", "var"}
    # The interpreter's own tree may lie elsewhere.
    tree = {path.parts[1] for path in (VENV, (VENV / "bin/python").resolve())}
    assert set(found["root"]) <= programs | own | tree
    assert found["homes"] == []


def test_a_home_holds_at_most_the_interpreter_and_programs_of_path(attack):
    _, found = attack
    named = [(VENV / "bin/python").resolve(), *map(pathlib.Path, os.environ["PATH"].split(":"))]
    assert set(found["home"]) <= {path.parts[2] for path in named if path.parts[1:2] == ("root",)}


def test_users_of_the_machine_are_not_listed(attack):
    _, found = attack
    people = {
        line.split(":")[0]
        for line in pathlib.Path("/etc/passwd").read_text().splitlines()
        if 1000 <= int(line.split(":")[2]) != 65534
    }
    assert not people & set(found["accounts"])
    assert "root" in found["accounts"]


def test_root_in_the_host_has_no_rights_on_the_machine(attack):
    _, found = attack
    inside, outside, count = found["ids"]
    assert (inside, count) == ("0", "65536")
    assert int(outside) >= 65536


def test_mounts_do_not_reveal_the_path_of_a_job_folder(attack):
    planted, found = attack
    assert os.fspath(planted.state) + "/jobs" not in found["mounts"]


# Records where it runs, and then acts as the standard library's module.
PLANTED = """
import os, sys
with open(os.path.dirname(os.path.abspath(__file__)) + "/ran", "a") as file:
    file.write("%d %s\\n" % (os.getuid(), os.readlink("/proc/self/ns/mnt")))
here = sys.path.pop(0)
del sys.modules["json"]
import json as real
sys.path.insert(0, here)
sys.modules["json"] = real
"""


@pytest.mark.parametrize("python", ["python3", str(VENV / "bin" / "python")])
def test_a_module_beside_the_script_is_not_run_outside_of_the_job(tmp_path, python):
    """Users who run `sm` in a folder trust the job with its files, but not with the machine."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "json.py").write_text(PLANTED)
    (folder / "train.py").write_text("print('trained')\n")
    machine = Machine(tmp_path)
    words = ("--network", "none", "--python", python, "--output", machine.output)
    try:
        environment = machine.environment() | {"PYTHONPATH": str(folder)}
        for argv in ([SM, "fit", "train.py", *words], [SM, "doctor", "--python", python]):
            process = Process(argv, env=environment, cwd=folder, own_session=True)
            machine.processes.append(process)
            code = process.wait(GUARD_SECONDS)
            assert code == 0 or argv[1] == "doctor", process.text
            assert not (folder / "ran").exists(), (folder / "ran").read_text()
        assert "trained" in machine.processes[0].text
    finally:
        machine.close()
