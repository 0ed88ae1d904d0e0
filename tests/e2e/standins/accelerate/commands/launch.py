"""What a stop meets of `accelerate launch`: torch's launcher, run by this very process. Written
from accelerate 0.28.0's (accelerate/commands/launch.py, multi_gpu_launcher)."""

import argparse
import sys

from torch.distributed import run

parser = argparse.ArgumentParser()
parser.add_argument("--num_machines", type=int, default=1)
parser.add_argument("--machine_rank", default="0")
parser.add_argument("--main_process_ip", default="127.0.0.1")
parser.add_argument("--main_process_port", default="29500")
parser.add_argument("--num_processes", type=int, default=1)
parser.add_argument("script")
parser.add_argument("rest", nargs=argparse.REMAINDER)


def main():
    """Ends as torch's launcher does."""
    given = parser.parse_args()
    options = {
        "nnodes": given.num_machines,
        "node_rank": given.machine_rank,
        "nproc_per_node": given.num_processes // given.num_machines,
        "master_addr": given.main_process_ip,
        "master_port": given.main_process_port,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    sys.argv[1:] = [*words, given.script, *given.rest]
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
