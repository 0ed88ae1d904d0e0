"""The released framework packages run on muster's wheel, unmodified, as their images start them.

sagemaker_pytorch_training 3.0.0, sagemaker_tensorflow_training 20.5.0 and
sagemaker_mxnet_training 4.3.0 are PyPI's. The frameworks themselves are not here: the PyTorch
package does not need its own; tensorflow, mxnet and torch's launcher are stand-ins (standins/).
"""

import json
import os
import re
import subprocess

import pytest

from image import BUILD, FRAMEWORKS, STANDINS, ImageTraining, install_frameworks
from lab import RELEASE
from process import Process
from training import GUARD_SECONDS, host_environment, write_job

MODULES = {
    "pytorch": "sagemaker_pytorch_container.training:main",
    "tensorflow": "sagemaker_tensorflow_container.training:main",
    "mxnet": "sagemaker_mxnet_container.training:main",
}

HELLO = """
import json, os, sys
said = {name: value for name, value in os.environ.items()}
said = {"args": sys.argv[1:], "cwd": os.getcwd(), "env": said}
with open("/opt/ml/model/said-" + os.environ.get("RANK", "0"), "w") as file:
    json.dump(said, file)
print("hello from", os.environ["SM_CURRENT_HOST"], flush=True)
"""

MPI = """
import json, os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank() + 1)
print("rank %d of %d sums to %d on %s %s" % (
    world.Get_rank(), world.Get_size(), total, os.environ["SM_CURRENT_HOST"], sys.argv[1:]),
    flush=True)
"""


@pytest.fixture(scope="session")
def venv():
    return install_frameworks()


@pytest.fixture
def job(lab, venv):
    """Makes a job of a framework's image; its hosts have no process left at the end."""
    made = []

    def make(framework, count, script=HELLO, env=None, files=None, **hyperparameters):
        env = {"SAGEMAKER_TRAINING_MODULE": MODULES[framework], **(env or {})}
        made.append(ImageTraining(lab, count, venv, script, hyperparameters, env, files))
        return made[-1]

    yield make
    for one in made:
        one.end()


def said(host, rank: int = 0) -> dict:
    return json.loads((host.base / "model" / f"said-{rank}").read_text())


def check_success(job) -> None:
    job.succeed()
    for host in job.hosts:
        assert (host.base / "output" / "success").read_text() == "", host.name
        assert not (host.base / "output" / "failure").exists(), host.name
    assert "Reporting training SUCCESS" in job.leader.text, job.story()
    job.assert_quiet()


@pytest.mark.parametrize("framework", MODULES)
def test_a_script_on_one_host(job, framework):
    one = job(framework, 1, lr=0.1, name="a b; $(id)").start()
    check_success(one)
    heard = said(one.hosts[0])
    wanted = ["--lr", "0.1", "--name", "a b; $(id)"]
    assert heard["args"][-4:] == wanted and heard["cwd"] == "/opt/ml/code"
    assert heard["env"]["SM_HP_LR"] == "0.1"
    assert heard["env"]["SM_FRAMEWORK_MODULE"] == MODULES[framework]
    assert heard["env"]["PYTHONPATH"].split(":")[0] == "/opt/ml/code"


@pytest.mark.parametrize("framework", MODULES)
def test_a_script_on_two_hosts(job, framework):
    two = job(framework, 2, lr=0.1).start()
    check_success(two)
    for host in two.hosts:
        env = said(host)["env"]
        assert env["SM_CURRENT_HOST"] == host.name
        assert json.loads(env["SM_HOSTS"]) == ["algo-1", "algo-2"]
        if framework == "pytorch":
            assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("algo-1", "7777")
            assert env["NCCL_SOCKET_IFNAME"] == "eth0"


@pytest.mark.parametrize("framework", MODULES)
def test_mpi_on_two_hosts(job, framework):
    two = job(
        framework,
        2,
        MPI,
        sagemaker_mpi_enabled=True,
        sagemaker_mpi_num_of_processes_per_host=2,
        lr=0.1,
    ).start()
    check_success(two)
    text = "".join(train.text for train in two.trains.values())
    for rank in range(4):
        line = f"rank {rank} of 4 sums to 10 on algo-{rank // 2 + 1} ['--lr', '0.1'"
        assert line in text, two.story()


def test_torchrun_on_two_hosts(job):
    two = job(
        "pytorch",
        2,
        sagemaker_torch_distributed_enabled=True,
        sagemaker_mpi_num_of_processes_per_host=2,
        lr=0.1,
    ).start()
    check_success(two)
    for index, host in enumerate(two.hosts):
        for local in range(2):
            env = said(host, 2 * index + local)["env"]
            got = [env[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR")]
            assert got == [str(2 * index + local), str(local), "4", "algo-1"]
            assert env["NCCL_PROTO"] == "simple"


def test_tensorflow_s_parameter_servers(job):
    two = job("tensorflow", 2, sagemaker_parameter_server_enabled=True, lr=0.1).start()
    check_success(two)
    cluster = {
        "master": ["algo-1:2222"],
        "ps": ["algo-1:2223", "algo-2:2223"],
        "worker": ["algo-2:2222"],
    }
    for host, task in zip(
        two.hosts, ({"type": "master", "index": 0}, {"type": "worker", "index": 0})
    ):
        heard = json.loads(said(host)["env"]["TF_CONFIG"])
        assert (heard["cluster"], heard["task"]) == (cluster, task)


def test_tensorflow_s_mirrored_workers(job):
    two = job("tensorflow", 2, sagemaker_multi_worker_mirrored_strategy_enabled=True).start()
    check_success(two)
    heard = json.loads(said(two.hosts[1])["env"]["TF_CONFIG"])
    assert heard["cluster"] == {"worker": ["algo-1:8890", "algo-2:8890"]}
    assert heard["task"] == {"type": "worker", "index": 1}


def test_mxnet_s_parameter_servers(job):
    # The script waits for its host's servers, which are started without anybody waiting for them.
    script = """
import os, threading
names = ["server"] + ["scheduler"] * (os.environ["SM_CURRENT_HOST"] == "algo-1")
paths = ["/opt/ml/output/data/" + name for name in names]
while not all(os.path.exists(path) and os.path.getsize(path) for path in paths):
    threading.Event().wait(0.05)
"""
    two = job("mxnet", 2, script + HELLO, sagemaker_parameter_server_enabled=True).start()
    check_success(two)
    data = [host.base / "output" / "data" for host in two.hosts]
    address = two.hosts[0].address
    assert (data[0] / "scheduler").read_text() == f"2 2 {address} 8000"
    assert not (data[1] / "scheduler").exists()
    for host in two.hosts:
        assert (host.base / "output/data/server").read_text() == f"2 2 {address} 8000"
        assert said(host)["env"]["DMLC_ROLE"] == "worker"


FAILURES = {
    "an exit code": "import sys\nprint('epoch 1', flush=True)\nsys.exit(42)\n",
    "an exception": "print('epoch 1', flush=True)\nraise ValueError('no\\nway')\n",
    "an error among other output": (
        "import sys\nprint('RuntimeError: CUDA', flush=True)\nprint('later')\nsys.exit(3)\n"
    ),
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "a syntax error": "def\n",
}


@pytest.mark.parametrize("framework", MODULES)
@pytest.mark.parametrize("how", FAILURES)
def test_the_failure_file_is_the_reference_s(job, folder, framework, how):
    one = job(framework, 1, FAILURES[how], lr=0.1).start()
    code = one["algo-1"].wait(GUARD_SECONDS)
    own = one.failure("algo-1")  # The reference replaces the file.
    theirs, their_code = reference_failure(one, folder, MODULES[framework])
    assert (masked(own), code) == (masked(theirs), their_code), one.story()
    assert "Reporting training FAILURE" in one.leader.text
    assert not (one.hosts[0].base / "output" / "success").exists()
    one.assert_quiet()


def masked(failure: str) -> str:
    """Without what is each installation's own: paths of interpreters and packages."""
    failure = re.sub(r"/\S*/bin/python3?(\.\d+)?", "PYTHON", failure)
    return re.sub(r"/\S*/site-packages", "SITE", failure)


def reference_failure(one, folder, module: str) -> tuple[str, int]:
    """What the reference writes for the same job: (failure file, exit code of train)."""
    reference = BUILD / "reference-venv" / "bin"
    if not (reference / "train").exists():
        pytest.skip("the reference is not installed: make build/reference-venv/.done")
    packages = folder / "packages"
    packages.mkdir()
    for found in (FRAMEWORKS / "lib").glob("python*/site-packages/sagemaker_*_container"):
        (packages / found.name).symlink_to(found)
    host = one.hosts[0]
    output = host.base / "output"
    subprocess.run(["rm", "-rf", output / "failure", output / "success"], check=True)
    env = host_environment(one.key, one.env)
    env["PYTHONPATH"] = os.pathsep.join([str(packages), str(STANDINS)])
    env["PATH"] = f"{reference}:/usr/bin:/bin"
    # A host does not see the path in the first line of train if that is below /tmp.
    train = host.start([reference / "python", reference / "train"], env=env)
    code = train.wait(GUARD_SECONDS)
    assert (output / "failure").exists(), train.text
    return (output / "failure").read_text(), code


@pytest.mark.parametrize("framework", MODULES)
def test_one_host_s_failure_fails_both(job, framework):
    script = """
import os, signal, sys
if os.environ["SM_CURRENT_HOST"] == "algo-2":
    sys.exit("RuntimeError: bad luck")
signal.pause()
"""
    two = job(framework, 2, script, lr=0.1).start()
    assert set(two.wait().values()) == {1}, two.story()
    assert two.failure("algo-2").startswith("ExecuteUserScriptError:\nExitCode 1\n")
    assert two.failure("algo-1") != ""
    two.assert_quiet()


def test_a_rank_s_failure_fails_both(job):
    script = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.Get_rank() == 3:
    raise ValueError("rank three")
MPI.COMM_WORLD.Barrier()
"""
    two = job(
        "pytorch",
        2,
        script,
        sagemaker_mpi_enabled=True,
        sagemaker_mpi_num_of_processes_per_host=2,
    ).start()
    codes = two.wait()
    assert 0 not in codes.values(), two.story()
    for host in two.hosts:
        failure = two.failure(host.name)
        assert failure.startswith("ExecuteUserScriptError:\nExitCode 1\n"), failure
        assert "rank three" in failure, failure
    two.assert_quiet()


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        ("raise OSError(13, 'denied')", "[Errno 13] denied", 13),
        ("raise RuntimeError('bad')", "bad", 1),
        ("from sagemaker_training import errors; raise errors.ClientError('do')", "do", 1),
        ("import no_such_module", "No module named 'no_such_module'", 1),
    ],
)
def test_a_framework_s_own_failure(job, code, text, wanted):
    env = {"SAGEMAKER_TRAINING_MODULE": "own_framework:main", "PYTHONPATH": "/opt/ml/code"}
    files = {"own_framework.py": f"def main():\n    {code}\n"}
    one = job("pytorch", 1, env=env, files=files).start()
    assert one["algo-1"].wait(GUARD_SECONDS) == wanted, one.story()
    failure = one.failure("algo-1")
    assert failure.endswith(text), failure
    assert failure.startswith("Framework Error: \nTraceback") or failure == text, failure


def test_a_module_that_is_not_there_is_a_framework_error(job):
    one = job("pytorch", 1, env={"SAGEMAKER_TRAINING_MODULE": "no_such_framework:main"}).start()
    assert one["algo-1"].wait(GUARD_SECONDS) == 1, one.story()
    assert "No module named 'no_such_framework'" in one.failure("algo-1")


def test_train_starts_no_interpreter_of_its_own(job):
    """In script mode the only Python is the user's program."""
    script = "import os\nprint('parent', open('/proc/%d/comm' % os.getppid()).read(), flush=True)\n"
    one = job("pytorch", 1, script, env={"SAGEMAKER_TRAINING_MODULE": ""}).start()
    assert one["algo-1"].wait(GUARD_SECONDS) == 0, one.story()
    assert "parent muster-sm" in one.leader.text, one.story()


def test_train_works_through_a_link_and_by_any_path(lab, venv):
    host = lab.hosts(1)[0]
    write_job(host, ["algo-1"], "print('ran')", {"sagemaker_program": '"script.py"'})
    calls = [
        [venv / "bin/train"],
        ["sh", "-c", f"cd {venv} && exec bin/train"],
        ["sh", "-c", f"PATH={venv}/bin:$PATH exec train"],
        ["sh", "-c", f"ln -s {venv}/bin/train /run/t && exec /run/t"],
    ]
    for words in calls:
        ran: Process = host.start(words, env=host_environment("0" * 64))
        assert ran.wait(GUARD_SECONDS) == 0, (words, ran.text)
        assert b"ran" in ran.out, (words, ran.text)


def test_the_wheel_is_the_same_twice(venv, tmp_path):
    wheels = []
    for name in ("a", "b"):
        words = ["tools/build-wheel", RELEASE / "sm", tmp_path / name]
        subprocess.run(words, cwd=BUILD.parent, check=True)
        wheels.append(next((tmp_path / name).glob("*.whl")).read_bytes())
    assert wheels[0] == wheels[1]
