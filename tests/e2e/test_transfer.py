"""Stewards and S3: channels and checkpoints to a host, results and checkpoints from it.

The server is s3_server.py: it checks signatures and checksums by itself and fails on demand.
"""

import gzip
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import subprocess
import tarfile

import pytest

from lab import REPOSITORY, SM
from s3_server import ACCESS_KEY, SECRET_KEY, S3Server


@pytest.fixture
def server():
    with S3Server() as server:
        server.buckets["bucket"] = {}
        yield server


def s3_part(server, folder) -> dict:
    path = folder / "credentials"
    path.write_text(
        f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
    )
    path.chmod(0o600)
    return {"Endpoint": server.url, "Region": "us-east-1", "CredentialsFile": str(path)}


def steward(folder, *args, check=False):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "MUSTER_S3_IDLE": "5"}
    done = subprocess.run(
        [SM, "steward", *map(str, args)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=check,
    )
    assert SECRET_KEY not in done.stderr + done.stdout
    return done


# --- results ---


class Results:
    """A job's folder after its stewards have ended."""

    def __init__(self, server, folder, hosts, **output):
        self.server, self.folder = server, folder
        self.job = folder / "jobs" / "demo"
        spec = {
            "TrainingJobName": "demo",
            "ResourceConfig": {"InstanceCount": hosts},
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/out/", **output},
            "Muster": {"S3": s3_part(server, folder)},
        }
        self.job.mkdir(parents=True)
        (self.job / "job.json").write_text(json.dumps(spec))
        for number in range(1, hosts + 1):
            for part in ("model", "output/data"):
                (self.job / f"algo-{number}" / "result" / part).mkdir(parents=True)

    def write(self, number, name, body, part="model"):
        path = self.job / f"algo-{number}" / "result" / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return path

    def upload(self, *args):
        return steward(self.folder, "--upload", self.job, *args)

    def archive(self, name="model.tar.gz") -> dict[str, bytes]:
        body = self.server.get("bucket", f"out/demo/output/{name}")
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:gz") as archive:
            names = archive.getnames()
            assert len(names) == len(set(names)), "a name appears twice"
            return {
                member.name: archive.extractfile(member).read()
                for member in archive
                if member.isfile()
            }


def test_the_hosts_models_become_one_archive_and_later_hosts_win(server, folder):
    results = Results(server, folder, 12)
    for number in range(1, 13):
        results.write(number, "same", b"%d" % number)
        results.write(number, f"own/{number}", b"x" * number)
    results.write(3, "x" * 180 + "/" + "y" * 200, b"long")
    results.write(2, "report.json", b"{}", part="output/data")
    done = results.upload("--completed")
    assert done.returncode == 0, done.stderr
    model = results.archive()
    assert model["same"] == b"12"
    assert model["own/7"] == b"x" * 7
    assert model["x" * 180 + "/" + "y" * 200] == b"long"
    assert len(model) == 14
    assert results.archive("output.tar.gz") == {"report.json": b"{}"}
    told = json.loads(done.stdout)
    assert told["model"]["url"] == "s3://bucket/out/demo/output/model.tar.gz"
    assert json.loads((results.job / "uploaded.json").read_text()) == told


def test_a_large_model_goes_in_parts_and_its_bytes_stay(server, folder):
    results = Results(server, folder, 2)
    noise = secrets.token_bytes(45 << 20)
    results.write(1, "weights", noise)
    results.write(2, "log", b"epoch 1 loss 0.5\n" * 3_000_000)
    assert results.upload("--completed").returncode == 0
    model = results.archive()
    assert hashlib.sha256(model["weights"]).digest() == hashlib.sha256(noise).digest()
    assert model["log"] == b"epoch 1 loss 0.5\n" * 3_000_000
    parts = [query for method, _, query, _ in server.requests if "partNumber" in query]
    assert len(parts) > 2
    assert server.uploads == {}


@pytest.mark.parametrize("tool", ["igzip", "none"])
def test_tar_and_gzip_of_the_machine_read_what_was_packed(server, folder, tool):
    results = Results(server, folder, 1)
    text = b"a line of text that packs well\n" * 200_000
    results.write(1, "text", text)
    path = results.write(1, "dir/run", secrets.token_bytes(1000))
    path.chmod(0o755)
    (path.parent / "link").symlink_to("run")
    env = {"PATH": os.environ["PATH"] if tool == "igzip" else "/nowhere", "HOME": "/nowhere"}
    subprocess.run([SM, "steward", "--upload", results.job], env=env, check=True, timeout=60)
    (folder / "m.tar.gz").write_bytes(server.get("bucket", "out/demo/output/model.tar.gz"))
    subprocess.run(["gzip", "-t", folder / "m.tar.gz"], check=True)
    (folder / "got").mkdir()
    subprocess.run(["tar", "-xzf", folder / "m.tar.gz", "-C", folder / "got"], check=True)
    assert (folder / "got" / "text").read_bytes() == text
    assert (folder / "got" / "dir" / "link").readlink().name == "run"
    assert os.access(folder / "got" / "dir" / "run", os.X_OK)


def test_an_empty_model_is_an_archive_only_of_a_completed_job(server, folder):
    results = Results(server, folder, 1)
    assert results.upload().stdout == "{}\n"
    assert server.buckets["bucket"] == {}
    (results.job / "uploaded.json").unlink()
    assert results.upload("--completed").returncode == 0
    assert results.archive() == {}


def test_results_can_go_file_by_file(server, folder):
    results = Results(server, folder, 2, CompressionType="NONE")
    results.write(1, "a/b", b"1")
    results.write(2, "a/b", b"2")
    results.write(1, "c", b"")
    assert results.upload("--completed").returncode == 0
    stored = {key: value.body for key, value in server.buckets["bucket"].items()}
    assert stored == {"out/demo/output/model/a/b": b"2", "out/demo/output/model/c": b""}


def test_uploading_again_does_nothing_more(server, folder):
    results = Results(server, folder, 1)
    results.write(1, "a", b"1")
    first = results.upload("--completed")
    count = len(server.requests)
    assert results.upload("--completed").stdout == first.stdout
    assert len(server.requests) == count


def test_a_part_that_fails_is_sent_again_and_a_refusal_is_one_line(server, folder):
    results = Results(server, folder, 1)
    results.write(1, "weights", secrets.token_bytes(30 << 20))
    key = "out/demo/output/model.tar.gz"
    server.fault(key, status=503, methods=("PUT",), times=2)
    assert results.upload("--completed").returncode == 0
    assert len(results.archive()["weights"]) == 30 << 20
    (results.job / "uploaded.json").unlink()
    server.fault(key, status=403, code="AccessDenied", message="no", methods=("PUT",))
    done = results.upload("--completed")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"upload of the model: s3://bucket/{key}: access denied (AccessDenied)" in last
    assert server.uploads == {}, "the parts were given up"


# --- inputs and checkpoints ---


class Host:
    """Stewards with real containers, whose program is a shell."""

    def __init__(self, server, folder, script, hosts=1, **fields):
        self.server, self.folder = server, folder
        self.name = "tr-" + secrets.token_hex(4)
        self.job = folder / "jobs" / self.name
        self.job.mkdir(parents=True)
        (self.job / "key").write_text("00" * 32)
        octet = secrets.randbelow(250)
        self.names = [f"algo-{number}" for number in range(1, hosts + 1)]
        self.bridge = "mu" + secrets.token_hex(4)
        self.spec = {
            "TrainingJobName": self.name,
            "ResourceConfig": {"InstanceCount": hosts},
            "AlgorithmSpecification": {
                "ContainerEntrypoint": ["/bin/bash", "-c"],
                "ContainerArguments": [script],
            },
            "Muster": {"S3": s3_part(server, folder), "Path": "/usr/bin:/bin", "GraceMs": 5000},
            **fields,
        }
        self.addresses = [
            {"name": name, "address": f"10.234.{octet}.{number}"}
            for number, name in enumerate(self.names, 1)
        ]
        self.started = []

    def start(self, name):
        folder = self.job / name
        spec = {
            "spec": self.spec,
            "host": name,
            "hosts": self.addresses,
            "bridge": self.bridge,
            "prefix_length": 24,
            "state_folder": str(self.folder),
            "job_folder": str(self.job),
            "host_folder": str(folder),
            "key_file": str(self.job / "key"),
        }
        path = self.job / f"{name}.json"
        path.write_text(json.dumps(spec))
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "MUSTER_S3_IDLE": "5"}
        log = open(self.job / f"{name}.log", "wb")
        process = subprocess.Popen(
            [SM, "steward", "--spec", path], env=env, stderr=log, start_new_session=True
        )
        self.started.append(process)
        return process

    def run(self):
        for name in self.names:
            self.start(name)
        for process in self.started:
            assert process.wait(timeout=120) == 0
        return self

    def records(self, name="algo-1"):
        data = (self.job / name / "journal").read_bytes()
        records = []
        while len(data) >= 8:
            length = int.from_bytes(data[:4], "little")
            body = data[8 : 8 + length]
            records.append((body[16], body[17:]))
            data = data[8 + length :]
        return records

    def output(self, name="algo-1") -> str:
        return b"".join(body[6:] for kind, body in self.records(name) if kind == 10).decode()

    def end(self, name="algo-1") -> dict:
        return [json.loads(body) for kind, body in self.records(name) if kind == 40][-1]

    def verdicts(self, name="algo-1") -> list[dict]:
        return [json.loads(body) for kind, body in self.records(name) if kind == 42]


@pytest.fixture
def host(server, nothing_left):
    """Makes hosts. Their folders' paths are short: a socket in them must have one."""
    made = []
    folder = REPOSITORY / "build" / "e2e" / ("s" + secrets.token_hex(3))

    def make(script, hosts=1, **fields):
        made.append(Host(server, folder, script, hosts, **fields))
        return made[-1]

    yield make
    for each in made:
        for process in each.started:
            if process.poll() is None:
                process.kill()
                process.wait()
    env = {"PATH": os.environ["PATH"], "MUSTER_STATE": str(folder)}
    subprocess.run([SM, "steward", "--sweep", "--all"], env=env, check=False, timeout=60)
    shutil.rmtree(folder, ignore_errors=True)


def channel(name, uri, source=None, **more):
    s3 = {"S3DataType": "S3Prefix", "S3Uri": uri, **(source or {})}
    return {"ChannelName": name, "DataSource": {"S3DataSource": s3}, **more}


MANIFEST = {"S3DataType": "ManifestFile"}
LIST = "cd /opt/ml/input/data && find . -type f | sort | xargs -r md5sum"


def test_a_channel_is_a_folder_and_not_its_neighbour(server, host):
    server.put("bucket", "in/code/a.txt", b"a")
    server.put("bucket", "in/code/d e/\u00e4+b.txt", b"b")
    server.put("bucket", "in/code2/no.txt", b"no")
    server.put("bucket", "in/code/", b"")
    job = host(
        "cd /opt/ml/input && cat data/code/a.txt 'data/code/d e/\u00e4+b.txt'; ls data/code;"
        " echo more > data/code/new && cat config/inputdataconfig.json",
        InputDataConfig=[
            channel("code", "s3://bucket/in/code", ContentType="text/plain", InputMode="File")
        ],
    ).run()
    assert job.end() == {"phase": "Completed", "message": ""}
    config = {"code": {
        "ContentType": "text/plain", "RecordWrapperType": "None",
        "S3DistributionType": "FullyReplicated", "TrainingInputMode": "File",
    }}  # fmt: skip
    text, _, told = job.output().partition("{")
    assert text == "aba.txt\nd e\n"
    assert json.loads("{" + told) == config


def test_hosts_share_a_channel_and_each_may_write_to_it(server, host):
    big = secrets.token_bytes(40 << 20)  # In ranges.
    server.put("bucket", "data/big", big)
    server.page_keys = 3
    for number in range(10):
        server.put("bucket", f"data/{number}", b"%d" % number)
    job = host(
        LIST + "; echo $HOSTNAME > train/0; cat train/0; ls share",
        hosts=3,
        InputDataConfig=[
            channel("train", "s3://bucket/data"),
            channel("share", "s3://bucket/data/", {"S3DataDistributionType": "ShardedByS3Key"}),
        ],
    ).run()
    shares = []
    for name in job.names:
        assert job.end(name)["phase"] == "Completed", job.output(name)
        lines = job.output(name).splitlines()
        assert f"{hashlib.md5(big).hexdigest()}  ./train/big" in lines
        assert len([line for line in lines if "./train/" in line]) == 11
        at = lines.index(name)
        shares.append(lines[at + 1 :])
    assert shares == [["0", "3", "6", "9"], ["1", "4", "7", "big"], ["2", "5", "8"]]
    ranges = [h for m, p, _, h in server.requests if p.endswith("/data/big") and "Range" in h]
    assert all("If-Match" in each for each in ranges)
    assert len(ranges) == 6, "the machine fetched it once, and the share that it is in"


def test_one_object_the_start_of_names_and_a_manifest(server, host):
    server.put("bucket", "d/train.csv", b"1")
    server.put("bucket", "d/train.csv.bak", b"2")
    server.put("bucket", "d/part-0.gz", gzip.compress(b"p0") + gzip.compress(b"more"))
    server.put("bucket", "d/part-1", b"p1")
    manifest = [{"prefix": "s3://bucket/d/"}, "train.csv", "part-1"]
    server.put("bucket", "m", json.dumps(manifest).encode())
    job = host(
        "cd /opt/ml/input/data && for f in $(find . -type f | sort); do echo $f $(cat $f); done",
        InputDataConfig=[
            channel("one", "s3://bucket/d/train.csv"),
            channel("start", "s3://bucket/d/part-", CompressionType="Gzip"),
            channel("list", "s3://bucket/m", {"S3DataType": "ManifestFile"}),
        ],
    ).run()
    assert job.output().splitlines() == [
        "./list/part-1 p1", "./list/train.csv 1", "./one/train.csv 1",
        "./start/part-0 p0more", "./start/part-1 p1",
    ]  # fmt: skip


def test_a_manifest_of_many_names_is_taken_page_by_page(server, host):
    names = [f"{number:04}" for number in range(2001)]
    for name in names:
        server.put("bucket", f"d/{name}", name.encode())
    manifest = [{"prefix": "s3://bucket/d/"}, *reversed(names)]
    server.put("bucket", "m", json.dumps(manifest).encode())
    shares = {**MANIFEST, "S3DataDistributionType": "ShardedByS3Key"}
    job = host(
        "cd /opt/ml/input/data/list && ls | wc -l && head -c 4 0000 1999 0001 2000 2>/dev/null",
        hosts=2,
        InputDataConfig=[channel("list", "s3://bucket/m", shares)],
    ).run()
    assert "1001\n" in job.output("algo-1") and "==> 2000 <==\n2000" in job.output("algo-1")
    assert "1000\n" in job.output("algo-2") and "==> 1999 <==\n1999" in job.output("algo-2")


def test_names_of_a_manifest_do_not_repeat_its_prefix_in_memory(server, host):
    """Each with its prefix would be 450 MB; the manifest has 4."""
    names = [f"{number:05}" for number in range(450_000)]
    manifest = [{"prefix": "s3://bucket/" + "p/" * 500}, *names]
    server.put("bucket", "m", json.dumps(manifest, separators=(",", ":")).encode())
    end = host("exit 0", InputDataConfig=[channel("c", "s3://bucket/m", MANIFEST)]).run().end()
    # Several objects are requested at the same time, and any of the first may fail first.
    assert re.search(r"/p/000\d\d: no such key$", end["message"]), end["message"][-200:]


@pytest.mark.parametrize(
    ("uri", "source", "want"),
    [
        ("s3://bucket/none", {}, "channel c: s3://bucket/none: no object has this prefix"),
        ("s3://nobucket/x", {}, "channel c: s3://nobucket/: no such bucket"),
        ("s3://bucket/secret", {}, "channel c: s3://bucket/secret: access denied (AccessDenied)"),
        ("s3://bucket/up", {}, "s3://bucket/up: object up/../x: invalid file name"),
        ("s3://bucket/m", MANIFEST, "channel c: s3://bucket/gone: no such key"),
        ("s3://bucket/bad", MANIFEST, "s3://bucket/bad: invalid manifest"),
    ],
)
def test_an_unavailable_source_fails_the_host_and_is_named(server, host, uri, source, want):
    server.put("bucket", "secret", b"x")
    server.fault("secret", status=403, code="AccessDenied", message="no")
    server.put("bucket", "up/../x", b"x")
    server.put("bucket", "m", b'[{"prefix": "s3://bucket/"}, "gone"]')
    server.put("bucket", "bad", b"{")
    job = host("exit 0", InputDataConfig=[channel("c", uri, source)]).run()
    end = job.end()
    assert end["phase"] == "Failed"
    assert want in end["message"], end
    assert "\n" not in end["message"]


def test_names_that_meet_across_pages_of_the_list_are_refused(server, host):
    server.page_keys = 1
    server.put("bucket", "d/x", b"1")
    server.put("bucket", "d/x/y", b"2")
    job = host("exit 0", InputDataConfig=[channel("c", "s3://bucket/d")]).run()
    want = "channel c: s3://bucket/d/x/y: another object has the same file name"
    assert want in job.end()["message"]


def test_faults_of_the_server_do_not_change_what_arrives(server, host):
    big = secrets.token_bytes(50 << 20)
    server.put("bucket", "d/big", big)
    server.put("bucket", "d/small", b"small" * 100_000)
    server.fault("d/big", reset_after=5 << 20, times=2)
    server.fault("d/big", status=503, times=1)
    server.fault("d/small", corrupt=True, times=1)
    job = host(LIST, InputDataConfig=[channel("c", "s3://bucket/d")]).run()
    assert hashlib.md5(big).hexdigest() in job.output()
    assert hashlib.md5(b"small" * 100_000).hexdigest() in job.output()


def test_an_object_that_changes_on_the_way_is_an_error(server, host):
    server.put("bucket", "d/big", secrets.token_bytes(40 << 20))
    server.fault("d/big", status=412, code="PreconditionFailed", times=1)
    job = host("exit 0", InputDataConfig=[channel("c", "s3://bucket/d")]).run()
    assert "s3://bucket/d/big: the object changed during the download" in job.end()["message"]


def test_a_stop_does_not_wait_for_a_silent_server(server, host):
    server.put("bucket", "d/a", b"x")
    server.fault("d/a", stall_head=True)
    job = host("exit 0", InputDataConfig=[channel("c", "s3://bucket/d")])
    process = job.start("algo-1")
    while not server.count("GET", "d/a"):
        assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=4) == 0
    assert job.end()["phase"] == "Stopped"


@pytest.mark.parametrize("path", ["/opt/ml/checkpoints", "/data/ckpt"])
def test_checkpoints_come_and_go(server, host, path):
    server.put("bucket", "ck/old", b"old")
    server.put("bucket", "ck/sub/deep", b"deep")
    server.put("bucket", "ck2/no", b"no")
    script = f"""cd {path} && cat old sub/deep && ls
        echo 1 > epoch-1 && mkdir -p new/er && echo 2 > new/er/epoch-2
        echo tmp > t && mv t final && ln -s /etc/passwd stolen && ln -s /etc dir
        echo changed > old; mkfifo pipe"""
    job = host(script, CheckpointConfig={"S3Uri": "s3://bucket/ck", "LocalPath": path}).run()
    assert job.end()["phase"] == "Completed", job.output()
    assert job.output() == "olddeepold\nsub\n"
    stored = {key: value.body for key, value in server.buckets["bucket"].items()}
    stored.pop("ck/t", None)  # A file that was there for a moment.
    assert stored == {
        "ck/old": b"changed\n", "ck/sub/deep": b"deep", "ck2/no": b"no", "ck/epoch-1": b"1\n",
        "ck/new/er/epoch-2": b"2\n", "ck/final": b"tmp\n",
    }  # fmt: skip
    assert server.count("PUT", "ck/sub/deep") == 0, "restored ones do not go back"


def test_checkpoints_come_page_by_page_of_the_list(server, host):
    """The list of all of them may be larger than the memory that a steward may take."""
    server.page_keys = 2
    for number in range(5):
        server.put("bucket", f"ck/{number}", b"x")
    job = host("ls /opt/ml/checkpoints", CheckpointConfig={"S3Uri": "s3://bucket/ck"}).run()
    assert job.output() == "0\n1\n2\n3\n4\n"
    gets = [path for method, path, *_ in server.requests if method == "GET"]
    asked = ["file" if "/ck/" in path else "list" for path in gets]
    assert asked == [*["list", "file", "file"] * 2, "list", "file"]


def test_a_checkpoint_is_in_s3_while_the_job_runs_and_after_it_is_killed(server, host):
    script = "echo 1 > /opt/ml/checkpoints/one; trap '' TERM; while :; do read < /dev/zero; done"
    job = host(script, CheckpointConfig={"S3Uri": "s3://bucket/ck/"})
    job.spec["Muster"]["GraceMs"] = 100
    process = job.start("algo-1")
    while "ck/one" not in server.buckets["bucket"]:
        assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=20) == 0
    assert job.end()["phase"] == "Stopped"


def test_checkpoints_that_cannot_be_stored_fail_the_job(server, host):
    server.fault("ck/one", status=403, code="AccessDenied", message="no", methods=("PUT",))
    job = host(
        "echo 1 > /opt/ml/checkpoints/one", CheckpointConfig={"S3Uri": "s3://bucket/ck/"}
    ).run()
    end = job.end()
    assert end["phase"] == "Failed"
    assert end["message"].startswith("checkpoints: s3://bucket/ck/one: access denied")


def test_the_entry_points_failure_file_is_the_verdict(host):
    job = host("echo my reason > /opt/ml/output/failure; echo noise >&2; exit 7").run()
    assert job.end()["message"] == "exit code 7"
    (verdict,) = job.verdicts()
    assert verdict["process"] == "bash"
    assert verdict["last_lines"] == "my reason"
    assert verdict["outcome"]["number"] == 7
