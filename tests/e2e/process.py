"""Processes under test: started, read, timed and ended by id."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent() -> None:
    """In a child before exec: nothing that a test starts outlives the test run."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def in_network_of(pid: int):
    """The calling thread's sockets are of that process's network meanwhile."""
    with open("/proc/thread-self/ns/net") as home, open(f"/proc/{pid}/ns/net") as there:
        assert _libc.setns(there.fileno(), 0) == 0
        try:
            yield
        finally:
            assert _libc.setns(home.fileno(), 0) == 0


def wait_until(what: str, condition, seconds: float = 30.0):
    """The first true value of `condition()`. For things that give no descriptor to wait on."""
    pause = threading.Event()
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        pause.wait(0.005)


class Process:
    """A child with its output kept in memory, each piece with the time it came."""

    def __init__(self, argv: list, env: dict | None = None, cwd=None, own_session: bool = False):
        self.argv = [str(word) for word in argv]
        self.started_at = time.monotonic()
        self.ended_at: float | None = None
        self.usage = None  # Own and of all that it waited for; set when it has ended.
        self._pieces: dict[str, list[tuple[float, bytes]]] = {"out": [], "err": []}
        self._popen = subprocess.Popen(
            self.argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
            start_new_session=own_session,
        )
        self._threads = [
            threading.Thread(target=self._read, args=(name, pipe), daemon=True)
            for name, pipe in (("out", self._popen.stdout), ("err", self._popen.stderr))
        ]
        self._threads.append(threading.Thread(target=self._reap, daemon=True))
        for thread in self._threads:
            thread.start()

    def _read(self, name: str, pipe) -> None:
        while data := os.read(pipe.fileno(), 1 << 16):
            self._pieces[name].append((time.monotonic(), data))

    def _reap(self) -> None:
        _, status, self.usage = os.wait4(self.pid, 0)
        self._popen.returncode = os.waitstatus_to_exitcode(status)
        self.ended_at = time.monotonic()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def out(self) -> bytes:
        return b"".join(data for _, data in list(self._pieces["out"]))

    @property
    def err(self) -> bytes:
        return b"".join(data for _, data in list(self._pieces["err"]))

    @property
    def text(self) -> str:
        """Both streams, to show and to search."""
        return self.out.decode(errors="replace") + self.err.decode(errors="replace")

    def time_of(self, wanted: bytes, which: str = "last") -> float:
        """When the first or last piece of stdout that ends an occurrence of `wanted` came."""
        data = self.out
        at = data.rfind(wanted) if which == "last" else data.find(wanted)
        assert at >= 0, f"{wanted!r} is not in the output:\n{self.text}"
        seen = 0
        for when, piece in self._pieces["out"]:
            seen += len(piece)
            if seen >= at + len(wanted):
                return when
        raise AssertionError("unreachable")

    def running(self) -> bool:
        return self.ended_at is None

    def wait(self, seconds: float) -> int:
        """The exit code, -N for signal N. Fails the test if it still runs after `seconds`."""
        self._threads[2].join(seconds)
        assert (
            self.ended_at is not None
        ), f"still running after {seconds:g} s: {self.argv}\n{self.text}"
        for thread in self._threads[
            :2
        ]:  # What inherited the pipes may live on; then what came, came.
            thread.join(1.0)
        return self._popen.returncode

    def wait_for_output(self, wanted: bytes, seconds: float = 30.0) -> None:
        def there():
            assert (
                self.running() or wanted in self.out + self.err
            ), f"ended without {wanted!r}:\n{self.text}"
            return wanted in self.out + self.err

        wait_until(f"{wanted!r} from {self.argv[-1]}; it wrote:\n{self.text}", there, seconds)

    def wait_for_time(self, moment: float) -> None:
        """Waits until `moment` of the monotonic clock, or its end."""
        self._threads[2].join(max(0.0, moment - time.monotonic()))

    def signal(self, number: int) -> None:
        if self.running():
            with contextlib.suppress(ProcessLookupError):  # Reaped since, by our thread.
                os.kill(self.pid, number)

    def end(self) -> None:
        self.signal(signal.SIGKILL)
        self._threads[2].join(10)


def children_of(pid: int) -> list[int]:
    """Pids of the direct children; none if it is gone."""
    found: list[int] = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text().split()]
        except OSError:
            pass
    return found


def namespace_pids(pid: int) -> list[int]:
    """The process's pid in every pid namespace, outermost first; empty if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    line = next(line for line in status.splitlines() if line.startswith("NSpid:"))
    return [int(word) for word in line.split()[1:]]


def state_of(pid: int) -> str:
    """One letter as in ps; empty if it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def command_line(pid: int) -> list[str]:
    try:
        data = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode(errors="replace") for word in data.split(b"\0")[:-1]]
