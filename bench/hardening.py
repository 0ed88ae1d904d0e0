"""What the hardening of the compiler costs: two release binaries, one after the other, in turns.

    bench/hardening.py BEFORE AFTER [starts] [lines] [s3]

Prints the ratio of medians AFTER / BEFORE of CPU seconds, and the spread of each: GETs and PUTs of
`sm server`'s S3, lines through `sm fit`, starts of `sm`. Docs: docs/decisions/0021-hardening.md.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from history import Figure, record

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))
ROUNDS = 15


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(argv: list, **options) -> float:
    """CPU seconds of a command and its children."""
    before = cpu_of_children()
    subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, **options)
    return cpu_of_children() - before


def starts(sm: pathlib.Path) -> float:
    before = cpu_of_children()
    for _ in range(200):
        subprocess.run([sm, "--version"], check=True, stdout=subprocess.DEVNULL)
    return cpu_of_children() - before


def lines(sm: pathlib.Path) -> float:
    """A million lines of a job, as JSON: pipes, splitting, journal with checksums, rendering."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source")
        source.mkdir()
        script = source / "lines.sh"
        script.write_text("#!/bin/sh\nseq -f 'line %.0f of a training job' 1000000\n")
        script.chmod(0o755)
        env = {**os.environ, "MUSTER_STATE": f"{folder}/state"}
        return cpu_of([sm, "fit", "lines.sh", "--json"], cwd=source, env=env)


def s3(sm: pathlib.Path) -> float:
    """A server and its boto3 client: 64 MiB and 400 small objects put and got, 400 refusals."""
    os.environ["MUSTER_BUILD"] = str(sm.parent)
    for name in ("lab", "sm_server"):
        sys.modules.pop(name, None)
    from sm_server import SmServer

    with tempfile.TemporaryDirectory() as folder:
        before = cpu_of_children()
        with SmServer(pathlib.Path(folder)) as server:
            client = server.client("s3")
            client.create_bucket(Bucket="bench")
            for _ in range(4):
                client.put_object(Bucket="bench", Key="k", Body=b"x" * (16 << 20))
                client.get_object(Bucket="bench", Key="k")["Body"].read()
            for i in range(400):
                client.put_object(Bucket="bench", Key=f"k{i}", Body=b"x" * 4096)
                client.get_object(Bucket="bench", Key=f"k{i}")["Body"].read()
            for _ in range(400):
                try:
                    urllib.request.urlopen(f"{server.url}/bench/k", timeout=10)
                except urllib.error.HTTPError:
                    pass
        return cpu_of_children() - before


def main() -> None:
    before, after = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    print(f"size: {before.stat().st_size} and {after.stat().st_size} bytes")
    works = [work for work in (starts, lines, s3)
             if work.__name__ in sys.argv[3:] or not sys.argv[3:]]
    for work in works:
        taken: dict[pathlib.Path, list[float]] = {before: [], after: []}
        for turn in range(ROUNDS):
            for sm in (before, after) if turn % 2 == 0 else (after, before):
                taken[sm].append(work(sm))
        ratio = statistics.median(taken[after]) / statistics.median(taken[before])
        pairs = [a / b for a, b in zip(taken[after], taken[before])]
        print(f"{work.__name__}: {ratio:.3f} (pairs {min(pairs):.3f} to {max(pairs):.3f}), "
              f"before {statistics.median(taken[before]):.2f} s of CPU", flush=True)
        used = round(statistics.median(taken[after]), 3)
        record([Figure(f"hardening, {work.__name__}", used, "s of CPU", "lower")])


if __name__ == "__main__":
    main()
