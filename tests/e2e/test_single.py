"""One host, one process: nothing is paid for what is not needed.

"At most 30 ms over the bare script" is a figure of bench/; here its structure is tested.
"""

import json
import re

from training import GUARD_SECONDS, host_environment, train_program

PLAIN = {"sagemaker_mpi_enabled": "false"}


def test_train_opens_no_socket_makes_no_thread_and_execs_once(training):
    job = training(1, 1, "print('hello')", PLAIN)
    host = job.hosts[0]
    trace = host.folder / "trace"
    process = host.start(
        [
            "strace",
            "-f",
            "-o",
            trace,
            "-e",
            "trace=execve,socket,clone,clone3,fork,vfork",
            train_program(),
        ],
        env=host_environment(job.key),
    )
    assert process.wait(GUARD_SECONDS) == 0, process.text
    calls = trace.read_text().splitlines()
    done = [line for line in calls if "execve(" in line and line.endswith("= 0")]
    assert len(done) == 2, "\n".join(calls)  # train itself, and the script's interpreter.
    assert not [line for line in calls if re.search(r"\bsocket\(", line)], "\n".join(calls)
    assert not [line for line in calls if "CLONE_THREAD" in line], "\n".join(calls)


def test_output_is_as_the_script_wrote_it(training):
    job = training(1, 1, "print('hello')", PLAIN).start().succeed()
    assert "hello" in job.leader.out.decode().splitlines(), job.story()
    assert (job.hosts[0].base / "output" / "success").exists()
    job.assert_quiet()


def test_a_program_other_than_python_gets_its_arguments(training):
    shell = '#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\n'
    values = {"sagemaker_program": json.dumps("run.sh"), "x": json.dumps("a b; $(id)"), **PLAIN}
    job = training(1, 1, "", values, files={"run.sh": shell}).start().succeed()
    assert "<-x>\n<a b; $(id)>\n" in job.leader.out.decode(), job.story()


def test_an_exit_code_fails_the_job_with_1(training):
    job = training(1, 1, "import sys; sys.exit(42)", PLAIN).start()
    assert job.leader.wait(GUARD_SECONDS) == 1
    assert job.failure("algo-1").startswith("ExecuteUserScriptError:\nExitCode 42\n")


def test_a_process_that_stays_behind_is_ended(training):
    script = (
        "import subprocess\n"
        "subprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint('left one')"
    )
    job = training(1, 1, script, PLAIN).start().succeed()
    job.assert_quiet()
