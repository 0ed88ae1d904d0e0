"""sm image pull: from a registry that misbehaves (fake_registry.py), and from Debian's own."""

import base64
import json
import os
import re
import shutil
import subprocess

import pytest

from docker_registry import docker_registry
from fake_registry import PASSWORD, USER, FakeRegistry, OciImage, index_of
from lab import SM
from oci_image import ARCHITECTURE, digest
from process import Process, wait_until
from terminal import on_terminal

GUARD_SECONDS = 60
BCRYPT_OF_PASSWORD = "$2b$05$abcdefghijklmnopqrstuurxZestt7UYq5ASX2gMyTwXn8sif7KWS"  # htpasswd -B


@pytest.fixture
def here(tmp_path):
    return Here(tmp_path)


class Here:
    """A home and a store of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "MUSTER_STATE": str(folder / "state"),
        }

    def pull(self, *args, **more):
        argv = [SM, "image", "pull", *args]
        return subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=GUARD_SECONDS, **more
        )

    def listed(self) -> str:
        return subprocess.run([SM, "image", "ls"], env=self.env, capture_output=True, text=True,
                              timeout=GUARD_SECONDS).stdout

    def login(self, registry: str, user: str = USER, password: str = PASSWORD) -> None:
        folder = self.home / ".docker"
        folder.mkdir(exist_ok=True)
        auth = base64.b64encode(f"{user}:{password}".encode()).decode()
        (folder / "config.json").write_text(json.dumps({"auths": {registry: {"auth": auth}}}))

    def files(self) -> dict:
        """{name: bytes} of all unpacked layers."""
        roots = (self.folder / "state/images/layers").glob("*/root")
        return {
            path.name: path.read_bytes()
            for root in roots
            for path in root.rglob("*")
            if path.is_file()
        }

    def halves(self) -> list:
        """What is neither whole nor gone."""
        images = self.folder / "state/images"
        names = {path.name.split(":")[-1] for path in images.rglob("*") if path.is_dir()}
        folders = [name for name in names if name.startswith(".")]
        blobs = images / "blobs/sha256"
        wrong = [
            path.name
            for path in (blobs.iterdir() if blobs.exists() else [])
            if digest(path.read_bytes()) != "sha256:" + path.name
        ]
        return folders + wrong


def small_image(seed: str = "a", layers: int = 3) -> OciImage:
    return OciImage(*[{f"{seed}{i}": os.urandom(400_000)} for i in range(layers)])


def claiming(image: OciImage, layers: list[bytes]) -> OciImage:
    """An image of other layers whose configuration says that they are those of `image`."""
    liar = OciImage(*[{"a": b"a"}] * len(layers))
    liar.config, liar.layers = image.config, layers
    manifest = json.loads(image.manifest)
    for told, data in zip(manifest["layers"], layers, strict=True):
        told.update(digest=digest(data), size=len(data))
    liar.manifest = json.dumps(manifest).encode()
    return liar


def files_of(image: OciImage, here: Here) -> bool:
    """Whether the image is there whole, and its packed layers are gone."""
    kept = {path.name for path in (here.folder / "state/images/blobs/sha256").iterdir()}
    packed = {digest(data).removeprefix("sha256:") for data in image.layers}
    return len(here.files()) == len(image.layers) and not here.halves() and not kept & packed


def test_an_image_is_pulled_once_and_its_digest_is_shown(here):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        first = here.pull(name)
        assert first.returncode == 0, first.stderr
        assert first.stdout == f"{name} {digest(image.manifest)}\n"
        assert first.stderr == ""
        assert files_of(image, here)
        again = here.pull(f"{registry.address}/team/box@{digest(image.manifest)}", "--json")
        assert again.returncode == 0, again.stderr
        told = json.loads(again.stdout)
        assert told["Digest"] == digest(image.manifest)
        assert (told["Layers"], told["PulledBytes"]) == (3, 0)
        for layer in image.layers:
            assert registry.asked(digest(layer)) == 1
        # Another image over the same layers: what is there does not come.
        more = OciImage({"other": b"x"})
        assert here.pull(registry.add("team/more", "v1", more)).returncode == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"cut_after": 150_000, "times": 2},
        {"cut_after": 150_000, "times": 2, "ignore_range": True},
        {"status": 500, "times": 2},
        {"status": 429, "headers": {"Retry-After": "1"}, "times": 1},
        {"status": 503, "headers": {"Retry-After": "0"}, "times": 3},
    ],
    ids=lambda fault: "-".join(fault),
)
def test_what_passes_delays_a_pull(here, fault):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        registry.fault(digest(image.layers[1]), **fault)
        done = here.pull(name)
        assert done.returncode == 0, done.stderr
        assert files_of(image, here)
        assert registry.asked(digest(image.layers[1])) == fault["times"] + 1


WRONG = {
    "corrupt": ({"body": None}, "wrong digest: sha256:"),
    "longer": (
        {"body": b"x" * 900_000},
        "the registry's copy has 900000 bytes, but the manifest specifies",
    ),
    "shorter": ({"body": b"x" * 10}, "registry's copy has 10 bytes, but the manifest specifies"),
    "endless": ({"endless": True}, "received more than"),
    "gone": ({"status": 404}, "the registry has no such blob; the registry says: FAKE"),
    "not TLS's": (
        {"status": 307, "headers": {"Location": "http://192.0.2.1/x"}},
        "the registry redirects to 192.0.2.1 without TLS",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_stays_wrong_fails_whole(here, name):
    fault, want = WRONG[name]
    with FakeRegistry() as registry:
        image = small_image()
        where = registry.add("team/box", "v1", image)
        layer = image.layers[1]
        if fault.get("body", b"") is None:
            fault = {"body": layer[:-9] + bytes([layer[-9] ^ 1]) + layer[-8:]}
        registry.fault(digest(layer), **fault)
        failed = here.pull(where)
        assert failed.returncode in (2, 3), failed.stderr
        assert want in failed.stderr and failed.stderr.count("\n") == 1
        assert failed.stdout == ""
        assert not here.halves()
        registry.faults.clear()
        healed = here.pull(where)
        assert healed.returncode == 0, healed.stderr
        assert files_of(image, here)


def test_wrong_documents_are_refused(here):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        cases = [
            ("v1", {"body": b"{}"}, 3, "the manifest has the wrong digest"),
            ("v1", {"endless": True}, 3, "larger than 4 MiB"),
            ("v1", {"status": 403}, 2, "a login is required"),
            (digest(image.config), {"body": b"{}"}, 3, "the manifest specifies"),
        ]
        for what, fault, code, want in cases:
            registry.faults.clear()
            registry.fault(what, **fault)
            failed = here.pull(name)
            assert (failed.returncode, want in failed.stderr) == (code, True), failed.stderr
        missing = here.pull(f"{registry.address}/team/box:v2")
        assert missing.returncode == 2
        assert "no such image" in missing.stderr
        assert here.pull("team/box:").returncode == 2
        assert "sm image import" in here.pull("oci:/tmp/x").stderr


def test_an_index_gives_the_platforms_image(here):
    with FakeRegistry() as registry:
        mine, other = small_image("mine"), small_image("other")
        registry.add("team/box", "mine", mine)
        registry.add("team/box", "other", other)
        index = index_of({"s390x": other, ARCHITECTURE: mine})
        name = registry.add_index("team/box", "v1", index)
        assert here.pull(name).returncode == 0
        assert set(here.files()) == {"mine0", "mine1", "mine2"}
        none = here.pull(name, "--platform", "linux/mips64")
        assert none.returncode == 2
        assert "linux/s390x" in none.stderr
        assert here.pull(name, "--platform", "mips").returncode == 2


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_logins_and_redirects(here, login):
    with FakeRegistry(login) as registry, FakeRegistry() as elsewhere:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        refused = here.pull(name)
        assert refused.returncode == 2
        here.login(registry.address, password="wrong:hush")
        wrong = here.pull(name)
        assert wrong.returncode == 2
        assert "hush" not in refused.stderr + wrong.stderr
        assert str(here.home / ".docker/config.json") in wrong.stderr
        here.login(registry.address)
        layers = [digest(data) for data in image.layers]
        elsewhere.blobs = image.blobs()
        place = f"http://{elsewhere.address}/elsewhere/x/{layers[0]}?signed=hush"
        registry.fault(layers[0], status=307, headers={"Location": place})
        elsewhere.fault(layers[0], cut_after=100_000, times=1)
        registry.fault(layers[1], expire=True, times=1)
        done = here.pull(name)
        assert done.returncode == 0, done.stderr
        assert files_of(image, here)
        assert elsewhere.requests and all(shown == "" for _, _, shown in elsewhere.requests)
        assert "hush" not in done.stderr + done.stdout
        if login == "bearer":
            assert registry.tokens == 2


def test_a_token_that_expires_while_a_layer_comes_is_asked_for_again(here):
    with FakeRegistry("bearer") as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        here.login(registry.address)
        layer = digest(image.layers[1])
        registry.fault(layer, cut_after=150_000, expire_after=True, times=1)
        done = here.pull(name)
        assert done.returncode == 0, done.stderr
        assert files_of(image, here)
        rests = [wanted for path, wanted, _ in registry.requests if path.endswith(layer)]
        assert rests[0] == "" and all(wanted.startswith("bytes=") for wanted in rests[1:])
        assert registry.tokens == 2


def test_redirects_in_a_circle_end(here):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        layer = digest(image.layers[1])
        place = f"http://{registry.address}/v2/team/box/blobs/{layer}"
        registry.fault(layer, status=307, headers={"Location": place})
        failed = here.pull(name)
        assert failed.returncode in (2, 3), failed.stderr
        assert "redirect" in failed.stderr and failed.stderr.count("\n") == 1, failed.stderr
        assert registry.asked(layer) < 100
        registry.faults.clear()
        assert here.pull(name).returncode == 0
        assert files_of(image, here)


def test_on_a_full_disk_a_pull_fails_whole_and_goes_on_when_there_is_room(here):
    state = here.folder / "state"
    state.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs", state]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("no tmpfs can be mounted")
    try:
        with FakeRegistry() as registry:
            image = small_image(layers=6)
            name = registry.add("team/box", "v1", image)
            failed = here.pull(name)
            assert failed.returncode == 3, failed.stderr
            full = "No space left|3/4 of the disk's free space"
            assert re.search(full, failed.stderr), failed.stderr
            assert failed.stderr.count("\n") == 1, failed.stderr
            assert not here.halves()
            subprocess.run(["mount", "-o", "remount,size=64m", state], check=True)
            healed = here.pull(name)
            assert healed.returncode == 0, healed.stderr
            assert files_of(image, here)
    finally:
        subprocess.run(["umount", state], check=True)


def test_ten_pulls_at_once_are_one(here):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        registry.fault(digest(image.layers[2]), status=500, times=1)  # Time for all to meet.
        ten = [Process([SM, "image", "pull", name], env=here.env) for _ in range(10)]
        for each in ten:
            assert each.wait(2 * GUARD_SECONDS) == 0, each.text
        assert files_of(image, here)
        assert [registry.asked(digest(layer)) for layer in image.layers] == [1, 1, 2]


def test_a_slow_registry_keeps_no_other_pull_waiting(here):
    image = small_image()
    with FakeRegistry() as slow, FakeRegistry() as good:
        name = slow.add("evil/box", "v1", image)
        slow.fault(digest(image.layers[0]), stall_after=200_000)
        process = Process([SM, "image", "pull", name], env=here.env)
        wait_until("the stall", slow.stalled.is_set)
        done = here.pull(good.add("team/box", "v1", image))
        assert done.returncode == 0, done.stderr
        assert len(here.files()) == 3
        # Another repository of the same registry is another source, too.
        slow.add("good/box", "v1", image)
        slow.faults.clear()
        assert here.pull(f"{slow.address}/good/box:v1").returncode == 0
        process.signal(2)
        assert process.wait(GUARD_SECONDS) == 130


@pytest.mark.parametrize("junk", [False, True], ids=["true digests", "true diff ids"])
def test_a_digest_does_not_grant_access_to_anothers_layer(here, junk):
    image = small_image()
    with FakeRegistry(login="basic") as private, FakeRegistry() as evil:
        name = private.add("team/box", "v1", image)
        here.login(private.address)
        assert here.pull(name).returncode == 0
        told = evil.add("evil/box", "v1", claiming(image, [os.urandom(99)] * 3) if junk else image)
        for layer in image.layers:
            evil.blobs.pop(digest(layer), None)
        refused = here.pull(told)
        assert refused.returncode != 0 and refused.stderr.count("\n") == 1, refused.stderr
        assert told not in here.listed() and name in here.listed()
        if not junk:  # Who has the bytes gets the layers, and need not send them twice.
            evil.add("evil/box", "v1", image)
            evil.requests.clear()
            for _ in range(2):
                done = here.pull(told)
                assert done.returncode == 0, done.stderr
            assert [evil.asked(digest(layer)) for layer in image.layers] == [1, 1, 1]
            assert files_of(image, here)


def test_a_layer_is_pulled_again_for_another_login(here):
    image = small_image()
    with FakeRegistry() as registry:
        name = registry.add("team/box", "v1", image)
        assert here.pull(name).returncode == 0
        registry.login = "bearer"
        here.login(registry.address)
        for _ in range(2):
            assert here.pull(name).returncode == 0
        assert [registry.asked(digest(layer)) for layer in image.layers] == [2, 2, 2]


def test_a_pull_that_is_ended_leaves_no_half(here):
    with FakeRegistry() as registry:
        image = small_image()
        name = registry.add("team/box", "v1", image)
        registry.fault(digest(image.layers[0]), stall_after=200_000, times=1)
        process = Process([SM, "image", "pull", name], env=here.env)
        wait_until("the stall", registry.stalled.is_set)
        process.signal(2)
        assert process.wait(GUARD_SECONDS) == 130
        assert here.files() == {}
        registry.released.set()
        assert here.pull(name).returncode == 0
        assert files_of(image, here)


def test_a_terminal_sees_bytes_and_layers(here):
    with FakeRegistry() as registry:
        name = registry.add("team/box", "v1", small_image())
        shown = on_terminal([SM, "image", "pull", name], env=here.env)
        assert shown.code == 0
        assert f"pulling {name}: 0.0 of 1.2 MB, 0 of 3 layers" in shown.lines
        assert shown.lines[-2].startswith(name + " sha256:")


def openssl(folder, *words) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def debians_registry(tmp_path):
    """docker-registry with TLS, a CA of its own, and htpasswd. Its address."""
    openssl(tmp_path, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
            "/CN=A CA", "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
    openssl(tmp_path, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=A registry", "-keyout",
            "tls.key", "-out", "tls.csr")  # fmt: skip
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1")
    openssl(tmp_path, "x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-days", "1", "-CAcreateserial", "-extfile", "names", "-out", "tls.crt")  # fmt: skip
    (tmp_path / "roots").mkdir()
    shutil.copy(tmp_path / "ca.crt", tmp_path / "roots")
    tls = {"certificate": str(tmp_path / "tls.crt"), "key": str(tmp_path / "tls.key")}
    with docker_registry(tmp_path, tls, f"{USER}:{BCRYPT_OF_PASSWORD}\n") as address:
        yield address


def test_debians_registry_by_tls_and_htpasswd(here, tmp_path, debians_registry):
    image = small_image(layers=5)
    image.write_layout(tmp_path / "layout")
    name = f"{debians_registry}/team/box:v1"
    here.login(debians_registry)
    subprocess.run(
        ["skopeo", "copy", "--dest-cert-dir", tmp_path / "roots", "--authfile",
         here.home / ".docker/config.json", f"oci:{tmp_path}/layout:v1", f"docker://{name}"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    ca = str(tmp_path / "ca.crt")
    stranger = here.pull(name)
    assert stranger.returncode == 2
    assert "certificate is not trusted" in stranger.stderr
    done = here.pull(name, "--ca-file", ca)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name} {digest(image.manifest)}\n"
    assert files_of(image, here)
    (here.home / ".docker/config.json").unlink()
    none = here.pull(name, "--ca-file", ca)
    assert none.returncode == 2
    assert f"docker login {debians_registry}" in none.stderr
    words = ["--ca-file", ca, "--username", USER, "--password-stdin"]
    assert here.pull(name, *words, input=PASSWORD + "\n").returncode == 0
    wrong = here.pull(name, *words, input="hush\n")
    assert wrong.returncode == 2
    assert "hush" not in wrong.stderr
    assert here.pull(name, "--username", USER).returncode == 2
