"""S3 of `sm server` in figures, beside moto's server: `bench/s3.py [--seconds N]`.

moto keeps no connection for long, so its small requests would measure that: it gets the large file.
Small requests go through bench/http_load.cc, signed beforehand (a signature is checked each time);
one large file through boto3. Server and client share the machine: what counts is the ratio.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))

from sm_server import SmServer  # noqa: E402

KEYS = 200
CONNECTIONS = 16
LARGE_BYTES = 256 << 20


class MotoServer:
    """Keeps its objects in memory and checks no signature."""

    def __init__(self, folder: pathlib.Path):
        self.program = shutil.which("moto_server") or ""
        self.keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        self.port = 7799
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.program, "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.url, timeout=1)
                return self
            except OSError:
                self.process.poll()
        raise RuntimeError("moto_server did not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def client_of(server):
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=server.keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=server.keys["AWS_SECRET_ACCESS_KEY"],
    )


def signed(server, method: str, key: str, body: bytes) -> bytes:
    """The bytes of a request as boto3 would send it, but for Expect."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest(method, f"{server.url}/bench/{key}", data=body)
    keys = Credentials(server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"])
    S3SigV4Auth(keys, "s3", "us-east-1").add_auth(request)
    head = f"{method} /bench/{key} HTTP/1.1\r\nHost: {server.url.removeprefix('http://')}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    if body and "Content-Length" not in request.headers:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def cpu_of(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server, program: pathlib.Path, folder: pathlib.Path, requests, seconds: float) -> dict:
    file = folder / "requests"
    file.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in requests))
    before = cpu_of(server.process.pid)
    words = [program, str(server.port), str(CONNECTIONS), str(seconds), file]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[:200]}
    figures = json.loads(done.stdout)
    used = cpu_of(server.process.pid) - before
    figures["server_us_each"] = round(used / seconds / max(figures["per_second"], 1) * 1e6, 1)
    return figures


def large(server, s3, folder: pathlib.Path) -> dict:
    file = folder / "large"
    file.write_bytes(os.urandom(LARGE_BYTES))
    figures = {}
    for name, work in {
        "put": lambda: s3.upload_file(str(file), "bench", "large"),
        "get": lambda: s3.download_file("bench", "large", str(folder / "back")),
    }.items():
        cpu, start = cpu_of(server.process.pid), time.monotonic()
        own = resource.getrusage(resource.RUSAGE_SELF)
        work()
        took = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        client = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
        figures[name] = {
            "mib_per_second": round((LARGE_BYTES >> 20) / took),
            "server_cpu_s": round(cpu_of(server.process.pid) - cpu, 2),
            "client_cpu_s": round(client, 2),
        }
    return figures


def listing(s3) -> dict:
    start = time.monotonic()
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix="many/")
    count = sum(len(page.get("Contents", [])) for page in pages)
    return {"keys": count, "seconds": round(time.monotonic() - start, 3)}


def measure(server, program: pathlib.Path, folder: pathlib.Path, seconds: float, many: int) -> dict:
    """All of it; without `seconds` the large file only."""
    s3 = client_of(server)
    s3.create_bucket(Bucket="bench")
    figures = {}
    if not seconds:
        return {"large": large(server, s3, folder)}
    for size, name in ((4 << 10, "4k"), (64 << 10, "64k")):
        body = os.urandom(size)
        puts = [signed(server, "PUT", f"{name}/{i}", body) for i in range(KEYS)]
        gets = [signed(server, "GET", f"{name}/{i}", b"") for i in range(KEYS)]
        figures[f"put {name}"] = load(server, program, folder, puts, seconds)
        for i in range(KEYS):
            s3.put_object(Bucket="bench", Key=f"{name}/{i}", Body=body)
        figures[f"get {name}"] = load(server, program, folder, gets, seconds)
    figures["large"] = large(server, s3, folder)
    if many:
        puts = [signed(server, "PUT", f"many/{i:06}", b"x") for i in range(many)]
        per_second = figures["put 4k"].get("per_second", 1000)
        load(server, program, folder, puts, many / max(per_second, 100) * 1.5)
        figures["listing"] = listing(s3)
        figures["listing again"] = listing(s3)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--many", type=int, default=20_000, help="keys of the listing's bucket")
    parser.add_argument("--no-moto", action="store_true")
    options = parser.parse_args()
    program = REPOSITORY / "build" / "bench" / "http_load"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = REPOSITORY / "bench" / "http_load.cc"
    subprocess.run(["c++", "-std=c++20", "-O2", "-o", program, source], check=True)
    (REPOSITORY / "build" / "bench").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build" / "bench") as name:
        folder = pathlib.Path(name)
        with SmServer(folder) as server:
            figures = measure(server, program, folder, options.seconds, options.many)
            print(json.dumps({"muster": figures}, indent=1), flush=True)
        moto = MotoServer(folder)
        if options.no_moto or not moto.program:
            print("moto_server is not on PATH: not compared", file=sys.stderr)
            return
        with moto as server:
            print(json.dumps({"moto": measure(server, program, folder, 0, 0)}, indent=1))


if __name__ == "__main__":
    main()
