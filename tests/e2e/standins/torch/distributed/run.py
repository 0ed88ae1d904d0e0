"""What muster uses of torch's launcher: it starts the processes of its host with their ranks, all
of them again when one has failed, and at last ends the others and fails. Written from what torch
2.0.1's does (torch/distributed/run.py, torch/distributed/elastic)."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

LOOKS_EVERY_SECONDS = 0.05
KILLS_AFTER_SECONDS = 30

parser = argparse.ArgumentParser()
parser.add_argument("--nnodes", type=int, default=1)
parser.add_argument("--nproc_per_node", type=int, default=1)
parser.add_argument("--master_addr", default="127.0.0.1")
parser.add_argument("--master_port", default="29500")
parser.add_argument("--node_rank", type=int, default=0)
parser.add_argument("--monitor_interval", type=float, default=5)
parser.add_argument("--max-restarts", "--max_restarts", type=int, default=0)
parser.add_argument("--no_python", action="store_true")
parser.add_argument("script")
parser.add_argument("rest", nargs=argparse.REMAINDER)


def started(given, local, restart, folder):
    """The process of one rank."""
    rank = given.node_rank * given.nproc_per_node + local
    env = dict(os.environ)
    env.update(
        RANK=str(rank),
        LOCAL_RANK=str(local),
        WORLD_SIZE=str(given.nnodes * given.nproc_per_node),
        LOCAL_WORLD_SIZE=str(given.nproc_per_node),
        GROUP_RANK=str(given.node_rank),
        MASTER_ADDR=given.master_addr,
        MASTER_PORT=given.master_port,
        TORCHELASTIC_RUN_ID="none",
        TORCHELASTIC_RESTART_COUNT=str(restart),
        TORCHELASTIC_MAX_RESTARTS=str(given.max_restarts),
        TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_ERROR_FILE=f"{folder}/{restart}-{local}.json",
    )
    words = [] if given.no_python else [sys.executable, "-u"]
    return subprocess.Popen([*words, given.script, *given.rest], env=env)


def end(ranks):
    """SIGTERM, and SIGKILL for those that take too long."""
    kill_at = time.monotonic() + KILLS_AFTER_SECONDS
    for rank in ranks:
        if rank.poll() is None:
            rank.send_signal(signal.SIGTERM)
    for rank in ranks:
        try:
            rank.wait(max(0, kill_at - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def run_once(given, restart, folder):
    """True if all ranks ended well."""
    ranks = [started(given, local, restart, folder) for local in range(given.nproc_per_node)]
    codes = [None] * len(ranks)
    while None in codes and not any(codes):
        time.sleep(LOOKS_EVERY_SECONDS)
        codes = [rank.poll() for rank in ranks]
    if not any(codes):
        return True
    sys.stderr.write(f"ERROR:torch.distributed.elastic: failed (exitcodes: {codes})\n")
    end(ranks)
    return False


def on_signal(number, _):
    raise RuntimeError(f"SignalException: got signal: {number}")


def main():
    """Ends with 1 once a rank has failed too often."""
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, on_signal)
    with tempfile.TemporaryDirectory() as folder:
        for restart in range(given.max_restarts + 1):
            if run_once(given, restart, folder):
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
