"""What the parts of gpu-check use: commands with a deadline, the card's figures, the report."""

import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
CUDA = HERE / "cuda.py"
MIB = 1 << 20
END_SECONDS = 20


class Skipped(Exception):
    """A part cannot run here, and why."""


class Failed(Exception):
    """What a part found, with the output that shows it."""


class Program:
    """A running program whose output is read as it comes. It is ended with the part."""

    def __init__(self, argv: list, env: dict[str, str], deadline: float):
        self.argv = [str(word) for word in argv]
        self.deadline = deadline
        self.text = ""
        self.process = subprocess.Popen(
            self.argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        os.set_blocking(self.process.stdout.fileno(), False)

    def read(self, until: str | None = None) -> str:
        """Returns the program's output up to a text; without one, all of it."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while until is None or until not in self.text:
                left = self.deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    line = " ".join(self.argv)
                    raise Failed(f"no end within the part's limit: {line}\n{self.text}")
                piece = self.process.stdout.read()
                if piece == b"":
                    break
                self.text += (piece or b"").decode(errors="replace")
        if until is not None and until not in self.text:
            raise Failed(f"expected {until!r} of {' '.join(self.argv)}\n{self.text}")
        return self.text

    def end(self, code: int = 0) -> str:
        """Returns the program's whole output; it must exit with this code."""
        self.read()
        got = self.process.wait()
        if got != code:
            raise Failed(f"exit code {got}, expected {code}: {' '.join(self.argv)}\n{self.text}")
        return self.text

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process.stdout.close()


class Bench:
    """The view of the machine that one part has; `deadline`: a time of time.monotonic()."""

    def __init__(self, options, part: str, folder: pathlib.Path, deadline: float):
        self.part = part
        self.python = options.python
        self.standins = options.standins
        self.folder = folder
        self.deadline = deadline
        self.programs: list[Program] = []
        self.jobs = 0
        self.env = dict(os.environ)
        if self.standins:
            self.env["PATH"] = f"{self.standins}/bin:{self.env['PATH']}"
            self.env["GPU_CHECK_LIBCUDA"] = f"{self.standins}/libcuda.so.1"

    def start(self, *argv, **env: str) -> Program:
        program = Program(list(argv), {**self.env, **env}, self.deadline)
        self.programs.append(program)
        return program

    def run(self, *argv, code: int = 0, **env: str) -> str:
        return self.start(*argv, **env).end(code)

    def fit(self, script, *words, name: str = "", gpus: int = 1, **env: str) -> Program:
        """A job of `script`, which has only its words in common with a program without muster."""
        self.jobs += 1
        own = ["--name", name or f"gpu-check-{self.part}-{self.jobs}-{os.getpid()}"]
        if self.standins:
            own += ["--bind", f"{self.standins}:{self.standins}:rw",
                    "--env", f"PATH={self.standins}/bin:/usr/local/bin:/usr/bin:/bin",
                    "--env", f"GPU_CHECK_LIBCUDA={self.standins}/libcuda.so.1"]  # fmt: skip
        own += ["--output", self.folder / f"out-{self.jobs}", "--gpus", gpus]
        return self.start("sm", "fit", script, *own, *words, **env)

    def cuda(self, action: str, *words, name: str = "", gpus: int = 1, **env: str) -> Program:
        """A job of the program for one GPU."""
        given = ["-p", f"action={action}", "--python", self.python]
        return self.fit(CUDA, *given, *words, name=name, gpus=gpus, **env)

    def bare(self, action: str, *words) -> Program:
        """Starts cuda.py without muster."""
        return self.start(self.python, CUDA, "--action", action, *words)

    def script(self, name: str, text: str) -> pathlib.Path:
        file = self.folder / f"{name}.py"
        file.write_text(text)
        return file

    def wait(self, seconds: float) -> None:
        with selectors.DefaultSelector() as nothing:
            nothing.select(seconds)

    def cards(self) -> list[dict[str, int]]:
        """The driver's word on each card: percent, used and total MiB."""
        text = self.run("nvidia-smi", "--query-gpu=utilization.gpu,memory.used,memory.total",
                        "--format=csv,noheader,nounits")  # fmt: skip
        names = ("percent", "used", "total")
        return [dict(zip(names, map(int, re.findall(r"\d+", line)), strict=True))
                for line in text.splitlines() if line.count(",") == 2]  # fmt: skip

    def free_again(self, before: int, seconds: float) -> float:
        """Seconds until the cards' used memory is what it was."""
        start = time.monotonic()
        while sum(card["used"] for card in self.cards()) > before + 16:
            if time.monotonic() - start > seconds:
                raise Failed(f"the card is not free after {seconds:.0f} s: {self.cards()}")
            self.wait(0.1)
        return time.monotonic() - start

    def needs(self, *programs: str) -> None:
        for program in programs:
            if not shutil.which(program, path=self.env["PATH"]):
                raise Skipped(f"{program} is not on PATH")

    def needs_standin(self, name: str, why: str) -> None:
        """Without a card, the part needs this in the folder of stand-ins."""
        if self.standins and not (pathlib.Path(self.standins) / name).exists():
            raise Skipped(why)

    def has_torch(self, more: str = "") -> bool:
        code = f"import torch{more}; raise SystemExit(not torch.version.cuda)"
        program = self.start(self.python, "-c", code)
        program.read()
        return program.process.wait() == 0

    def needs_torch(self, more: str = "") -> None:
        if not self.has_torch(more):
            what = "PyTorch with CUDA" + (" and Triton" if more else "")
            raise Skipped(f"{self.python} has no {what}")

    def close(self) -> None:
        for program in reversed(self.programs):
            program.close()


class Report:
    """A line for each part as it ends, and all of them as JSON."""

    def __init__(self):
        self.parts: list[dict] = []

    def add(self, part: str, result: str, seconds: float, text: str) -> None:
        row = {"part": part, "result": result, "seconds": round(seconds, 1), "text": text}
        self.parts.append(row)
        first, *rest = text.splitlines() or [""]
        print(f"{result:8} {part:12} {seconds:6.1f} s  {first}", flush=True)
        for line in rest if result == "FAILED" else []:
            print(f"         {line}", flush=True)

    def count(self, result: str) -> int:
        return sum(each["result"] == result for each in self.parts)

    def to_json(self, facts: dict) -> str:
        return json.dumps({**facts, "parts": self.parts}, indent=1) + "\n"
