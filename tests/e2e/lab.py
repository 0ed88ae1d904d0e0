"""Test hosts on one machine, made of namespaces only.

A lab is a process with network, pid and mount namespaces of its own and a bridge in them. Each host
is a process inside the lab with its own hostname, network (eth0 on the bridge), pids, ipc, /tmp,
/run, /dev/shm, and private writable copies of /etc and /opt. Killing a host's first process kills
all of it; killing the lab's kills everything, whatever state it is in. The machine's own network
and mounts do not change. `train` runs on bare hosts: there is no runtime, sshd or steward.
"""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess

from process import (
    Process,
    children_of,
    command_line,
    die_with_parent,
    namespace_pids,
    state_of,
    wait_until,
)

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RELEASE = REPOSITORY / os.environ.get("MUSTER_BUILD", "build/release")
SM = RELEASE / "sm"
VENV = REPOSITORY / "build" / "venv"
SUBNET = "10.99.0"

# A namespace's first process: orphans that it inherits vanish as they end.
REAPER = """exec perl -e '$SIG{CHLD} = "IGNORE"; sleep while 1'\n"""

LAB_SCRIPT = """
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
echo ready
""" + REAPER

# $1: the host's name, $2: its folder; $3: the repository, $4: where the frameworks lie, if in /tmp
# (both are hidden by the host's /tmp if they lie there).
HOST_SCRIPT = """
set -e
hostname "$1"
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/sshd /run/lab/repository /run/lab/home
mount --bind "$3" /run/lab/repository
if [ -n "$4" ]; then
  mkdir /run/lab/frameworks
  mount --bind "$4" /run/lab/frameworks
fi
mount -t tmpfs -o mode=1777 tmpfs /tmp
if [ -n "$4" ]; then
  mkdir -p "$4"
  mount --move /run/lab/frameworks "$4"
fi
mkdir -p "$3"
mountpoint -q "$3" || [ -e "$3/Makefile" ] || mount --move /run/lab/repository "$3"
for name in etc opt; do
  mkdir -p /run/lab/$name/upper /run/lab/$name/work
  mount -t overlay -o lowerdir=/$name,upperdir=/run/lab/$name/upper,workdir=/run/lab/$name/work \
    overlay /$name
done
mount -t tmpfs tmpfs /dev/shm
cp "$2/hosts" /etc/hosts
mkdir -p /opt/ml
mount --bind "$2/ml" /opt/ml
ip link set lo up
echo ready
""" + REAPER


def _ready(process: subprocess.Popen, what: str) -> None:
    line = process.stdout.readline()
    if line != b"ready\n":
        raise RuntimeError(f"{what} did not start: {line!r} {process.stderr.read()!r}")


def _first_process(top: int, depth: int) -> int:
    """The pid 1 of the namespace that `top` or its child made, `depth` namespaces down."""

    def find():
        todo = [top]
        while todo:
            pid = todo.pop()
            pids = namespace_pids(pid)
            if len(pids) == depth and pids[-1] == 1:
                return pid
            todo += children_of(pid)
        return None

    return wait_until("a namespace's first process", find)


def frameworks_in_tmp() -> str:
    """The folder that build/frameworks leads to, where a host's own /tmp would hide it."""
    for link in (REPOSITORY / "build" / "frameworks").glob("*"):
        folder = str(link.resolve().parent)
        if folder.startswith("/tmp/") and not folder.startswith(f"{REPOSITORY}/"):
            return folder
    return ""


class Host:
    """One test host. Its `folder` outlives it; `base` is what it sees as /opt/ml."""

    def __init__(self, lab: "Lab", index: int):
        self.lab = lab
        self.name = f"algo-{index}"
        self.address = f"{SUBNET}.{index}"
        self.folder = lab.folder / self.name
        self.base = self.folder / "ml"
        self.link = f"v{index}"
        self.base.mkdir(parents=True)
        lines = ["127.0.0.1 localhost"] + [f"{SUBNET}.{n} algo-{n}" for n in range(1, 255)]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        enter = ["/usr/bin/nsenter", "-t", lab.pid, "--net", "--pid", "--mount"]
        make = [
            "unshare",
            "--net",
            "--pid",
            "--mount",
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child=KILL",
            "--mount-proc",
        ]
        places = [self.name, self.folder, REPOSITORY, frameworks_in_tmp()]
        argv = enter + make + ["sh", "-c", HOST_SCRIPT, "host", *places]
        self._process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        _ready(self._process, self.name)
        self.pid = _first_process(self._process.pid, lab.depth + 1)
        lab.ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        lab.ip("link", "set", self.link, "master", "br0", "up")
        self.check("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.check("ip", "link", "set", "eth0", "up")

    def enter(self, argv: list) -> list[str]:
        """The command line that runs `argv` inside."""
        spaces = ["--mount", "--uts", "--ipc", "--net", "--pid"]
        words = ["/usr/bin/nsenter", "-t", self.pid, *spaces, *argv]
        return [str(word) for word in words]

    def check(self, *argv) -> bytes:
        """Runs a short command inside; its stdout. Fails if it fails."""
        done = subprocess.run(self.enter(list(argv)), capture_output=True, check=False, timeout=60)
        assert done.returncode == 0, f"{shlex.join(map(str, argv))}: {done.stderr.decode()}"
        return done.stdout

    def start(self, argv: list, env: dict | None = None) -> Process:
        return Process(self.enter(argv), env=env, cwd="/")

    def path(self, inside: str) -> pathlib.Path:
        """Where the machine sees the host's `inside`."""
        return pathlib.Path(f"/proc/{self.pid}/root{inside}")

    def processes(self) -> dict[int, list[str]]:
        """Living processes but the first, by the machine's pid, with their command lines.

        None once the first has ended: the kernel ends all others before it.
        """
        found = {}
        try:
            space = os.readlink(f"/proc/{self.pid}/ns/pid")
        except FileNotFoundError:
            return found
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.pid:
                continue
            try:
                same = os.readlink(f"/proc/{entry}/ns/pid") == space
            except OSError:
                continue
            if same and state_of(int(entry)) not in ("", "Z", "X"):
                found[int(entry)] = command_line(int(entry))
        return found

    def find(self, wanted) -> list[int]:
        """Pids whose command line satisfies `wanted(words)`."""
        return [pid for pid, words in self.processes().items() if words and wanted(words)]

    def running(self) -> bool:
        return state_of(self.pid) not in ("", "Z", "X")

    # What can happen to a host.

    def kill(self) -> None:
        """As if the machine lost power, except that the kernel closes its connections."""
        os.kill(self.pid, signal.SIGKILL)

    def cut(self) -> None:
        """Pulls the host's network cable: no packet, no reset, nothing."""
        self.lab.ip("link", "set", self.link, "down")

    def stop(self) -> None:
        """Every process stops; connections stay open and silent."""
        for pid in [*self.processes(), self.pid]:
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in [self.pid, *self.processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


class Lab:
    """Use as a context; `hosts(n)` gives algo-1 … algo-n, made once."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._hosts: list[Host] = []
        argv = [
            "unshare",
            "--net",
            "--pid",
            "--mount",
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child=KILL",
            "--mount-proc",
            "sh",
            "-c",
            LAB_SCRIPT,
        ]
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        _ready(self._process, "lab")
        self.depth = len(namespace_pids(os.getpid())) + 1
        self.pid = _first_process(self._process.pid, self.depth)

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def hosts(self, count: int) -> list[Host]:
        while len(self._hosts) < count:
            self._hosts.append(Host(self, len(self._hosts) + 1))
        return self._hosts[:count]

    def ip(self, *words) -> None:
        """ip(8) in the lab's network, with the machine's pids."""
        argv = ["/usr/bin/nsenter", "-t", self.pid, "--net", "ip", *words]
        subprocess.run([str(word) for word in argv], check=True, capture_output=True, timeout=60)

    def close(self) -> None:
        if state_of(self.pid) not in ("", "Z", "X"):
            os.kill(self.pid, signal.SIGKILL)
        self._process.wait(30)
        for pipe in (self._process.stdout, self._process.stderr):
            pipe.close()
        for host in self._hosts:
            host._process.wait(30)
            for pipe in (host._process.stdout, host._process.stderr):
                pipe.close()
