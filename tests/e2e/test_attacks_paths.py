"""Attacks by a user whose folder root, or another user, names to `sm`: links in its way."""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import pytest

from fit import GUARD_SECONDS
from lab import SM
from oci_image import layer, write_layout
from process import Process
from rootless import User
from sm_server import SmServer

STRANGER = 65534
OF_STRANGER = f": this symbolic link belongs to user {STRANGER}"
SECRET = "a secret of root's"

# Shows what it finds of others' in its folders, and leaves something there.
LOOK = """
import os
for place in ("/opt/ml/checkpoints", "/opt/ml/input/data/x", "/opt/ml/code"):
    for name in os.listdir(place) if os.path.isdir(place) else ():
        if os.path.isfile(place + "/" + name):
            print("FOUND", name, open(place + "/" + name).read(), flush=True)
if os.path.isdir("/opt/ml/checkpoints"):
    open("/opt/ml/checkpoints/planted", "w").write("by the job")
open("/opt/ml/model/planted", "w").write("by the job")
"""


def give(path: pathlib.Path, user: int = STRANGER) -> pathlib.Path:
    os.lchown(path, user, user)
    return path


def give_folder(path: pathlib.Path) -> pathlib.Path:
    path.mkdir()
    return give(path)


class Trap:
    """A home that a stranger owns, and a folder that only root can enter."""

    def __init__(self, folder: pathlib.Path):
        folder.chmod(0o755)
        self.home = folder / "strangers-home"
        self.ours = folder / "root-only"
        for path in (self.home, self.ours, self.ours / "below"):
            path.mkdir()
        give(self.home)
        self.ours.chmod(0o700)
        for name in ("secret", "below/secret"):
            (self.ours / name).write_text(SECRET)
        (self.ours / "pip.conf").write_text(f"[global]\nextra-index-url = {SECRET}\n")
        (self.ours / "job.json").write_text(f'{{"TrainingJobName": "{SECRET}"}}')

    def link(self, name: str, target: pathlib.Path, user: int = STRANGER) -> pathlib.Path:
        path = self.home / name
        path.symlink_to(target)
        return give(path, user)

    def is_untouched(self) -> bool:
        found = {str(each.relative_to(self.ours)) for each in self.ours.rglob("*")}
        return found == {"secret", "below", "below/secret", "pip.conf", "job.json"}


@pytest.fixture
def trap(tmp_path):
    made = Trap(tmp_path)
    yield made
    assert made.is_untouched()


FLAGS = {
    "checkpoints": ("--checkpoints: ", "--checkpoints", "{}"),
    "output": ("output: ", "--output", "{}"),
    "overwrite": ("output: ", "--overwrite", "--output", "{}"),
    "input": ("--input x: ", "--input", "x={}"),
    "source": ("--source-dir: ", "--source-dir", "{}"),
    "bind": ("--bind: ", "--bind", "{}:/opt/shown"),
}


@pytest.mark.parametrize("place", ["itself", "parent", "new"])
@pytest.mark.parametrize("flag", FLAGS)
def test_a_strangers_link_is_not_followed(machine, trap, flag, place):
    link = trap.link("link", trap.ours)
    path = {"itself": link, "parent": link / "below", "new": link / "new" / "er"}[place]
    start, *words = FLAGS[flag]
    (machine.source / "script.py").write_text(LOOK)
    if flag != "source":
        words += ["--source-dir", machine.source]
    process = machine.sm("fit", "script.py", *(str(word).format(path) for word in words))
    assert process.wait(GUARD_SECONDS) == 2, process.text
    want = str(trap.ours) + str(path).removeprefix(str(link))
    assert (
        f"sm fit: {start}{link}{OF_STRANGER}, whose links muster does "
        f"not follow here; use {want} instead"
    ) in process.text
    assert SECRET not in process.text


def test_a_strangers_link_is_not_used_as_pips_configuration(machine, trap):
    link = trap.link("link", trap.ours)
    for words, environment in (
        (("--pip-conf", link / "pip.conf"), {}),
        ((), {"PIP_CONFIG_FILE": str(link / "pip.conf")}),
    ):
        (machine.source / "script.py").write_text(LOOK)
        process = machine.sm("fit", "script.py", "--source-dir", machine.source, *words,
                             environment=environment)  # fmt: skip
        assert process.wait(GUARD_SECONDS) == 2, process.text
        assert f"--pip-conf: {link}{OF_STRANGER}" in process.text


def test_a_strangers_link_is_not_submitted_as_a_job(machine, trap):
    link = trap.link("link", trap.ours / "job.json")
    process = machine.sm("submit", "--json-file", link)
    assert process.wait(GUARD_SECONDS) == 2, process.text
    assert f"--json-file: {link}{OF_STRANGER}" in process.text
    assert SECRET not in process.text


@pytest.mark.parametrize("flag", ["input", "checkpoints"])
def test_a_strangers_link_in_a_folder_is_not_uploaded(tmp_path, trap, flag):
    """The folder's user may link to any file, but only those of root's own links are root's."""
    link = trap.link("link", trap.ours / "secret")
    (tmp_path / "code.py").write_text("pass")
    (tmp_path / "train.py").symlink_to("code.py")
    words = {"input": ("--input", f"x={trap.home}"), "checkpoints": ("--checkpoints", trap.home)}
    with SmServer(tmp_path / "server") as server:
        for owner, code in ((STRANGER, 2), (0, 0)):
            os.lchown(link, owner, owner)
            argv = [SM, "submit", "train.py", "--name", f"of-{owner}", *words[flag]]
            done = subprocess.run(argv, env=server.env(), cwd=tmp_path, capture_output=True,
                                  text=True, timeout=GUARD_SECONDS)  # fmt: skip
            assert done.returncode == code, done.stderr
            assert (f"{link}{OF_STRANGER}" in done.stderr) == (owner == STRANGER), done.stderr
        s3 = server.client("s3")
        bucket = s3.list_buckets()["Buckets"][0]["Name"]
        keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    folder = "input/x" if flag == "input" else "checkpoints"
    assert [key for key in keys if key.endswith("/link")] == [f"of-0/{folder}/link"]


@pytest.mark.parametrize("transport", ["oci", "docker-archive"])
def test_a_strangers_link_is_not_imported_as_an_image(machine, trap, transport):
    link = trap.link("link", trap.ours)
    place = f"{transport}:{link}/below"
    for words in (("image", "import", place), ("fit", "--image", place)):
        process = machine.sm(*words)
        assert process.wait(GUARD_SECONDS) == 2, process.text
        assert (
            f"{link}{OF_STRANGER}, whose links muster does not follow here; "
            f"use {trap.ours}/below instead"
        ) in process.text


def test_a_strangers_link_in_an_image_is_not_read(machine, trap):
    write_layout(trap.home / "box", [layer({"train": b"1"})])
    blobs = trap.home / "box/blobs/sha256"
    blobs.rename(trap.home / "blobs")
    for user, code in ((STRANGER, 2), (0, 0)):
        trap.link("box/blobs/sha256", trap.home / "blobs", user)
        process = machine.sm("image", "import", f"oci:{trap.home}/box")
        assert process.wait(GUARD_SECONDS) == code, process.text
        assert (f"{blobs}{OF_STRANGER}" in process.text) == (user == STRANGER), process.text
        blobs.unlink()


def test_a_strangers_link_is_no_file_of_roots_server(machine, trap):
    """Before, root's server copied such a CA to where its jobs read it, and wrote such a log."""
    link = trap.link("link", trap.ours)
    (trap.ours / "secret").chmod(0o600)
    plain = trap.home / "plain"
    plain.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    plain.chmod(0o600)
    outside = {"endpoint": "https://127.0.0.1:1", "credentials_file": str(plain)}
    tls = {"tls_certificate": str(plain), "tls_key": str(plain)}
    secret = f"{link}/secret"
    for config in (
        {**tls, "tls_certificate": secret},
        {**tls, "tls_key": secret},
        {**tls, "tls_ca": secret},
        {"s3": {**outside, "ca_file": secret}},
        {"access_log": secret},
        {"access_log": f"{link}/new.log"},
    ):
        path = trap.home / "server.json"
        path.write_text(json.dumps(config))
        process = machine.sm("server", "--config", path, "--listen", "127.0.0.1:0")
        assert process.wait(GUARD_SECONDS) != 0, process.text
        assert f"{link}{OF_STRANGER}" in process.text, (config, process.text)


def test_no_file_is_written_through_a_strangers_link(machine, trap):
    link = trap.link("link", trap.ours)
    process = machine.sm("env", "--client", "--write", link / "new.yaml")
    assert process.wait(GUARD_SECONDS) != 0, process.text
    assert f"{link}{OF_STRANGER}" in process.text


@pytest.mark.parametrize("flag", ["--env-file", "--hyperparameters"])
def test_a_strangers_link_is_not_read_as_a_file_of_values(machine, trap, flag):
    link = trap.link("link", trap.ours / "secret")
    (machine.source / "script.py").write_text(LOOK)
    process = machine.sm("fit", "script.py", "--source-dir", machine.source, flag, link)
    assert process.wait(GUARD_SECONDS) == 2, process.text
    assert f"{flag}: {link}{OF_STRANGER}" in process.text
    assert SECRET not in process.text


def test_a_strangers_link_is_not_read_as_config_by_roots_server(machine, trap):
    link = trap.link("link", trap.ours)
    config = trap.home / "server.json"
    config.write_text(f'{{"keys": [{{"id": "AKIAEXAMPLE", "secret_file": "{link}/secret"}}]}}')
    (trap.ours / "secret").chmod(0o600)
    for path in (link / "job.json", config):
        process = machine.sm("server", "--config", path, "--check")
        assert process.wait(GUARD_SECONDS) != 0, process.text
        assert f"{link}{OF_STRANGER}" in process.text
        assert SECRET not in process.text


def test_under_sudo_links_of_the_user_are_not_followed_either(machine, trap):
    link = trap.link("link", trap.ours)
    sudo = {"SUDO_UID": str(STRANGER), "SUDO_GID": str(STRANGER)}
    (machine.source / "script.py").write_text(LOOK)
    process = machine.sm("fit", "script.py", "--source-dir", machine.source,
                         "--checkpoints", link, environment=sudo)  # fmt: skip
    assert process.wait(GUARD_SECONDS) == 2, process.text
    assert f"{link}{OF_STRANGER}" in process.text


def test_links_of_root_are_followed(machine, trap):
    for name in ("ck", "in", "out"):
        (trap.home / name).mkdir()
    (trap.home / "in" / "data").write_text("input")
    link = trap.link("link", trap.home, user=0)
    process = machine.fit(LOOK, "--checkpoints", link / "ck", "--input", f"x={link}/in",
                          output=link / "out")  # fmt: skip
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert "FOUND data input" in process.text
    assert (trap.home / "ck" / "planted").read_text() == "by the job"
    assert (trap.home / "out" / "model" / "planted").read_text() == "by the job"


# As the stranger, who has entered the two folders: swaps a folder for a link and back, until it is
# killed.
SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
ends = []
for path in sys.argv[1:]:
    ends += [os.open(os.path.dirname(path), os.O_RDONLY), os.path.basename(path).encode()]
os.setgid({user}); os.setuid({user})
assert libc.renameat2(*ends, 2) == 0, os.strerror(ctypes.get_errno())
print("swapping", flush=True)
while True:
    libc.renameat2(*ends, 2)
"""


@pytest.mark.parametrize("what", ["itself", "parent"])
def test_a_folder_that_is_swapped_all_the_time_leads_nowhere_else(machine, trap, what):
    """Jobs fail, or they get the folder that they named: never the one of root's."""
    places = {}
    for name in ("ck", "in", "out"):
        parent = give_folder(trap.home / name)
        places[name] = give_folder(parent / "below")
        (parent / "other").symlink_to(trap.ours / "below")
        give(parent / "other")
    swappers = []
    try:
        for name, place in places.items():
            one = place if what == "itself" else place.parent
            link = place.parent / "other"
            other = link if what == "itself" else trap.link(f"{name}-2", trap.ours)
            swapper = Process([sys.executable, "-c", SWAP.format(user=STRANGER), one, other])
            swapper.wait_for_output(b"swapping")
            swappers.append(swapper)
        for number in range(6):
            process = machine.fit(
                LOOK, "--checkpoints", places["ck"], "--input", f"x={places['in']}",
                "--overwrite", "--name", f"swap-{number}", output=places["out"],
            )  # fmt: skip
            process.wait(GUARD_SECONDS)
            assert SECRET not in process.text
            assert trap.is_untouched()
    finally:
        for swapper in swappers:
            swapper.end()


@pytest.mark.parametrize("what", ["itself", "inner"])
def test_code_that_is_swapped_all_the_time_is_not_submitted_with_roots_files(tmp_path, trap, what):
    """The archive has the files of the folder that was named, or there is no job."""
    code = give_folder(trap.home / "code")
    inner = give_folder(code / "below")
    (code / "train.py").write_text("pass")
    for folder in (code, inner):
        (folder / "secret").write_text("x" * len(SECRET))
    one, target = (code, trap.ours) if what == "itself" else (inner, trap.ours / "below")
    other = trap.link("other", target)
    swapper = Process([sys.executable, "-c", SWAP.format(user=STRANGER), one, other])
    try:
        swapper.wait_for_output(b"swapping")
        with SmServer(tmp_path / "server") as server:
            s3 = server.client("s3")
            for number in range(12):
                argv = [SM, "submit", "train.py", "--source-dir", code, "--name", f"swap-{number}"]
                done = subprocess.run(argv, env=server.env(), cwd=tmp_path, capture_output=True,
                                      text=True, timeout=GUARD_SECONDS)  # fmt: skip
                assert SECRET not in done.stderr + done.stdout
                for bucket in s3.list_buckets()["Buckets"]:
                    found = s3.list_objects_v2(Bucket=bucket["Name"], Prefix=f"swap-{number}/")
                    for each in found.get("Contents", []):
                        body = s3.get_object(Bucket=bucket["Name"], Key=each["Key"])["Body"].read()
                        if each["Key"].endswith(".tar.gz"):
                            assert SECRET.encode() not in gzip.decompress(body)
    finally:
        swapper.end()


def test_a_folder_swapped_while_the_job_runs_stays_the_one_that_was_named(machine, trap):
    for name in ("ck", "out"):
        give_folder(trap.home / name)
    waiting = LOOK + "print('ready', flush=True)\nimport time\ntime.sleep(3)\n"
    waiting += "open('/opt/ml/checkpoints/late', 'w').write('late')\n"
    process = machine.fit(waiting, "--checkpoints", trap.home / "ck", output=trap.home / "out")
    process.wait_for_output(b"ready")
    for name in ("ck", "out"):
        (trap.home / name).rename(trap.home / f"{name}-away")
        trap.link(name, trap.ours)
    assert process.wait(GUARD_SECONDS) != 0, process.text
    assert (trap.home / "ck-away" / "late").read_text() == "late"
    assert f"output: {trap.home}/out{OF_STRANGER}" in process.text
    assert not list((trap.home / "out-away").iterdir())


def test_without_root_links_of_other_users_are_not_followed(nothing_left):
    user = User()
    try:
        mine = user.own_folder("mine")
        shared = user.home / "shared"
        shared.mkdir()
        for name, owner in (("strangers", STRANGER), ("roots", 0)):
            (shared / name).symlink_to(mine)
            give(shared / name, owner)
        refused = user.fit(LOOK, "--checkpoints", shared / "strangers")
        assert refused.wait(GUARD_SECONDS) == 2, refused.text
        assert f"{shared}/strangers{OF_STRANGER}" in refused.text
        good = user.fit(LOOK, "--checkpoints", shared / "roots")
        assert good.wait(GUARD_SECONDS) == 0, good.text
        assert (mine / "planted").read_text() == "by the job"
    finally:
        user.close()


def test_without_root_links_of_root_lead_to_images_and_certificates(nothing_left):
    """Also in the user namespace, in which these links look like other users'."""
    user = User()
    try:
        mine = user.own_folder("mine")
        shared = user.home / "shared"
        shared.mkdir()
        link = shared / "link"
        link.symlink_to(mine)
        write_layout(mine / "box", [layer({"train": b"1"})])
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", "key.pem", "-out", "own.pem"],
                       cwd=mine, check=True, capture_output=True)  # fmt: skip
        tls = {"tls_certificate": f"{link}/own.pem", "tls_key": f"{link}/key.pem",
               "tls_ca": f"{link}/own.pem", "access_log": f"{link}/access.log"}  # fmt: skip
        (mine / "server.json").write_text(json.dumps(tls))
        user.own(mine)
        server = ("server", "--config", mine / "server.json", "--listen", "127.0.0.1:0",
                  "--data", mine / "data")  # fmt: skip
        for owner in (STRANGER, 0):
            os.lchown(link, owner, owner)
            refused = f"{link}{OF_STRANGER}"
            imported = user.sm("image", "import", f"oci:{link}/box:v1")
            assert imported.wait(GUARD_SECONDS) == (2 if owner else 0), imported.text
            assert (refused in imported.text) == (owner == STRANGER), imported.text
            started = user.sm(*server)
            if owner:
                assert started.wait(GUARD_SECONDS) != 0, started.text
                assert refused in started.text
            else:
                started.wait_for_output(b"muster listens on https://")
        assert (mine / "access.log").exists()
    finally:
        user.close()


def test_root_uses_no_state_folder_of_another_user(trap, machine):
    state = give_folder(trap.home / "state")
    trap.link("state/records", trap.ours)
    commands = (("clean", "--all"), ("jobs",), ("fit", "none.py"), ("image", "ls"))
    for words in commands:
        process = machine.sm(*words, environment={"MUSTER_STATE": str(state)})
        assert process.wait(GUARD_SECONDS) == 3, process.text
        start = f"state folder {state}: {trap.home}: not safe for muster's own files: "
        assert start in process.text
        assert f"it belongs to user {STRANGER}" in process.text
        assert len(process.text.strip().splitlines()) == 1


def test_a_state_folder_that_others_can_write_is_refused(machine):
    for mode, why in ((0o707, "all users"), (0o770, "group 12345")):
        os.chown(machine.state, 0, 12345)
        machine.state.chmod(mode)
        process = machine.sm("clean", "--all")
        assert process.wait(GUARD_SECONDS) == 3, process.text
        text = f"{machine.state}: not safe for muster's own files: {why} can write to it"
        assert text in process.text
    machine.state.chmod(0o700)


def test_roots_server_uses_no_data_folder_of_another_user(machine, trap):
    give_folder(trap.home / "data")
    for words in (("server", "--listen", "127.0.0.1:0"), ("key", "list")):
        process = machine.sm(*words, "--data", trap.home / "data")
        assert process.wait(GUARD_SECONDS) != 0, process.text
        assert f"{trap.home}: not safe for muster's own files: it belongs to user" in process.text
