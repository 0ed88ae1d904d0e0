"""`make bench`, its second half: the operators against the launchers that they stand in for.

Time from the command to the line that the last rank writes after its first allreduce, and to the
end of all hosts. Real Horovod and PyTorch: build/frameworks/tf and torch (`make frameworks`).
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from folder import own_folder  # noqa: E402
from history import Figure, record  # noqa: E402
from sides import REPOSITORY, SYSTEM_PATH, Result, measure, training  # noqa: E402

from lab import Host, Lab  # noqa: E402

FRAMEWORKS = REPOSITORY / "build" / "frameworks"

HOROVOD = """
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
total = hvd.allreduce(tf.constant([1.0]), op=hvd.Sum)
assert int(total[0]) == hvd.size()
print(f"first {hvd.rank()}\\nlast {hvd.rank()}", flush=True)
"""
TORCH = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
assert int(one[0]) == dist.get_world_size()
print(f"first {dist.get_rank()}\\nlast {dist.get_rank()}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def environment(framework: str) -> dict[str, str]:
    sm = training.train_program().parent
    if not (sm / "sm").is_symlink():
        (sm / "sm").symlink_to("../sm")
    return {
        **training.host_environment("ab" * 32),
        "PATH": f"{FRAMEWORKS}/{framework}/bin:{sm}:{SYSTEM_PATH}",
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "OMP_NUM_THREADS": "1",
    }


def script_of(host: Host) -> str:
    return f"/opt/ml/code/{training.SCRIPT}"


def plain_mpirun(hosts: list[Host]) -> Result:
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 2, "-bind-to", "none"]
    return measure(
        [hosts[0].start([*words, "python", script_of(hosts[0])], env=environment("tf"))], 2
    )


def horovodrun(hosts: list[Host]) -> Result:
    words = ["python", "-m", "horovod.runner.launch", "--mpi", "-np", 2, "-H", "localhost:2"]
    words += ["--mpi-args=--allow-run-as-root --oversubscribe"]
    env = {**environment("tf"), "LC_ALL": "C.UTF-8"}
    return measure([hosts[0].start([*words, "python", script_of(hosts[0])], env=env)], 2)


def sm_mpirun(hosts: list[Host]) -> Result:
    env = {**environment("tf"), "SAGEMAKER_BASE_DIR": "/nowhere"}
    words = ["sm", "mpirun", "--process_per_hosts", 2, "python", script_of(hosts[0])]
    return measure([hosts[0].start(words, env=env)], 2)


def torchrun(hosts: list[Host]) -> Result:
    def words(rank: int) -> list:
        where = ["--node_rank", rank, "--master_addr", "algo-1", "--master_port", 29500]
        return ["torchrun", "--nnodes", len(hosts), "--nproc_per_node", 2, *where]

    return on_all(hosts, [[*words(rank), script_of(host)] for rank, host in enumerate(hosts)])


def sm_torchrun(hosts: list[Host], *more: str) -> Result:
    words = ["sm", "torchrun", "--nproc-per-node", 2, *more]
    return on_all(hosts, [[*words, script_of(host)] for host in hosts])


def sm_torchrun_direct(hosts: list[Host]) -> Result:
    return sm_torchrun(hosts, "--launcher", "direct")


def on_all(hosts: list[Host], lines: list[list]) -> Result:
    """All hosts' output is looked at: agents without muster write on their own."""
    started = [host.start(words, env=environment("torch")) for host, words in zip(hosts, lines)]
    return measure(started, 2 * len(hosts), shown=started)


def once(side, hosts: int, script: str, folder: pathlib.Path) -> Result:
    with Lab(folder) as lab:
        made = lab.hosts(hosts)
        names = [host.name for host in made]
        for host in made:
            training.write_job(host, names, script, {})
        return side(made)


def compare(title: str, sides: list, hosts: int, script: str, runs: int, folder) -> None:
    """Medians; the sides take turns, so that what else the machine does meets all of them."""
    print(f"\n{title}\n  {'':20} {'first allreduce':>18} {'total':>18}", flush=True)
    results: dict = {side: [] for side in sides}
    for number in range(runs):
        for side in sides:
            own = folder / f"{side.__name__}-{number}"
            own.mkdir()
            results[side].append(once(side, hosts, script, own))
    base = None
    for side in sides:
        first = statistics.median(one.first for one in results[side])
        total = statistics.median(one.total for one in results[side])
        base = base or (first, total)
        cells = [f"{value:8.3f} s {value / of:5.2f}x" for value, of in zip((first, total), base)]
        print(f"  {side.__name__:20} " + " ".join(f"{cell:>18}" for cell in cells), flush=True)
        if side.__name__.startswith("sm_"):
            name = f"{title}: {side.__name__}"
            record(
                [
                    Figure(f"{name}: first allreduce", round(first, 4), "s", "lower"),
                    Figure(f"{name}: total", round(total, 4), "s", "lower"),
                ]
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    works = [
        ("tf", "Horovod, 1 host x 2", [plain_mpirun, horovodrun, sm_mpirun], 1, HOROVOD),
        ("torch", "PyTorch, 3 hosts x 2", [torchrun, sm_torchrun, sm_torchrun_direct], 3, TORCH),
    ]
    with own_folder() as folder:
        for framework, title, sides, hosts, script in works:
            if not (FRAMEWORKS / framework).exists():
                print(f"{title}: skipped, `make frameworks` builds {framework}")
                continue
            compare(title, sides, hosts, script, runs, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
