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


def test_the_plan_has_the_options_of_the_reference(training):
    words = " ".join(plan(training))
    for part in (
        "--host algo-1:2,algo-2:2,algo-3:2",
        "-np 6",
        "--allow-run-as-root",
        "btl_tcp_if_include eth0",
        "oob_tcp_if_include eth0",
        "plm_rsh_no_tree_spawn 1",
        "-bind-to none",
        "-map-by slot",
        "pml ob1",
        "btl ^openib",
        "orte_abort_on_non_zero_status 1",
        "-x PATH",
        "-x LD_LIBRARY_PATH",
    ):
        assert part in words, f"{part} is not in {words}"


def test_user_options_come_in_and_the_script_stays_out(training):
    words = plan(
        training,
        lr="0.1; $(id)",
        sagemaker_mpi_custom_mpi_options="-verbose --NCCL_DEBUG=WARN -x FOO=bar -mca pml ucx",
    )
    line = " ".join(words)
    assert "-x FOO=bar" in line and "pml ucx" in line and "NCCL_DEBUG=WARN" in line
    assert "$(id)" not in line and "script.py" not in line, line


def env_output(training, *flags: str) -> tuple[str, object]:
    job = training(1, 1, "", {"lr": "0.1", "text": json.dumps("it's $(id)")})
    process = job.hosts[0].start([SM, "env", *flags], env=host_environment(job.key))
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.out.decode(), job.hosts[0]


def test_env_as_json_holds_every_variable(training):
    text, _ = env_output(training, "--json")
    seen = json.loads(text)
    flat = json.dumps(seen)
    assert "SM_HPS" in flat or "hyperparameters" in flat, text


def test_env_for_a_shell_can_be_read_by_one(training):
    text, host = env_output(training, "--shell")
    (host.folder / "env.sh").write_text(text)
    got = host.check(
        "sh",
        "-c",
        f'. {host.folder}/env.sh; printf "%s|%s|%s" "$SM_HP_TEXT" "$SM_HP_LR" '
        '"$SM_CURRENT_HOST"',
    )
    assert got.decode() == "it's $(id)|0.1|algo-1"
