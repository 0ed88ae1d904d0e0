"""SageMaker's `@remote`, RemoteExecutor and the jobs of `@step`, by its SDKs 2 and 3.

Jobs have no network: the image's Python has all that the SDKs' own scripts would install.
"""

import pathlib
import subprocess
import sysconfig

import pytest

from lab import REPOSITORY, VENV
from process import Process
from sm_server import SmServer
from test_docs import BLOCK, check_lines
from test_server_sdk import CASE_SECONDS, TORCH, Case, client_env, interpreter

pytestmark = pytest.mark.sdk

SDKS = {2: "sdk-venv", 3: "sdk3-venv"}
CASES = ("alone", "lacking", "executor", "torchrun", "steps")


def packages_of(prefix) -> str:
    """The folder of a virtual environment's packages; each has this version of Python."""
    return sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)})


def make_python(folder, venv: str):
    """An interpreter with the packages of this SDK, mpi4py's and torch's."""
    subprocess.run([interpreter(venv), "-m", "venv", "--without-pip", folder], check=True)
    homes = [REPOSITORY / "build" / venv, VENV, TORCH.parent.parent]
    paths = "\n".join(packages_of(home.resolve()) for home in homes)
    (pathlib.Path(packages_of(folder)) / "more.pth").write_text(paths)
    python, torchrun = folder / "bin/python", folder / "bin/torchrun"
    torchrun.write_text(f"#!{python}\nfrom torch.distributed.run import main\nmain()\n")
    torchrun.chmod(0o755)
    return python


def start_page(server) -> tuple[Process, list[str]]:
    """The users' page's function, in the image of this SDK; lines that the page says it prints."""
    blocks = BLOCK.findall((REPOSITORY / "docs/users/coming-from.md").read_text())
    at = next(n for n, (_, mark, text) in enumerate(blocks) if "@remote(" in text and mark)
    _, _, commands = blocks[at]
    assert commands.count('image_uri="host"') == 1
    commands = commands.replace('image_uri="host"', 'image_uri="functions"')
    if server.venv == SDKS[3]:  # As the page's comment says.
        commands = commands.replace("sagemaker.remote_function", "sagemaker.core.remote_function")
    folder = server.folder / "page"
    folder.mkdir()
    path = f'PATH="{pathlib.Path(interpreter(server.venv)).parent}:$PATH"\n'
    words = ["bash", "-ec", path + commands]
    return Process(words, client_env(server), cwd=folder), blocks[at + 1][2].splitlines()


@pytest.fixture(scope="module", params=SDKS)
def sdk(request):
    """A server for one SDK's functions, and all cases under way: most of it is its own pauses."""
    folder = REPOSITORY / "build" / "e2e" / f"remote-functions-{request.param}"
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir(parents=True)
    venv = SDKS[request.param]
    python = str(make_python(folder / "python", venv))
    jobs = {"network": "none", "images": {"functions": {"python": python}}}
    with SmServer(folder, jobs=jobs) as server:
        server.folder = folder
        server.venv = venv
        names = [name for name in CASES if name != "torchrun" or TORCH.exists()]
        server.cases = {name: Case(server, "functions.py", name, venv) for name in names}
        server.page, server.page_lines = start_page(server)
        yield server


def found(sdk, name: str):
    if name not in sdk.cases:
        pytest.skip(f"{TORCH} is missing: make frameworks builds it")
    return sdk.cases[name].found()


def test_a_function_runs_on_one_host(sdk):
    assert found(sdk, "alone") == 0.5
    assert "in the job: 1 by 2" in sdk.cases["alone"].shown


def test_a_package_that_is_not_there_is_named(sdk):
    kind, why = found(sdk, "lacking")
    assert kind == "RuntimeEnvironmentError"
    assert "No matching distribution found for muster-needs-no-such-package" in why


def test_an_executor_runs_several_functions_and_brings_an_exception(sdk):
    assert found(sdk, "executor") == [3.0, 1.5, "division by zero"]


def test_mpirun_starts_a_function_on_two_hosts_without_sshd_as_the_users_page_says(sdk):
    assert sdk.page.wait(CASE_SECONDS) == 0, sdk.page.text
    check_lines(sdk.page_lines, sdk.page.out.decode())
    for rank in range(4):
        line = f"[1,mpirank:{rank},algo-{rank // 2 + 1}]<stdout>:rank {rank} of 4\n"
        assert sdk.page.text.count(line) == 1


def test_torchrun_starts_a_function_on_two_hosts(sdk):
    assert found(sdk, "torchrun") == 6
    for rank in range(4):
        assert sdk.cases["torchrun"].shown.count(f"worker {rank} of 4.") == 1


def test_the_jobs_of_a_pipelines_steps_run_and_the_pipeline_is_refused(sdk):
    """muster has no pipelines: the case sends each step's own request, as the service would."""
    steps = found(sdk, "steps")
    assert steps["results"] == [0.5, 0.25]
    assert "muster does not support pipelines" in steps["refused"]
