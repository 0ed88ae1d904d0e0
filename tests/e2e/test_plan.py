"""`train --print-plan` and `sm env`: what would run, without running it."""

import json
import shlex

from lab import SM
from training import GUARD_SECONDS, host_environment, train_program


def plan(training, **hyperparameters) -> list[str]:
    job = training(
        3,
        2,
        "print('must not run')",
        {name: json.dumps(value) for name, value in hyperparameters.items()},
    )
    env = host_environment(job.key, {"LD_LIBRARY_PATH": "/opt/lib"})
    process = job.hosts[0].start([train_program(), "--print-plan"], env=env)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert "must not run" not in process.text
    line = next(line for line in process.out.decode().splitlines() if "mpirun" in line)
    return shlex.split(line)


def test_user_options_come_in_and_the_script_stays_out(training):
    words = plan(
        training,
        lr="0.1; $(id)",
        sagemaker_mpi_custom_mpi_options="-verbose --NCCL_DEBUG=WARN -x FOO=bar -mca pml ucx",
    )
    line = " ".join(words)
    assert "-x FOO=bar" in line and "pml ucx" in line and "NCCL_DEBUG=WARN" in line
    assert "--host algo-1:2,algo-2:2,algo-3:2 -np 6" in line and "-x LD_LIBRARY_PATH" in line
    assert "$(id)" not in line and "script.py" not in line, line


def test_env_for_a_shell_can_be_read_by_one(training):
    job = training(1, 1, "", {"lr": "0.1", "text": json.dumps("it's $(id)")})
    host = job.hosts[0]
    process = host.start([SM, "env", "--shell"], env=host_environment(job.key))
    assert process.wait(GUARD_SECONDS) == 0, process.text
    text = process.out.decode()
    (host.folder / "env.sh").write_text(text)
    got = host.check(
        "sh",
        "-c",
        f'. {host.folder}/env.sh; printf "%s|%s|%s" "$SM_HP_TEXT" "$SM_HP_LR" '
        '"$SM_CURRENT_HOST"',
    )
    assert got.decode() == "it's $(id)|0.1|algo-1"
