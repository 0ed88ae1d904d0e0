"""Other S3 servers that bench/s3.py measures beside ours, where they are on PATH."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

START_SECONDS = 30


class OtherServer:
    """`keeps_connections`: else small requests would measure how it makes new ones."""

    def __init__(self, name, command, env, port, keeps_connections):
        self.name = name
        self.command = command
        self.env = {**os.environ, **env}
        self.keys = {"AWS_ACCESS_KEY_ID": "benchkey", "AWS_SECRET_ACCESS_KEY": "benchsecret"}
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.keeps_connections = keeps_connections
        self.process = None

    def __enter__(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, env=self.env, **quiet)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                pass
        self.__exit__()
        raise RuntimeError(f"{self.name} did not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def other_servers(folder: pathlib.Path) -> list[OtherServer]:
    found = []
    user, secret = "benchkey", "benchsecret"
    if program := shutil.which("versitygw"):
        data, port = folder / "versitygw", free_port()
        data.mkdir()
        env = {"ROOT_ACCESS_KEY_ID": user, "ROOT_SECRET_ACCESS_KEY": secret}
        command = [program, "--port", f"127.0.0.1:{port}", "posix", str(data)]
        found.append(OtherServer("versitygw", command, env, port, True))
    if program := shutil.which("minio"):
        data, port = folder / "minio", free_port()
        env = {"MINIO_ROOT_USER": user, "MINIO_ROOT_PASSWORD": secret}
        command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(data)]
        found.append(OtherServer("MinIO", command, env, port, True))
    repository = pathlib.Path(__file__).resolve().parents[1]
    moto = repository / "build" / "moto-venv" / "bin" / "moto_server"
    if moto.exists():  # In memory, and it checks no signature.
        port = free_port()
        found.append(OtherServer("moto", [str(moto), "-p", str(port)], {}, port, False))
    return found
