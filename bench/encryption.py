"""What encryption between hosts costs, and what a place in a VPC does.

    bench/encryption.py [SM] [ROUNDS]

Two hosts by `sm fit`, in turns without and with --encrypt: from the command to the last host's
first line, and one TCP connection between them for some seconds. Then two hosts on a server, in
turns without and with a VpcConfig: from CreateTrainingJob to the job's end. Medians and ratios.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "e2e")]

from history import Figure, record  # noqa: E402
from lab import SM, VENV  # noqa: E402
from sm_server import SmServer  # noqa: E402
from test_server_jobs import BUCKET, Job  # noqa: E402
from test_vpc import NETWORKS  # noqa: E402

SECONDS = 3
SCRIPT = f"""
import os, socket, time
own = os.environ["SM_CURRENT_HOST"]
print("here is", own, flush=True)
if own == "algo-1":
    peer, _ = socket.create_server(("", 8000)).accept()
    begun, taken = time.monotonic(), 0
    while data := peer.recv(1 << 20):
        taken += len(data)
    print("gbit", taken * 8e-9 / (time.monotonic() - begun), flush=True)
else:
    while True:
        try:
            peer = socket.create_connection(("algo-1", 8000))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    data, end = bytes(1 << 20), time.monotonic() + {SECONDS}
    while time.monotonic() < end:
        peer.sendall(data)
    peer.close()
"""


def fit(sm: str, folder: pathlib.Path, encrypted: bool) -> dict[str, float]:
    (folder / "job.py").write_text(SCRIPT)
    argv = [sm, "fit", folder / "job.py", "--hosts", "2", "--network", "none", "--overwrite",
            "--output", folder / "out", "--python", VENV / "bin/python"]  # fmt: skip
    env = {**os.environ, "MUSTER_STATE": str(folder / "state")}
    begun = time.monotonic()
    process = subprocess.Popen(argv + ["--encrypt"] * encrypted, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)  # fmt: skip
    text, start = "", 0.0
    for line in process.stdout:
        text += line
        if "here is" in line:
            start = time.monotonic() - begun
    assert process.wait() == 0 and ("encrypted by" in text) == encrypted, text
    return {"start": start, "gbit": float(re.search(r"gbit ([0-9.]+)", text)[1])}


def job(server: SmServer, placed: bool) -> dict[str, float]:
    where = {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-open"]}
    begun = time.monotonic()
    one = Job(server, "print('here')", 2, **({"VpcConfig": where} if placed else {}))
    assert one.at_end()["TrainingJobStatus"] == "Completed", one.text()
    return {"whole": time.monotonic() - begun}


def in_turns(rounds: int, measure) -> dict[str, tuple[float, float]]:
    """Medians of each figure, without and with."""
    taken: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for turn in range(rounds):
        for with_it in (False, True) if turn % 2 == 0 else (True, False):
            taken[with_it].append(measure(with_it))
    names = taken[False][0]
    return {
        name: tuple(statistics.median(each[name] for each in taken[with_it])
                    for with_it in (False, True))
        for name in names
    }  # fmt: skip


def tell(what: str, unit: str, better: str, figures: tuple[float, float]) -> None:
    without, with_it = figures
    print(f"{what}: {without:.3g} {unit} without, {with_it:.3g} with, "
          f"ratio {with_it / without:.3f}", flush=True)  # fmt: skip
    record([Figure(what, round(with_it / without, 4), "ratio", better)])


def main() -> None:
    sm = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else str(SM)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as text:
        folder = pathlib.Path(text)
        found = in_turns(rounds, lambda encrypted: fit(sm, folder, encrypted))
        tell("encryption, first line of 2 hosts", "s", "lower", found["start"])
        tell("encryption, TCP between 2 hosts", "Gbit/s", "higher", found["gbit"])
        config = {"python": str(VENV / "bin" / "python")}
        with SmServer(folder, jobs=config, config={"networks": NETWORKS}) as server:
            s3 = server.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
            found = in_turns(rounds, lambda placed: job(server, placed))
        tell("VpcConfig, a whole job of 2 hosts", "s", "lower", found["whole"])


if __name__ == "__main__":
    main()
