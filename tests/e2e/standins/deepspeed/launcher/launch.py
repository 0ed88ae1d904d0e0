"""What muster uses of DeepSpeed's node launcher: it starts the processes of its node with their
ranks, and ends with the first that fails. Written from what DeepSpeed 0.16.5's command line
promises (microsoft/DeepSpeed, deepspeed/launcher/launch.py)."""

import argparse
import base64
import json
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--world_info", required=True)
parser.add_argument("--node_rank", type=int, default=0)
parser.add_argument("--master_addr", default="127.0.0.1")
parser.add_argument("--master_port", type=int, default=29500)
parser.add_argument("--module", action="store_true")
parser.add_argument("--no_python", action="store_true")
parser.add_argument("--no_local_rank", action="store_true")
parser.add_argument("--bind_cores_to_rank", action="store_true")
parser.add_argument("--bind_core_list")
parser.add_argument("--enable_each_rank_log", default="None")
parser.add_argument("script")
parser.add_argument("rest", nargs=argparse.REMAINDER)


def started(given, world, local):
    """The process of one slot of this node."""
    counts = [len(slots) for slots in world.values()]
    slots = list(world.values())[given.node_rank]
    rank = sum(counts[: given.node_rank]) + local
    env = dict(os.environ)
    env.update(
        CUDA_VISIBLE_DEVICES=",".join(str(slot) for slot in slots),
        MASTER_ADDR=given.master_addr,
        MASTER_PORT=str(given.master_port),
        WORLD_SIZE=str(sum(counts)),
        CROSS_RANK=str(given.node_rank),
        CROSS_SIZE=str(len(world)),
        LOCAL_SIZE=str(len(slots)),
        RANK=str(rank),
        LOCAL_RANK=str(rank % len(slots)),
    )
    words = [] if given.no_python else [sys.executable, "-u"]
    words += ["-m"] if given.module else []
    words.append(given.script)
    words += [] if given.no_local_rank else ["--local_rank=%s" % env["LOCAL_RANK"]]
    return subprocess.Popen(words + given.rest, env=env)


def main():
    """Runs the node's processes to their end; the exit status of the first that fails."""
    given = parser.parse_args()
    world = json.loads(base64.urlsafe_b64decode(given.world_info))
    slots = list(world.values())[given.node_rank]
    running = {}
    for local in range(len(slots)):
        process = started(given, world, local)
        running[process.pid] = process
    while running:
        pid, status = os.wait()
        running.pop(pid, None)
        if status != 0:
            for process in running.values():
                process.terminate()
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
