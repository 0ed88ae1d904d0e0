"""Part of tools/parts.py: runs parts in their lanes, until all have ended or a signal stops it.

One thread waits for the ends of processes, for signals and for the next deadline. Nothing outlives
a runner: each part is a process group of its own, which is killed when its first process has ended.
"""

import collections
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import parts_counts
import parts_report
import parts_table
from parts_report import Result
from parts_table import Part

TAIL_LINES = 80
LINE_CHARACTERS_MAX = 400
TAIL_BYTES_MAX = 256 * 1024
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Options:
    root: pathlib.Path  # Where the commands run.
    logs: pathlib.Path  # A folder for NAME.log of each part.
    say: Callable[[str], None]  # Prints a line, or several.
    on_end: Callable[[Result], None] = lambda result: None  # Called for each part that ended.
    status_seconds: float = 60  # After this time without any line, a status line follows.
    grace_seconds: float = 10  # From SIGTERM to SIGKILL.


@dataclasses.dataclass(frozen=True)
class Child:
    part: Part
    process: subprocess.Popen
    pidfd: int
    began: float  # On the monotonic clock.


@contextlib.contextmanager
def stop_signals() -> Iterator[socket.socket]:
    """SIGINT and SIGTERM as bytes to read, each a signal's number."""
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        fd_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        handlers = {}
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                handlers[number] = signal.signal(number, lambda *_: None)
            yield reader
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(fd_before)


class Runner:
    """Runs `parts`; `passed` names parts that passed in an earlier call. Call `run` once."""

    def __init__(self, parts: list[Part], passed: set[str], options: Options):
        self._options = options
        self._waiting = list(parts)
        self._parts_count = len(parts)
        self._passed = set(passed)
        self._running: list[Child] = []
        self._results: dict[str, Result] = {}
        self._selector = selectors.DefaultSelector()
        self._stopped = False
        self._kill_at: float | None = None
        self._said_at = time.monotonic()

    @property
    def stopped(self) -> bool:
        """Whether a signal ended the run."""
        return self._stopped

    def run(self) -> dict[str, Result]:
        """The result of each part by its name."""
        with self._selector, stop_signals() as signals:
            self._selector.register(signals, selectors.EVENT_READ)
            try:
                while True:
                    self._start_parts()
                    if not self._running:
                        break
                    for key, _ in self._selector.select(self._seconds_to_deadline()):
                        if key.data is None:
                            self._stop(signals)
                        else:
                            self._end(key.data)
                    self._meet_deadlines()
            finally:
                self._kill_all()
        for part in self._waiting:
            self._results[part.name] = Result(part.name, "not run", reason="interrupted")
        return self._results

    # --- parts ---

    def _start_parts(self) -> None:
        while not self._stopped:
            failed = {name for name, result in self._results.items() if result.state == "failed"}
            for name, reason in parts_table.blocked(self._waiting, failed).items():
                self._results[name] = Result(name, "not run", reason=f"{reason} failed")
                self._say(f"{name}: not run: {reason} failed")
            self._waiting = [part for part in self._waiting if part.name not in self._results]
            running = [child.part for child in self._running]
            ready = parts_table.startable(self._waiting, running, self._passed)
            if not ready:
                return
            for part in ready:
                self._waiting.remove(part)
                self._start(part)

    def _start(self, part: Part) -> None:
        parent = os.getpid()

        def end_with_parent() -> None:
            # SIGTERM and not SIGKILL: make passes it on to the commands that it runs.
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)  # The parent ended before the call.

        self._say(f"{part.name}: started (usually {part.usual_seconds:,} s)")
        log = self._log(part)
        try:
            with open(log, "wb") as output:
                output.write(f"+ {' '.join(part.run)}\n".encode())
                output.flush()
                process = subprocess.Popen(
                    part.run,
                    cwd=self._options.root,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    process_group=0,
                    preexec_fn=end_with_parent,
                )
        except OSError as error:
            with open(log, "a") as output:
                output.write(f"cannot start {part.run[0]}: {error.strerror}\n")
            self._finish(part, parts_report.judge(part.name, 127, None, 0), counted=False)
            return
        child = Child(part, process, os.pidfd_open(process.pid), time.monotonic())
        self._running.append(child)
        self._selector.register(child.pidfd, selectors.EVENT_READ, child)

    def _end(self, child: Child) -> None:
        """After the first process of a part has ended."""
        status = self._reap(child)
        seconds = round(time.monotonic() - child.began)
        with open(self._log(child.part), encoding="utf-8", errors="replace") as log:
            lines = log.readlines()
        counted = parts_counts.count(lines)
        failures = parts_counts.failed_cases(lines)
        result = parts_report.judge(child.part.name, status, counted, seconds, failures)
        if self._stopped and result.state == "failed":
            result = Result(child.part.name, "interrupted", seconds=seconds)
        self._finish(child.part, result, counted is not None)

    def _finish(self, part: Part, result: Result, counted: bool) -> None:
        self._results[part.name] = result
        counted = counted and result.state != "interrupted"
        self._say(parts_report.end_line(result, counted))
        if result.state == "passed":
            self._passed.add(part.name)
        if result.state == "failed":
            self._show_tail(part)
        if result.state != "interrupted":
            self._options.on_end(result)

    def _reap(self, child: Child) -> int:
        # The group's number cannot be another's before its leader has been waited for.
        self._kill(child, signal.SIGKILL)
        status = child.process.wait()
        self._selector.unregister(child.pidfd)
        os.close(child.pidfd)
        self._running.remove(child)
        return status

    # --- signals and deadlines ---

    def _stop(self, signals: socket.socket) -> None:
        numbers = signals.recv(64)
        if self._stopped:
            self._kill_at = time.monotonic()  # The second signal does not wait any longer.
            return
        self._stopped = True
        self._kill_at = time.monotonic() + self._options.grace_seconds
        names = ", ".join(child.part.name for child in self._running)
        self._say(f"{signal.Signals(numbers[0]).name}: ending {names}")
        for child in self._running:
            self._kill(child, signal.SIGTERM)

    def _seconds_to_deadline(self) -> float:
        deadline = self._said_at + self._options.status_seconds
        if self._kill_at is not None:
            deadline = min(deadline, self._kill_at)
        return max(0.0, deadline - time.monotonic())

    def _meet_deadlines(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = None
            for child in self._running:
                self._kill(child, signal.SIGKILL)
        if self._running and now >= self._said_at + self._options.status_seconds:
            running = ", ".join(f"{c.part.name} ({now - c.began:,.0f} s)" for c in self._running)
            self._say(f"running: {running}; {len(self._results)} of {self._parts_count} parts done")

    @staticmethod
    def _kill(child: Child, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.process.pid, number)

    def _kill_all(self) -> None:
        """After an exception: no part outlives the runner."""
        for child in list(self._running):
            self._reap(child)

    # --- output ---

    def _log(self, part: Part) -> pathlib.Path:
        return self._options.logs / f"{part.name}.log"

    def _say(self, text: str) -> None:
        self._said_at = time.monotonic()
        self._options.say(f"{time.strftime('%H:%M:%S')} {text}")

    def _show_tail(self, part: Part) -> None:
        log = self._log(part)
        lines = tail(log)
        shown = [f"{part.name} failed; the last {len(lines)} lines of {self._shown(log)}:"]
        self._options.say("\n".join([*shown, *(f"  {part.name} | {line}" for line in lines)]))

    def _shown(self, path: pathlib.Path) -> pathlib.Path:
        return path.relative_to(self._options.root)


def tail(path: pathlib.Path) -> collections.deque[str]:
    """The last lines of a file, from its last TAIL_BYTES_MAX bytes."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - TAIL_BYTES_MAX))
        text = file.read().decode(errors="replace")
    lines = (line[:LINE_CHARACTERS_MAX] for line in text.splitlines())
    return collections.deque(lines, maxlen=TAIL_LINES)
