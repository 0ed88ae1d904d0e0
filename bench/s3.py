"""S3 of `sm server`, and its clients, in figures: `bench/s3.py [--quick]`.

Small requests go through bench/http_load.cc, signed beforehand (a signature is checked each time),
on 16 connections. One large object goes through each client that is there (ours, curl, s5cmd, AWS
CLI, boto3); what is told is CPU time, of the client and of the server. A model of float32 weights
and logs is packed and stored as model.tar.gz, and by Python's tarfile. Other servers (versitygw,
MinIO, moto) are measured beside ours where they are on PATH. Everything shares one machine: what
counts is the ratios of one run.
"""

import argparse
import array
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "e2e")]

from history import figures_of, record  # noqa: E402
from s3_clients import clients_of  # noqa: E402
from s3_servers import other_servers  # noqa: E402
from sm_server import SM, SmServer  # noqa: E402

KEYS = 200
CONNECTIONS = 16


def client_of(server):
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        config=Config(signature_version="s3v4"),  # Presigned URLs for curl, too.
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
    if figures.pop("failed"):
        raise RuntimeError(f"requests were refused: {done.stderr.strip()[:200]}")
    used = cpu_of(server.process.pid) - before
    figures["server_us_each"] = round(used / seconds / max(figures["per_second"], 1) * 1e6, 1)
    return figures


def small_requests(server, s3, program, folder, seconds: float) -> dict:
    """`new` keys are each written once; else KEYS of them over and over."""
    figures = {}
    for size, name in ((4 << 10, "4k"), (64 << 10, "64k")):
        body = os.urandom(size)
        fresh = min(20_000, int(seconds * 8_000))
        sets = {f"put {name}": KEYS, f"put {name} new": fresh}
        for what, count in sets.items():
            under = what.replace(" ", "-")
            puts = [signed(server, "PUT", f"{under}/{i}", body) for i in range(count)]
            figures[what] = load(server, program, folder, puts, seconds)
        for i in range(KEYS):
            s3.put_object(Bucket="bench", Key=f"{name}/{i}", Body=body)
        gets = [signed(server, "GET", f"{name}/{i}", b"") for i in range(KEYS)]
        figures[f"get {name}"] = load(server, program, folder, gets, seconds)
    return figures


def timed(command, env: dict[str, str]) -> tuple[float, float]:
    """CPU of a command and of what it started, and its time."""
    start = time.monotonic()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, **quiet) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]}: {said.decode()[-300:]}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def large(server, s3, folder: pathlib.Path, size: int) -> dict:
    file, back = folder / "large", folder / "back"
    piece = os.urandom(1 << 20)
    with file.open("wb") as out:
        for _ in range(size >> 20):
            out.write(piece)
    s3.upload_file(str(file), "bench", "large")
    figures = {}
    for name, client in clients_of(server, s3, REPOSITORY).items():
        for what, command in {"get": client.get(back), "put": client.put(file, name)}.items():
            before = cpu_of(server.process.pid)
            cpu, took = timed(command, client.env)
            used = cpu_of(server.process.pid) - before
            figures[f"{what} {name}"] = {
                "client_cpu_s": round(cpu, 2),
                "server_cpu_s": round(used, 2),
                "mib_per_second": round((size >> 20) / took),
            }
        assert back.stat().st_size == size, f"{name} left {back.stat().st_size} bytes"
        back.unlink()
    file.unlink()
    return figures


def listing(server, s3, program, folder, many: int, per_second: float) -> dict:
    puts = [signed(server, "PUT", f"many/{i:06}", b"x") for i in range(many)]
    load(server, program, folder, puts, many / max(per_second, 100) * 1.5)
    figures = {}
    for name in ("listing", "listing again"):
        start = time.monotonic()
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix="many/")
        count = sum(len(page.get("Contents", [])) for page in pages)
        figures[name] = {"keys": count, "seconds": round(time.monotonic() - start, 3)}
    return figures


def write_models(folder: pathlib.Path, size: int) -> dict[str, pathlib.Path]:
    """Weights as training leaves them (normal, float32), and a log."""
    chance = random.Random(1)
    weights = array.array("f", (chance.gauss(0, 0.02) for _ in range(1 << 20))).tobytes()
    lines = "".join(
        f"epoch {i} loss {chance.random():.6f} accuracy {chance.random():.6f}\n"
        for i in range(100_000)
    ).encode()
    models = {}
    for name, piece in (("weights", weights), ("text", lines)):
        models[name] = folder / name / "algo-1" / "result" / "model"
        models[name].mkdir(parents=True)
        with (models[name] / name).open("wb") as out:
            while out.tell() < size:
                out.write(piece)
    return models


def archives(server, folder: pathlib.Path, size: int) -> dict:
    """model.tar.gz as the platform stores it; MB of the model for each second of CPU."""
    credentials = folder / "credentials"
    keys = "".join(f"{name.lower()} = {value}\n" for name, value in server.keys.items())
    credentials.write_text("[default]\n" + keys)
    credentials.chmod(0o600)
    access = {
        "Endpoint": server.url,
        "Region": "us-east-1",
        "CredentialsFile": str(credentials),
    }
    figures = {}
    for name, model in write_models(folder, size).items():
        job = folder / name
        spec = {
            "TrainingJobName": name,
            "OutputDataConfig": {"S3OutputPath": "s3://bench/out"},
            "Muster": {"S3": access},
        }
        (job / "job.json").write_text(json.dumps(spec))
        before = cpu_of(server.process.pid)
        cpu, took = timed([SM, "steward", "--upload", job, "--completed"], os.environ.copy())
        stored = json.loads((job / "uploaded.json").read_text())["model"]
        python = "import sys, tarfile; tarfile.open('/dev/null', 'w:gz').add(sys.argv[1])"
        part = folder / "part"
        part.write_bytes((model / name).read_bytes()[: size >> 3])
        theirs, _ = timed([sys.executable, "-c", python, part], os.environ.copy())
        figures[f"model.tar.gz of {name}"] = {
            "mb_per_cpu_s": round(size / cpu / 1e6),
            "server_cpu_s": round(cpu_of(server.process.pid) - before, 2),
            "mb_per_second": round(size / took / 1e6),
            "shrunk_to": round(stored["object_bytes"] / stored["bytes"], 3),
            "tarfile_mb_per_cpu_s": round((size >> 3) / theirs / 1e6),
        }
        shutil.rmtree(job)
    return figures


def show(figures: dict, title: str) -> None:
    print(f"{title}:")
    for name, one in figures.items():
        print(f"  {name:24}" + "  ".join(f"{key} {value}" for key, value in one.items()))
    sys.stdout.flush()


def ours(figures: dict) -> dict:
    """Rows that are not another client's."""
    client = ("get ", "put ")
    sizes = ("4k", "64k", "ours")
    return {
        name: one
        for name, one in figures.items()
        if not name.startswith(client) or name.split()[1] in sizes
    }


def ratios(small: dict, big: dict, packed: dict) -> dict:
    """What does not depend on how fast the machine is."""
    found = {}
    for other in [name.split()[1] for name in big if name.startswith("get ")]:
        if other == "ours":
            continue
        for what in ("get", "put"):
            own = big[f"{what} ours"]["client_cpu_s"]
            theirs = max(big[f"{what} {other}"]["client_cpu_s"], 0.01)
            found[f"{what}: ours / {other}"] = {"client_cpu": round(own / theirs, 2)}
    for name, one in packed.items():
        found[name] = {"times_tarfile": round(one["mb_per_cpu_s"] / one["tarfile_mb_per_cpu_s"], 1)}
    for size in ("4k", "64k"):
        put, get = small.get(f"put {size}", {}), small.get(f"get {size}", {})
        if "server_us_each" in put and "server_us_each" in get:
            share = put["server_us_each"] / max(get["server_us_each"], 0.1)
            found[f"put / get {size}"] = {"server_cpu": round(share, 1)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="of each row of small requests")
    parser.add_argument("--many", type=int, help="keys of the bucket that is listed")
    parser.add_argument("--quick", action="store_true", help="256 MiB, one second, no listing")
    options = parser.parse_args()
    seconds = options.seconds or (1 if options.quick else 4)
    many = options.many if options.many is not None else (0 if options.quick else 20_000)
    size = (256 << 20) if options.quick else (1 << 30)
    work = REPOSITORY / "build" / "bench"
    work.mkdir(parents=True, exist_ok=True)
    program = work / "http_load"
    source = REPOSITORY / "bench" / "http_load.cc"
    subprocess.run(["c++", "-std=c++20", "-O2", "-o", program, source], check=True)
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = pathlib.Path(name)
        with SmServer(folder) as server:
            s3 = client_of(server)
            s3.create_bucket(Bucket="bench")
            small = small_requests(server, s3, program, folder, seconds)
            show(small, "sm server, 16 connections")
            big = large(server, s3, folder, size)
            show(big, f"one object of {size >> 20} MiB")
            packed = archives(server, folder, size // 2)
            show(packed, f"a model of {size >> 21} MiB")
            measured = {"small": small, f"{size >> 20} MiB": ours(big), "model": packed}
            if many:
                rate = small["put 4k"].get("per_second", 1000)
                measured["listing"] = listing(server, s3, program, folder, many, rate)
                show(measured["listing"], "listing")
            measured["ratios"] = ratios(small, big, packed)
            show(measured["ratios"], "ratios")
            record(figures_of("s3", measured))
        for other in other_servers(folder):
            with other as server:
                s3 = client_of(server)
                s3.create_bucket(Bucket="bench")
                if server.keeps_connections:
                    show(small_requests(server, s3, program, folder, seconds), server.name)
                show(large(server, s3, folder, size >> 2), f"{server.name}, {size >> 22} MiB")


if __name__ == "__main__":
    main()
