"""examples/horovod-lab's image, really built, trains on twelve hosts.

The Dockerfile's stage that compiles TensorFlow and Horovod is not run: what `make frameworks` built
is an image that takes its place. `make test-frameworks` runs this.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

from debian_root import make_root
from fit import GUARD_SECONDS
from frameworks import SECONDS, check_results, interpreter, make_data
from lab import REPOSITORY, SM
from oci_image import layer, special, tree, write_layout
from process import Process
from sm_server import SmServer
from test_frameworks_lab import LAB, launcher  # noqa: F401: a fixture
from test_server_sdk import HERE
from test_server_sdk import interpreter as interpreter_of

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(os.geteuid() != 0, reason="images need root"),
]

HOSTS = 12
# Ranks that wait give the processor away: here they are more than there are cores.
YIELD = "--mca mpi_yield_when_idle 1"
BUILD_OPTIONS = ["--pull-never", "--build-arg", "FRAMEWORKS=localhost/frameworks:tf"]
SITE = "lib/python3.11/site-packages"


class Buildah:
    """buildah with a store of its own."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        settings = folder / "storage.conf"
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "CONTAINERS_STORAGE_CONF": str(settings),
        }
        settings.write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n'
        )

    def run(self, *words) -> str:
        done = subprocess.run(
            [str(word) for word in words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    def bring(self, name: str, layers: list[bytes]) -> None:
        """An image of these layers, under this name."""
        layout = self.folder / "layout" / name.replace("/", "-").replace(":", "-")
        write_layout(layout, layers, process={"Env": ["PATH=/usr/bin:/usr/sbin"]}, packed=False)
        image = self.run("buildah", "pull", "-q", f"oci:{layout}:v1").strip()
        self.run("buildah", "tag", image, name)


def frameworks_layers() -> list[bytes]:
    """/opt/venv as the Dockerfile's first stage leaves it, for Debian's own Python."""
    venv = interpreter("tf").parent.parent
    if not (venv / SITE).exists():
        pytest.skip("make frameworks used another Python than Debian 12's 3.11")
    members = {"opt/venv/pyvenv.cfg": b"home = /usr/bin\nversion = 3.11\n"}
    for name in ("python", "python3", "python3.11"):
        path = f"opt/venv/bin/{name}"
        members[path] = special(path, tarfile.SYMTYPE, "/usr/bin/python3.11")
    return [layer(members), tree(venv / SITE, f"opt/venv/{SITE}/")]


@pytest.fixture
def buildah(tmp_path) -> Buildah:
    """With what the lab's image is made of."""
    buildah = Buildah(tmp_path)
    debian = make_root("bookworm-slim", "bookworm", "ca-certificates")
    buildah.bring("docker.io/library/debian:12-slim", [tree(debian, "", "--exclude=./dev/*")])
    buildah.bring("localhost/frameworks:tf", frameworks_layers())
    return buildah


@pytest.fixture
def lab_image(machine, buildah, tmp_path) -> str:
    """The lab's image, built and brought to the machine."""
    buildah.run(LAB / "build.sh", *BUILD_OPTIONS)
    archive = f"docker-archive:{tmp_path}/lab.tar"
    buildah.run("buildah", "push", "-q", "horovod-lab", f"{archive}:horovod-lab:latest")
    imported = machine.sm("image", "import", archive)
    assert imported.wait(GUARD_SECONDS) == 0, imported.text
    return "horovod-lab"


def test_the_labs_image_trains_on_twelve_hosts(machine, launcher, lab_image, capfd):  # noqa: F811
    model = launcher.train(
        horovod_train_script="train_hvd.py",
        instance_count=HOSTS,
        num_of_processes_per_host=1,
        hyperparameters={"epochs": 2},
        inputs={path.name: path for path in make_data(machine.folder).iterdir()},
        mpi_options=YIELD,
        output=machine.output,
        image=lab_image,
        sm=SM,
    )
    assert len(check_results(capfd.readouterr().out, HOSTS, learned=False)) == 1
    assert [path.name for path in model.iterdir()] == ["model.h5"]


def test_the_images_own_launcher_trains(machine, lab_image):
    """Nothing comes along: the image's `train` starts its horovod_launcher.py on each host."""
    words = ["--image", lab_image, "--hosts", 2, "-o", machine.output]
    words += ["--env", "SAGEMAKER_PROGRAM=horovod_launcher.py"]
    parameters = {"num_of_processes_per_host": 2, "epochs": 2, "custom_mpi_options": YIELD}
    for name, value in parameters.items():
        words += ["-p", f"{name}={value}"]
    for path in make_data(machine.folder).iterdir():
        words += ["-i", f"{path.name}={path}"]
    job = machine.sm("fit", *words)
    assert job.wait(SECONDS) == 0, job.text
    assert len(check_results(job.text, 4, learned=False)) == 1
    assert (machine.output / "model/model.h5").exists()


def test_the_labs_notebook_builds_pushes_and_trains(buildah, folder):
    """By the server alone, which is the registry, too."""
    if not (REPOSITORY / "build/sdk-venv/.notebooks-done").exists():
        pytest.skip("no kernel: make build/sdk-venv/.notebooks-done")
    environment = {
        **buildah.environment,
        "MUSTER_STATE": str(folder / "state"),
        "LAB_BUILD_OPTIONS": " ".join(BUILD_OPTIONS),
        "PYTHONPATH": str(REPOSITORY / "python/src"),
    }
    with SmServer(folder, jobs={"capacity": {"hosts": HOSTS}}, env=environment) as server:
        words = [interpreter_of("sdk-venv"), HERE / "notebook.py", LAB / "horovod-lab.ipynb"]
        process = Process(words, {**environment, **server.env(), "SM": str(SM)}, folder)
        try:  # The notebook builds an image of 2 GB, pushes it and trains: 260 s if busy.
            assert process.wait(2 * SECONDS) == 0, process.text
        finally:
            process.end()
            shutil.rmtree(LAB / "data", ignore_errors=True)
            shutil.rmtree(LAB / "model", ignore_errors=True)
    shown = json.loads(process.out.splitlines()[-1])
    assert "['latest'] sha256:" in shown["pushed"]
    assert len(check_results(shown["train"], HOSTS, learned=False)) == 1
    assert shown["model"].strip() == "Completed ['model.h5']"
