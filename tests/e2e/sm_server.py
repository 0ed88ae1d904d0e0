"""`sm server` under test, in a data folder of its own.

    with SmServer(folder) as server:
        server.client("s3").create_bucket(Bucket="b")
        ... server.url, server.env(), server.kill(), server.start() ...
"""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import time

from lab import SM

START_SECONDS = 30


class SmServer:
    def __init__(self, folder, *flags: str, jobs: dict | None = None, config: dict | None = None,
                 open_files: tuple[int, int] | None = None, within=None,
                 env: dict | None = None):  # fmt: skip
        """`jobs`: what the config file says of jobs; `config`: what else it says; `open_files`: the
        limits (soft, hard) that it starts with; `within`: the namespaces of outside.py that it
        runs in; `env`: variables of its own."""
        self.own_env = {**os.environ, **(env or {})}
        self.within = within
        self.limits = [f"--nofile={open_files[0]}:{open_files[1]}"] if open_files else []
        self.data = folder / "data"
        self.flags = flags
        self.listen = "127.0.0.1:0"
        if jobs or config:
            path = folder / "server.json"
            path.write_text(json.dumps({**(config or {}), "jobs": jobs or {}}))
            self.flags += ("--config", str(path))
        self.url = ""
        self.keys: dict[str, str] = {}
        self.process: subprocess.Popen | None = None
        self.output = ""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()
        self._end_jobs()

    def _end_jobs(self) -> None:
        """Jobs outlive their server; not the test."""
        for path in (self.data / "machine" / "jobs").glob("*/algo-*/steward.pid"):
            pid, started = path.read_text().split()
            stat = pathlib.Path("/proc", pid, "stat")
            if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[19] == started:
                os.kill(int(pid), signal.SIGKILL)
        state = {**os.environ, "MUSTER_STATE": str(self.data / "machine")}
        subprocess.run([SM, "steward", "--sweep", "--all"], env=state, check=True, timeout=60,
                       stdout=subprocess.DEVNULL)

    def launch(self) -> None:
        """Starts it, and does not wait until it listens."""
        command = [SM, "server", "--data", self.data, "--listen", self.listen, *self.flags]
        if self.limits:
            command = ["prlimit", *self.limits, *command]
        if self.within:
            command = self.within.enter(command)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=False,
            env=self.own_env,
        )

    def start(self) -> None:
        """Starts it at a free port, where it stays; the keys of the first start stay, too."""
        self.launch()
        self.output = self._read_until(b"listens on", b"\n")
        if not self.keys and "Created an access key" not in self.output:
            self.output += self._read_until(b"AWS_DEFAULT_REGION", b"\n")
        self.url = re.search(r"listens on (\S+),", self.output)[1]
        self.listen = self.url.split("//", 1)[1]
        exports = dict(re.findall(r"^export (\w+)=(\S+)$", self.output, re.M))
        self.keys = {**self.keys, **exports}

    def _read_until(self, what: bytes, end: bytes) -> str:
        got, deadline = b"", time.monotonic() + START_SECONDS
        while what not in got or not got.endswith(end):
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            piece = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert piece, f"sm server did not say {what!r}: {got.decode()}"
            got += piece
        return got.decode()

    def said(self, *what: str) -> str:
        """The lines of its output that hold all of it, waited for."""
        def lines(text):
            return [line for line in text.splitlines() if all(word in line for word in what)]

        while not lines(self.output):
            self.output += self._read_until(what[-1].encode(), b"\n")
        return "\n".join(lines(self.output))

    def stop(self) -> int:
        """Politely. The exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self._ended()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._ended()

    def _ended(self) -> None:
        self.process.stdout.close()
        self.process = None

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def env(self) -> dict[str, str]:
        """For clients that run as processes, on a machine that has no jobs of its own."""
        quiet = {
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "MUSTER_STATE": str(self.data / "no-jobs"),
        }
        return {**os.environ, **quiet, **self.keys, "AWS_ENDPOINT_URL": self.url}

    def client(self, service: str, key: tuple[str, str] | None = None, **config):
        """A boto3 client, with another key if wanted; `config` goes into its Config."""
        import boto3
        from botocore.config import Config

        own = self.keys["AWS_ACCESS_KEY_ID"], self.keys["AWS_SECRET_ACCESS_KEY"]
        key_id, secret = key or own
        config.setdefault("retries", {"max_attempts": 1})
        return boto3.client(
            service,
            endpoint_url=self.url,
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            region_name="us-east-1",
            verify=self.keys.get("AWS_CA_BUNDLE"),
            config=Config(**config),
        )

    def resident_kib(self) -> int:
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])
