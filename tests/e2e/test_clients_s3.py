"""S3 of `sm server` with the clients that people bring: they put, get, list and delete."""

import hashlib
import json
import pathlib
import random
import subprocess
import urllib.request

import pytest

import clients
from sm_server import SmServer

pytestmark = pytest.mark.clients
SECONDS = 300
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Fails at the end if a client sent something that the server does not implement."""
    folder = tmp_path_factory.mktemp("server")
    log = folder / "access.log"
    with SmServer(folder, config={"access_log": str(log)}) as started:
        yield started
    refused = [line for line in log.read_text().splitlines() if '" 501 ' in line]
    assert not refused, refused


@pytest.fixture
def tree(tmp_path):
    """Names that clients escape in their own ways, a file of no bytes, one of several parts."""
    folder = tmp_path / "tree"
    (folder / "sub/deep er").mkdir(parents=True)
    for name in ("a.txt", "sub/b c+d%20e&f.txt", "sub/deep er/ä日本.txt", "sub/é=?#.bin"):
        (folder / name).write_text(name)
    (folder / "none").write_bytes(b"")
    (folder / "big.bin").write_bytes(random.Random(1).randbytes(18 * MIB + 1))
    return folder


@pytest.fixture
def bucket(server, request):
    name = request.node.name.replace("_", "-")
    server.client("s3").create_bucket(Bucket=name)
    return name


def files(folder) -> dict[str, str]:
    """Paths and their SHA-256."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def stored(server, bucket, prefix="") -> dict[str, str]:
    """What boto3 finds below `prefix`."""
    s3 = server.client("s3")
    keys = [each["Key"] for page in s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix) for each in page.get("Contents", [])]  # fmt: skip
    bodies = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}
    return {key.removeprefix(prefix): hashlib.sha256(body).hexdigest()
            for key, body in bodies.items()}  # fmt: skip


def run(server, *words, cwd=None, code: int = 0, **env) -> str:
    home = {"HOME": str(server.data.parent)}  # No one's configuration, and a cache that goes.
    done = subprocess.run(words, env={**server.env(), **home, **env}, capture_output=True,
                          text=True, timeout=SECONDS, check=False, cwd=cwd)  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_rclone(server, bucket, tree, tmp_path):
    env = {"RCLONE_CONFIG_M_TYPE": "s3", "RCLONE_CONFIG_M_PROVIDER": "Other",
           "RCLONE_CONFIG_M_ENV_AUTH": "true", "RCLONE_CONFIG_M_REGION": "us-east-1",
           "RCLONE_CONFIG_M_ENDPOINT": server.url}  # fmt: skip

    def rclone(*words) -> str:
        return run(server, clients.python("rclone"), "--config", "/dev/null", "--retries", "1",
                   "--s3-upload-cutoff", "5Mi", "--s3-chunk-size", "5Mi", *words, **env)

    place = f"m:{bucket}/tree"
    rclone("copy", tree, place)
    assert stored(server, bucket, "tree/") == files(tree)
    rclone("check", "--download", tree, place)
    rclone("check", tree, place)
    assert set(rclone("lsf", "-R", "--files-only", place).splitlines()) == set(files(tree))
    (tree / "a.txt").unlink()
    rclone("sync", tree, place)
    rclone("copy", place, f"m:{bucket}/again")  # On the server.
    rclone("copy", f"m:{bucket}/again", tmp_path / "back")
    assert files(tmp_path / "back") == files(tree)
    rclone("purge", f"m:{bucket}")
    assert bucket not in rclone("lsf", "m:")


def test_restic(server, bucket, tree, tmp_path):
    def restic(*words) -> str:
        return run(server, clients.program("restic"), "-r", f"s3:{server.url}/{bucket}/repo",
                   "--cache-dir", tmp_path / "cache", *words, cwd=tree, RESTIC_PASSWORD="hush")

    restic("init")
    restic("backup", ".")
    (tree / "a.txt").write_text("other")
    restic("backup", ".")
    assert len(json.loads(restic("snapshots", "--json"))) == 2
    restic("check", "--read-data")
    restic("restore", "latest", "--target", tmp_path / "back")
    assert files(tmp_path / "back") == files(tree)
    restic("forget", "--keep-last", "1", "--prune")
    restic("check")
    assert len(json.loads(restic("snapshots", "--json"))) == 1


def test_aws_cli_2(server, bucket, tree, tmp_path):
    config = tmp_path / "config"
    config.write_text("[default]\ns3 =\n  multipart_threshold = 5MB\n  multipart_chunksize = 5MB\n")

    def aws(*words) -> str:  # 2.9 reads no endpoint of the environment.
        return run(server, clients.program("aws"), "--endpoint-url", server.url, *words,
                   AWS_CONFIG_FILE=str(config))  # fmt: skip

    assert aws("--version").startswith("aws-cli/2.")
    place = f"s3://{bucket}/tree"
    aws("s3", "sync", tree, place)
    assert stored(server, bucket, "tree/") == files(tree)
    assert "upload" not in aws("s3", "sync", tree, place)
    aws("s3", "cp", "--recursive", place, f"s3://{bucket}/again")
    aws("s3", "sync", f"s3://{bucket}/again", tmp_path / "back")
    assert files(tmp_path / "back") == files(tree)
    with urllib.request.urlopen(aws("s3", "presign", f"{place}/big.bin").strip()) as answer:
        assert answer.read() == (tree / "big.bin").read_bytes()
    listed = json.loads(aws("s3api", "list-objects-v2", "--bucket", bucket, "--prefix", "tree/"))
    assert len(listed["Contents"]) == len(files(tree))
    aws("s3", "rb", "--force", f"s3://{bucket}")
    assert json.loads(aws("sts", "get-caller-identity"))["Account"] == "000000000000"


S3FS = """
import os, sys, s3fs
bucket, tree, back = sys.argv[1:]
fs = s3fs.S3FileSystem(default_block_size=5 * 2**20)
fs.put(tree + "/", f"{bucket}/tree/", recursive=True)
assert fs.du(f"{bucket}/tree") == sum(
    os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(tree) for name in names)
with fs.open(f"{bucket}/tree/big.bin") as file, open(tree + "/big.bin", "rb") as own:
    file.seek(7_000_000), own.seek(7_000_000)
    assert file.read(1000) == own.read(1000)
with fs.open(f"{bucket}/tree/written", "wb") as file:
    for _ in range(4):
        file.write(b"x" * 3 * 2**20)
assert fs.info(f"{bucket}/tree/written")["size"] == 12 * 2**20
fs.mv(f"{bucket}/tree/written", f"{bucket}/moved")
assert not fs.exists(f"{bucket}/tree/written") and fs.exists(f"{bucket}/moved")
fs.rm(f"{bucket}/moved")
fs.get(f"{bucket}/tree/", back, recursive=True)
"""


def test_s3fs(server, bucket, tree, tmp_path):
    run(server, clients.python(), "-c", S3FS, bucket, tree, tmp_path / "back")
    assert stored(server, bucket, "tree/") == files(tree) == files(tmp_path / "back")


PYARROW = """
import os, sys, pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
from pyarrow import fs
bucket, url = sys.argv[1:]
s3 = fs.S3FileSystem(
    access_key=os.environ["AWS_ACCESS_KEY_ID"], secret_key=os.environ["AWS_SECRET_ACCESS_KEY"],
    region="us-east-1", endpoint_override=url, scheme="http")
table = pa.table({"n": list(range(1_000_000)), "day": [i % 3 for i in range(1_000_000)]})
ds.write_dataset(table, f"{bucket}/set", filesystem=s3, format="parquet", partitioning=["day"])
again = ds.dataset(f"{bucket}/set", filesystem=s3, partitioning=["day"]).to_table()
assert sorted(again["n"].to_pylist()) == table["n"].to_pylist()
with s3.open_output_stream(f"{bucket}/big.bin") as stream:
    for _ in range(5):
        stream.write(b"y" * 6 * 2**20)
info = s3.get_file_info(f"{bucket}/big.bin")
assert info.size == 30 * 2**20, info
with s3.open_input_file(f"{bucket}/big.bin") as file:
    file.seek(30 * 2**20 - 1)
    assert file.read() == b"y"
s3.copy_file(f"{bucket}/big.bin", f"{bucket}/copy.bin")
s3.move(f"{bucket}/copy.bin", f"{bucket}/moved.bin")
s3.delete_file(f"{bucket}/moved.bin")
s3.delete_dir(f"{bucket}/set")
left = s3.get_file_info(fs.FileSelector(bucket, recursive=True))
assert [each.path for each in left] == [f"{bucket}/big.bin"], left
"""


def test_pyarrow(server, bucket):
    run(server, clients.python(), "-c", PYARROW, bucket, server.url.split("//")[1])


def test_dvc(server, bucket, tree, tmp_path):
    work = tmp_path / "work"
    tree.rename(work)
    before = files(work)
    (tmp_path / "config").touch()  # dvc requires a regular file.
    env = {"DVC_NO_ANALYTICS": "1", "DVC_SITE_CACHE_DIR": str(tmp_path / "cache"),
           "AWS_CONFIG_FILE": str(tmp_path / "config")}  # fmt: skip

    def dvc(*words) -> str:
        return run(server, clients.python("dvc"), *words, cwd=work, **env)

    dvc("init", "--no-scm", "-q")
    dvc("remote", "add", "-d", "store", f"s3://{bucket}/dvc")
    dvc("remote", "modify", "store", "endpointurl", server.url)
    dvc("add", "-q", "big.bin", "sub")
    dvc("push", "-q")
    for name in (".dvc/cache", "sub", "big.bin"):
        subprocess.run(["rm", "-r", work / name], check=True)
    dvc("pull", "-q")
    after = files(work)
    assert {name: after.get(name) for name in before} == before
    assert "are in sync" in dvc("status", "-c")
    (work / "sub.dvc").unlink()
    dvc("gc", "-q", "-f", "-w", "-c")
    assert len(stored(server, bucket, "dvc/")) == 1


MLFLOW = """
import sys
from mlflow.store.artifact.s3_artifact_repo import S3ArtifactRepository
bucket, tree, back = sys.argv[1:]
store = S3ArtifactRepository(f"s3://{bucket}/runs/1/artifacts")
store.log_artifacts(tree, "tree")
store.log_artifact(tree + "/a.txt")
assert {each.path for each in store.list_artifacts()} == {"a.txt", "tree"}
store.download_artifacts("tree", back)
store.delete_artifacts("a.txt")
assert [each.path for each in store.list_artifacts()] == ["tree"]
"""


def test_mlflow_artifacts(server, bucket, tree, tmp_path):
    (tmp_path / "back").mkdir()
    run(server, clients.python(), "-c", MLFLOW, bucket, tree, tmp_path / "back",
        MLFLOW_S3_ENDPOINT_URL=server.url)  # fmt: skip
    assert files(tmp_path / "back/tree") == files(tree)
    assert stored(server, bucket, "runs/1/artifacts/tree/") == files(tree)


def test_mc(server, bucket, tree, tmp_path):
    program = clients.program("mc")
    alias = server.url.replace("//", "//{AWS_ACCESS_KEY_ID}:{AWS_SECRET_ACCESS_KEY}@")

    def mc(*words) -> str:
        return run(server, program, "--config-dir", tmp_path / "mc", "--quiet", *words,
                   MC_HOST_m=alias.format(**server.keys))  # fmt: skip

    mc("mirror", tree, f"m/{bucket}/tree")
    assert stored(server, bucket, "tree/") == files(tree)
    mc("cp", "--checksum", "crc32c", tree / "big.bin", f"m/{bucket}/sums/big.bin")
    mc("cp", f"m/{bucket}/sums/big.bin", f"m/{bucket}/sums/copy.bin")
    assert mc("cat", f"m/{bucket}/tree/a.txt") == "a.txt"
    listed = mc("ls", "-r", "--json", f"m/{bucket}/tree").splitlines()
    assert {json.loads(line)["key"] for line in listed} == set(files(tree))
    mc("cp", "-r", f"m/{bucket}/tree/", tmp_path / "back/")
    assert files(tmp_path / "back") == files(tree)
    mc("rm", "-r", "--force", f"m/{bucket}/tree")
    assert set(stored(server, bucket)) == {"sums/big.bin", "sums/copy.bin"}


def test_go_2(server, bucket, tree):
    """clients_go/main.go."""
    run(server, clients.program("go2"), bucket, tree / "big.bin", AWS_CONFIG_FILE="")
    assert stored(server, bucket) == {}


def test_java_2(server, bucket, tree):
    source = pathlib.Path(__file__).with_name("clients_java") / "S3.java"
    java = ["java", "-Dfile.encoding=UTF-8", "-cp", clients.jars(), source]
    run(server, *java, bucket, tree / "big.bin")
    assert stored(server, bucket) == {}


JAVASCRIPT = """
import { createReadStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(process.argv[2] + "/");
const s3 = require("@aws-sdk/client-s3");
const { Upload } = require("@aws-sdk/lib-storage");
const { getSignedUrl } = require("@aws-sdk/s3-request-presigner");
const [bucket, file] = process.argv.slice(3);
// A machine resolves names below localhost; a sandbox has no resolver.
const dns = require("node:dns");
dns.lookup = (name, options, done) =>
  options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4);
const must = (fine, what) => { if (!fine) throw new Error(what); };
for (const forcePathStyle of [true, false]) {
  // Buckets are names below localhost where the endpoint has a name.
  const endpoint = process.env.AWS_ENDPOINT_URL.replace("127.0.0.1", "localhost");
  const client = new s3.S3Client({ forcePathStyle, region: "us-east-1",
    endpoint: forcePathStyle ? process.env.AWS_ENDPOINT_URL : endpoint });
  const send = (name, input) => client.send(new s3[name + "Command"]({ Bucket: bucket, ...input }));
  await send("PutObject", { Key: "a b+c", Body: "text", ChecksumAlgorithm: "SHA256" });
  const got = await send("GetObject", { Key: "a b+c", ChecksumMode: "ENABLED" });
  must((await got.Body.transformToString()) === "text", "another text");
  const big = new Upload({ client, partSize: 5 * 1024 * 1024,
    params: { Bucket: bucket, Key: "big.bin", Body: createReadStream(file) } });
  await big.done();
  const back = await (await send("GetObject", { Key: "big.bin" })).Body.transformToByteArray();
  must(Buffer.compare(Buffer.from(back), readFileSync(file)) === 0, "other bytes");
  await send("CopyObject", { Key: "copy", CopySource: bucket + "/big.bin" });
  const put = await getSignedUrl(client, new s3.PutObjectCommand({ Bucket: bucket, Key: "url" }));
  must((await fetch(put, { method: "PUT", body: "by url" })).status === 200, "presigned PUT");
  const get = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket: bucket, Key: "url" }));
  must((await (await fetch(get)).text()) === "by url", "presigned GET");
  const listed = await send("ListObjectsV2", { MaxKeys: 2 });
  must(listed.IsTruncated && listed.KeyCount === 2, "two keys a page");
  const Objects = ["a b+c", "big.bin", "copy", "url"].map((Key) => ({ Key }));
  must((await send("DeleteObjects", { Delete: { Objects } })).Deleted.length === 4, "four deleted");
}
"""


def test_javascript_3(server, bucket, tree, tmp_path):
    script = tmp_path / "s3.mjs"
    script.write_text(JAVASCRIPT)
    node, modules = clients.node()
    run(server, node, script, modules, bucket, tree / "big.bin")
    assert stored(server, bucket) == {}
