"""What images cost: unpacked, pulled, started; against umoci, skopeo with tar, and podman.

    bench/images.py [SM] [unpack] [pull] [start] [hosts]

An image of some 300 MB in three gzip layers is made of this machine's own /usr. Each side begins
with an empty store, in turns; medians of wall seconds and of the CPU that the user's side of all
its processes took. A side that is not installed, or cannot run here, is left out and said.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
from docker_registry import docker_registry  # noqa: E402
from oci_image import layer, programs, write_layout  # noqa: E402
from process import Process  # noqa: E402

ROUNDS = 3
HOSTS = 64
PARTS = (["usr/lib/gcc", "usr/lib/python3"], ["usr/share/doc", "usr/share/perl"], ["usr/include"])
BYTES_MIN = 300 << 20
SCRIPT = b"#!/bin/sh\necho trains\n"
HIDDEN_IGZIP = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"']


def large_image(folder: pathlib.Path) -> None:
    """As the layout `folder`, tag v1."""
    tars, size = [], 0
    for paths in PARTS:
        there = [path for path in paths if pathlib.Path("/", path).exists()]
        words = ["tar", "-C", "/", "-c", *there]
        tars.append(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
        size += len(tars[-1])
    noise = max(0, BYTES_MIN - size)
    if noise:
        tars.append(layer({"noise": os.urandom(noise)}))
    write_layout(folder, tars)


class Side:
    """Commands, run one after the other; `{new}` is an empty folder of each run's own."""

    def __init__(self, name: str, *commands: list, env: dict[str, str] | None = None):
        self.name, self.commands, self.env = name, commands, env or {}
        self.wall: list[float] = []
        self.user: list[float] = []
        self.failure = ""

    def run(self, folder: pathlib.Path) -> None:
        new = folder / "new"
        new.mkdir()
        env = {**os.environ, **{key: value.format(new=new) for key, value in self.env.items()}}
        before, begun = os.times().children_user, time.monotonic()
        for words in self.commands:
            argv = [str(word).format(new=new) for word in words]
            try:
                done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                self.failure = f"{argv[0]} is not installed"
                break
            if done.returncode != 0:
                self.failure = (done.stderr.strip().splitlines() or ["failed"])[-1][:150]
                break
        self.wall.append(time.monotonic() - begun)
        self.user.append(os.times().children_user - before)
        subprocess.run(["rm", "-rf", new], check=True)


def in_turns(what: str, sides: list[Side], folder: pathlib.Path) -> None:
    for turn in range(ROUNDS):
        for side in sides if turn % 2 == 0 else sides[::-1]:
            if not side.failure:
                side.run(folder)
    ours = statistics.median(sides[0].wall)
    for side in sides:
        if side.failure:
            print(f"{what}: {side.name} left out: {side.failure}")
            continue
        wall, user = statistics.median(side.wall), statistics.median(side.user)
        print(f"{what}: {side.name}: {wall:.2f} s ({ours / wall:.2f}), {user:.2f} s of CPU",
              flush=True)  # fmt: skip
        record([Figure(f"image, {what}, {side.name}: wall_s", round(wall, 3), "s", "lower"),
                Figure(f"image, {what}, {side.name}: user_cpu_s", round(user, 3), "s of CPU",
                       "lower")])  # fmt: skip


def podman(verb: str, *words: str) -> list:
    """With a store of its own, which `rm -rf` can remove."""
    return ["podman", "--root", "{new}/root", "--runroot", "{new}/run", "--storage-driver",
            "overlay", verb, "-q", *words]  # fmt: skip


def untar(folder: str) -> list:
    script = 'for file in "$0"/*; do gzip -t "$file" 2>/dev/null && tar -xzf "$file" -C "$1"; done'
    return ["sh", "-c", script + "; true", folder, "{new}"]


def unpack(sm: pathlib.Path, folder: pathlib.Path) -> None:
    layout = folder / "layout"
    bring = [sm, "image", "import", f"oci:{layout}:v1", "--name", "box"]
    state = {"MUSTER_STATE": "{new}"}
    sides = [
        Side("muster", bring, env=state),
        Side("umoci", ["umoci", "unpack", "--image", f"{layout}:v1", "{new}/bundle"]),
        Side("skopeo and tar",
             ["skopeo", "copy", "-q", f"oci:{layout}:v1", "dir:{new}/dir"], untar("{new}/dir")),
        Side("podman", podman("pull", f"oci:{layout}:v1")),
    ]  # fmt: skip
    igzip = shutil.which("igzip", path="/usr/local/bin:/usr/bin:/bin")
    if igzip:
        sides.append(Side("muster without igzip", [*HIDDEN_IGZIP, igzip, *bring], env=state))
    in_turns("unpack", sides, folder)


def pull(sm: pathlib.Path, folder: pathlib.Path) -> None:
    with docker_registry(folder) as address:
        name = f"{address}/team/box:v1"
        subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false",
                        f"oci:{folder}/layout:v1", f"docker://{name}"], check=True)  # fmt: skip
        sides = [
            Side("muster", [sm, "image", "pull", name], env={"MUSTER_STATE": "{new}"}),
            Side("podman", podman("pull", "--tls-verify=false", name)),
            Side("skopeo and umoci",
                 ["skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{name}",
                  "oci:{new}/layout:v1"],
                 ["umoci", "unpack", "--image", "{new}/layout:v1", "{new}/bundle"]),
        ]  # fmt: skip
        in_turns("pull", sides, folder)


def first_line(argv: list, state: pathlib.Path, lines: int = 1) -> float:
    """Seconds from the command to the last host's line."""
    out = state / "output"
    process = Process([*argv, "--output", out], env={**os.environ, "MUSTER_STATE": str(state)})
    assert process.wait(300) == 0, process.text
    shutil.rmtree(out)
    assert process.out.count(b"trains") == lines, process.text
    return process.time_of(b"trains") - process.started_at


def small_image(sm: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Brings an image that can run `train` as `small`; its store."""
    state = folder / "state"
    state.mkdir(exist_ok=True)
    write_layout(folder / "small", [layer(programs("/bin/sh")), layer({"bin/train": SCRIPT})],
                 process={"Env": ["PATH=/bin"]})  # fmt: skip
    argv = [sm, "image", "import", f"oci:{folder}/small:v1", "--name", "small"]
    env = {**os.environ, "MUSTER_STATE": str(state)}
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=True)
    return state


def start(sm: pathlib.Path, folder: pathlib.Path) -> None:
    state = small_image(sm, folder)
    script = folder / "job.sh"
    script.write_bytes(SCRIPT)
    sides = {
        "without an image": [sm, "fit", script],
        "of an image": [sm, "fit", "--image", "small"],
    }
    taken: dict[str, list[float]] = {what: [] for what in sides}
    first = first_line(sides["of an image"], state)
    for turn in range(20):
        for what in sides if turn % 2 == 0 else reversed(sides):
            taken[what].append(first_line(sides[what], state))
    plain, image = (statistics.median(taken[what]) * 1000 for what in sides)
    print(f"start: {plain:.0f} ms to the first line without an image, {image:.0f} with one that is "
          f"here ({image / plain:.2f}); {first * 1000:.0f} the first time")  # fmt: skip
    record([Figure("image, start: first line_ms", round(image), "ms", "lower"),
            Figure("image, start: of one without an image", round(image / plain, 3), "ratio",
                   "lower")])  # fmt: skip


def hosts(sm: pathlib.Path, folder: pathlib.Path) -> None:
    state = small_image(sm, folder)
    argv = [sm, "fit", "--image", "small", "--hosts", HOSTS]
    taken = statistics.median(first_line(argv, state, HOSTS) for _ in range(3))
    print(f"hosts: {taken:.2f} s to the last of {HOSTS} hosts' first lines")
    record([Figure(f"image, start of {HOSTS} hosts: last line_s", round(taken, 2), "s", "lower")])


def main() -> None:
    words = sys.argv[1:]
    works = [work for work in (unpack, pull, start, hosts) if work.__name__ in words]
    named = [word for word in words if word not in ("unpack", "pull", "start", "hosts")]
    sm = pathlib.Path(named[0] if named else REPOSITORY / "build/release/sm").resolve()
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        folder = pathlib.Path(name)
        if not works or unpack in works or pull in works:
            large_image(folder / "layout")
        for work in works or (unpack, pull, start, hosts):
            work(sm, folder)


if __name__ == "__main__":
    main()
