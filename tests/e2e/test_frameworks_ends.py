"""Whatever of a framework's job is killed, every host ends soon and says what it was."""

import os
import pathlib
import re
import signal
import time

import pytest

from frameworks import SECONDS, example_job
from process import wait_until
from test_faults import (
    LOST,
    MINUTE,
    WITHIN_SECONDS,
    error_message,
    host_of,
    kill_train,
    on_host,
)

pytestmark = pytest.mark.framework

TF = ("tf", "digits/tf_parameter_server.sh", {"steps": "1000000"})
TORCH = ("torch", "digits/torch_ddp.sh", {"epochs": "1000000"})
MXNET = ("mxnet", "digits/mxnet_dist.sh", {"epochs": "1000000"})


def kill_task(mark: str):
    """SIGKILL for the Python process whose command line or environment holds `mark`."""

    def act(job, name: str) -> None:
        def tasks():
            return [pid for pid in host_of(job, name).find(is_python) if mark in told(pid)]

        os.kill(wait_until(f"{mark} on {name}", tasks, MINUTE)[0], signal.SIGKILL)

    return act


def is_python(words: list[str]) -> bool:
    return "python" in os.path.basename(words[0])


def told(pid: int) -> str:
    """The process's words and variables, with spaces between them."""
    folder = pathlib.Path(f"/proc/{pid}")
    data = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
    return data.replace(b"\0", b" ").decode(errors="replace")


KILLS = {
    # name: (the job, what is done, to which host, what the verdict must say)
    "parameter_server": (TF, kill_task("--job_name ps"), "algo-2", r"ps 0 on algo-2: killed by"),
    "tf_worker": (TF, kill_task("--job_name worker"), "algo-2", r"worker 1 on algo-2: killed by"),
    "tf_train": (TF, kill_train, "algo-2", rf"algo-2.*({LOST})"),
    "tf_host": (TF, on_host("kill"), "algo-2", rf"algo-2.*({LOST})"),
    "torch_rank": (TORCH, kill_task(" RANK=2 "), "algo-2", r"rank 2 on algo-2: killed by SIGKILL"),
    "torch_train": (TORCH, kill_train, "algo-2", rf"algo-2.*({LOST})"),
    "torch_host": (TORCH, on_host("kill"), "algo-2", rf"algo-2.*({LOST})"),
    "scheduler": (
        MXNET,
        kill_task("DMLC_ROLE=scheduler"),
        "algo-1",
        r"scheduler on algo-1: killed by SIGKILL",
    ),
    "server": (MXNET, kill_task("DMLC_ROLE=server"), "algo-2", r"server 1 on algo-2: killed by"),
    "mxnet_worker": (MXNET, kill_task("DMLC_ROLE=worker"), "algo-2", r"worker 1 on algo-2: killed"),
    "mxnet_train": (MXNET, kill_train, "algo-1", rf"algo-1.*({LOST})"),
    "mxnet_host": (MXNET, on_host("kill"), "algo-2", rf"algo-2.*({LOST})"),
}


@pytest.mark.parametrize("kill", KILLS)
def test_a_kill_ends_every_process_within_8_seconds(training, kill):
    (framework, entry, endless), act, accused, says = KILLS[kill]
    job = example_job(training, framework, entry, **endless)
    for worker in range(2):
        job.leader.wait_for_output(b"worker %d has seen all its digits once" % worker, SECONDS)
    struck = time.monotonic()
    act(job, accused)
    lost = accused if act is kill_train or kill.endswith("_host") else ""
    for name, train in job.trains.items():
        code = train.wait(MINUTE)
        assert name == lost or code == 1, f"{name}: {code}\n{job.story()}"
        took = train.ended_at - struck
        assert took <= WITHIN_SECONDS, f"{name} took {took:.1f} s\n{job.story()}"
    job.assert_quiet(killed=lost, seconds=max(0.1, struck + WITHIN_SECONDS - time.monotonic()))
    for name in job.trains:
        if name == lost:
            continue
        message = error_message(job.failure(name))
        assert re.search(says, message, re.S), f"{name} says {message!r}\n{job.story()}"
        assert set(re.findall(r"algo-\d", message)) == {accused}, message
