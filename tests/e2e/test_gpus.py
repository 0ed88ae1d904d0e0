"""GPUs for jobs: CDI files over stand-in devices, since no test has a GPU.

A stand-in is a device node with /dev/zero's number in the test's folder. The tests check which job
gets which GPU, and what else a host can reach; they do not check what a GPU computes.
"""

import contextlib
import json
import os
import pathlib
import re
import stat
import subprocess

import pytest

from fit import GUARD_SECONDS
from lab import REPOSITORY, SM
from oci_image import layer, programs, write_layout
from process import wait_until
from sm_server import SmServer

ZERO = os.makedev(1, 5)
SEES = """
import os
own = sorted(name for name in os.listdir("/dev") if name.startswith("standin"))
for name in own:
    with open(f"/dev/{name}", "r+b", buffering=0) as device:
        assert device.read(4) == bytes(4) and device.write(b"x") == 1
told = os.environ["SM_NUM_GPUS"], os.environ.get("STANDIN"), os.environ.get("MUSTER_NUM_GPUS")
print("sees", os.environ["SM_CURRENT_HOST"], own, *told)
"""
NCCL = """
import os
shm = os.statvfs("/dev/shm")
names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_DEBUG")
print("shm", shm.f_blocks * shm.f_frsize >> 20, "MiB", [os.environ.get(name) for name in names])
"""
HOLDS = """
import os, select
print("holds", flush=True)
while not os.path.exists("/gate/open"):
    select.select([], [], [], 0.05)
"""
TRIES = """
import os
def refused(what, *arguments):
    try:
        what(*arguments)
        print("done", what.__name__)
    except OSError as error:
        print("refused", what.__name__, error.errno)
refused(os.chmod, "/dev/standin0", 0o777)
refused(os.chown, "/dev/standin0", 7, 7)
refused(os.utime, "/dev/standin0", (1, 1))
refused(os.mknod, "/dev/other", 0o20666, os.makedev(1, 11))
refused(os.mknod, "/tmp/other", 0o20666, os.makedev(1, 11))
refused(os.unlink, "/dev/standin0")
"""


@contextlib.contextmanager
def mounted(source, target, *options):
    subprocess.run(["mount", *(options or ["--bind"]), source, target], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", target], check=True)


class StandIns:
    """Device nodes, and the CDI file that names them."""

    def __init__(self, folder: pathlib.Path, count: int, kind: str = "example.com/gpu"):
        self.folder = folder
        self.cdi = folder / "cdi"
        self.cdi.mkdir(parents=True)
        self.nodes = [self.node(f"nvidia{number}") for number in range(count)]
        self.common = self.node("control")
        self.file = self.cdi / "standins.json"
        devices = [
            {
                "name": str(number),
                "containerEdits": {
                    "deviceNodes": [{"path": f"/dev/standin{number}", "hostPath": str(node)}]
                },
            }
            for number, node in enumerate(self.nodes)
        ]
        self.content = {
            "cdiVersion": "0.6.0",
            "kind": kind,
            "containerEdits": {
                "deviceNodes": [{"path": "/dev/control", "hostPath": str(self.common)}],
                "env": ["STANDIN=common"],
                "hooks": [{"hookName": "createContainer", "path": str(folder / "hook")}],
            },
            "devices": devices,
        }
        (folder / "hook").write_text(f"#!/bin/sh\ntouch {folder}/hook-ran\n")
        (folder / "hook").chmod(0o755)
        self.write()

    def node(self, name: str) -> pathlib.Path:
        path = self.folder / name
        os.mknod(path, stat.S_IFCHR | 0o666, ZERO)
        path.chmod(0o666)
        return path

    def write(self) -> None:
        self.file.write_text(json.dumps(self.content))
        self.file.chmod(0o644)

    @property
    def environment(self) -> dict[str, str]:
        return {"MUSTER_CDI_FOLDERS": str(self.cdi)}


@pytest.fixture
def standins(tmp_path, monkeypatch):
    """A machine with four GPUs, as `sm` finds them."""
    made = StandIns(tmp_path / "gpus", 4)
    monkeypatch.setenv("MUSTER_CDI_FOLDERS", made.environment["MUSTER_CDI_FOLDERS"])
    return made


def finish(process, code: int = 0) -> str:
    assert process.wait(GUARD_SECONDS) == code, process.text
    return process.text


def test_each_host_has_gpus_of_its_own(machine, standins):
    text = finish(machine.fit(SEES, "--gpus", "2", "--verbose", hosts=2))
    assert "sees algo-1 ['standin0', 'standin1'] 2 common None" in text, text
    assert "sees algo-2 ['standin2', 'standin3'] 2 common None" in text, text
    assert "algo-2 has example.com/gpu=2, example.com/gpu=3" in text, text
    assert text.count("use --hosts 1 --gpus N") == 1, text
    assert not (standins.folder / "hook-ran").exists()


def test_a_host_with_gpus_has_shared_memory_and_variables_for_nccl(machine, standins):
    text = finish(machine.fit(NCCL, "--gpus", "1", "--memory", "4g"))
    assert not list(machine.output.glob("**/nccl")), text  # The Flight Recorder wrote nothing.
    assert "shm 2048 MiB ['=eth0', 'eth0', 'WARN']" in text, text
    other = machine.folder / "other"
    own = ("--gpus", "1", "--shm-size", "64m", "--env", "NCCL_DEBUG=TRACE")
    text = finish(machine.fit(NCCL, *own, output=other))
    assert "shm 64 MiB ['=eth0', 'eth0', 'TRACE']" in text, text
    text = finish(machine.fit(NCCL, "--overwrite", output=other))
    assert "['=eth0', 'eth0', None]" in text, text


def test_hosts_see_the_machines_classes_of_devices(machine, standins):
    """NCCL finds adapters in /sys/class/infiniband, which a machine without any does not have."""
    script = """
import os
print("classes", *sorted(os.listdir("/sys/class")))
assert all(os.path.exists(f"/sys/class/{name}") for name in os.listdir("/sys/class"))
"""
    text = finish(machine.fit(script, "--gpus", "1"))
    assert "classes " + " ".join(sorted(os.listdir("/sys/class"))) in text, text


def test_a_job_that_asks_for_none_sees_none(machine, standins):
    text = finish(machine.fit(SEES, "--env", f"MUSTER_CDI_FOLDERS={standins.cdi}", "--verbose"))
    assert "--hosts 1 --gpus N" not in text, text
    assert "sees algo-1 [] 0 None None" in text, text


def test_jobs_have_gpus_to_themselves_while_they_live(machine, standins):
    gate = machine.folder / "gate"
    gate.mkdir()
    bind = ("--bind", f"{gate}:/gate")
    first = machine.fit(HOLDS, "--gpus", "3", "--name", "holder", *bind)
    wait_until("the first job to run", lambda: "holds" in first.text or first.ended_at)
    assert "holds" in first.text, first.text
    other = machine.folder / "other"
    told = finish(machine.fit(SEES, "--gpus", "2", output=other), 3)
    assert "the job needs 2 GPUs, but only 1 of 4 GPUs on this machine are free" in told
    assert "example.com/gpu=0 is used by algo-1 of holder" in told
    assert "sees algo-1 ['standin3'] 1" in finish(machine.fit(SEES, "--gpus", "1", output=other))
    (gate / "open").touch()
    finish(first)
    assert "['standin0', 'standin1', 'standin2', 'standin3'] 4" in finish(
        machine.fit(SEES, "--gpus", "4", "--overwrite", output=other)
    )


def test_a_host_changes_nothing_of_a_device_and_makes_none(machine, standins):
    before = standins.nodes[0].stat()
    text = finish(machine.fit(TRIES, "--gpus", "1"))
    assert text.count("refused") == 6 and "done" not in text, text
    after = standins.nodes[0].stat()
    assert (after.st_mode, after.st_uid, after.st_mtime) == (
        before.st_mode,
        before.st_uid,
        before.st_mtime,
    )


def test_only_what_is_given_can_be_opened_by_number(machine, standins):
    """Were there a node of another device, the host's control group would refuse it."""
    groups = pathlib.Path("/sys/fs/cgroup/devices/muster")
    gate = machine.folder / "gate"
    gate.mkdir()
    standins.nodes[0].unlink()
    os.mknod(standins.nodes[0], stat.S_IFCHR | 0o666, os.makedev(10, 237))
    job = machine.fit(HOLDS, "--gpus", "1", "--name", "numbers", "--bind", f"{gate}:/gate")
    wait_until("the job to run", lambda: "holds" in job.text or job.ended_at)
    if not groups.is_dir():
        (gate / "open").touch()
        finish(job)
        pytest.skip("the list of devices is a program of the kernel's here (cgroup version 2)")
    (group,) = groups.glob("numbers.*")
    listed = (group / "algo-1/devices.list").read_text().splitlines()
    (gate / "open").touch()
    finish(job)
    assert "c 10:237 rw" in listed, listed
    # The runtime lets every container make nodes, by which no host has the capability.
    opened = [line for line in listed if not line.endswith(" m")]
    assert not [line for line in opened if not line.startswith("c ") or "*:" in line], listed
    assert not [line for line in opened if line.startswith("c 1:11 ")], listed


@pytest.mark.parametrize(
    ("spoil", "says", "code"),
    [
        (lambda made: made.file.chmod(0o666), "must be owned by root", 3),
        (lambda made: made.file.write_text("{"), "not JSON at line 1", 2),
        (lambda made: made.file.unlink(), "this machine has no GPUs available for hosts", 3),
    ],
)
def test_what_the_machine_says_wrongly_is_one_line(machine, standins, spoil, says, code):
    spoil(standins)
    process = machine.fit(SEES, "--gpus", "1")
    assert says in finish(process, code)
    assert machine.jobs() == []
    # Jobs without GPUs have nothing to do with it.
    assert "sees algo-1 [] 0" in finish(machine.fit(SEES, output=machine.folder / "other"))


def test_yaml_and_the_better_connected_go_together(machine, standins, tmp_path):
    standins.file.unlink()
    name = standins.cdi / "standins.yaml"
    name.write_text("# What the vendor's tool wrote.\n" + json.dumps(standins.content, indent=1))
    tools = tmp_path / "tools"
    tools.mkdir()
    matrix = (
        "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
        "GPU0\t X \tSYS\tNV2\tSYS\t0-1\nGPU1\tSYS\t X \tSYS\tNV2\t0-1\n"
        "GPU2\tNV2\tSYS\t X \tSYS\t0-1\nGPU3\tSYS\tNV2\tSYS\t X \t0-1\n"
    )
    (tools / "matrix").write_text(matrix)
    program = tools / "nvidia-smi"
    program.write_text(f'#!/bin/sh\n[ "$*" = "topo -m" ] && exec cat {tools}/matrix\n')
    program.chmod(0o755)
    (machine.source / "script.py").write_text(SEES)
    words = ("fit", machine.source / "script.py", "--gpus", "2", "--output", machine.output)
    path = {"PATH": f"{tools}:{machine.environment()['PATH']}"}
    text = finish(machine.sm(*words, environment=path))
    assert "sees algo-1 ['standin0', 'standin2'] 2" in text, text


def driver_tool(folder: pathlib.Path, count: int, **changed: str) -> pathlib.Path:
    """A stand-in for nvidia-smi: `count` cards like the recorded one, the first with changes."""
    recorded = (REPOSITORY / "tests/data/nvidia_smi_h100.txt").read_text()
    head, card = recorded.split("GPU 00000000:00:06.0\n")
    text = re.sub(r"(Attached GPUs +: ).*", rf"\g<1>{count}", head)
    for number in range(count):
        own = re.sub(r"(Minor Number +: ).*", rf"\g<1>{number}", card)
        for name, value in changed.items() if number == 0 else ():
            own = re.sub(rf"( {name.replace('_', ' ')} +: ).*", rf"\g<1>{value}", own)
        text += f"GPU 00000000:0{number}:00.0\n{own}"
    folder.mkdir()
    (folder / "said").write_text(text)
    program = folder / "nvidia-smi"
    program.write_text(f'#!/bin/sh\n[ "$*" = -q ] && exec cat {folder}/said\nexit 1\n')
    program.chmod(0o755)
    return folder


def test_a_sick_card_goes_to_no_job(machine, standins, tmp_path, monkeypatch):
    tools = driver_tool(tmp_path / "tools", 4, GPU_Recovery_Action="Reset", DRAM_Uncorrectable="1")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    text = finish(machine.fit(SEES, "--gpus", "1", "--verbose"))
    assert "sees algo-1 ['standin1'] 1" in text, text
    assert "example.com/gpu=0 needs recovery: Reset; jobs do not use it" in text, text
    other = machine.folder / "other"
    text = finish(machine.fit(SEES, "--gpus", "4", output=other), 3)
    assert "3 of 4 GPUs on this machine are free (example.com/gpu=0 is out of use: it needs" in text
    own = ("--env", "MUSTER_SICK_GPUS=use")  # Only `sm`'s own decides.
    finish(machine.fit(SEES, "--gpus", "4", *own, output=other), 3)
    monkeypatch.setenv("MUSTER_SICK_GPUS", "use")
    text = finish(machine.fit(SEES, "--gpus", "4", "--verbose", output=other))
    assert "jobs can still use it, as configured" in text, text
    assert "GPU 0: 1 uncorrected memory error since the last reset" in text, text


def test_a_servers_queue_knows_sick_cards(standins, tmp_path, monkeypatch):
    tools = driver_tool(tmp_path / "tools", 4, GPU_Recovery_Action="Reset")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    jobs = {"instance_types": {"ml.p3.8xlarge": {"gpus": 4}}, "network": "none"}
    request = {
        "TrainingJobName": "four",
        "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::000000000000:role/any",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {
            "InstanceType": "ml.p3.8xlarge",
            "InstanceCount": 1,
            "VolumeSizeInGB": 1,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 100},
    }
    reason = r"gpus: 4 requested, 3 available \(example.com/gpu=0 needs recovery: Reset\)"
    for name in ("avoids", "uses"):
        (tmp_path / name).mkdir()
    with SmServer(tmp_path / "avoids", jobs=jobs) as server:
        server.client("s3").create_bucket(Bucket="bucket")
        sagemaker = server.client("sagemaker")
        with pytest.raises(sagemaker.exceptions.ClientError, match=reason):
            sagemaker.create_training_job(**request)
    with SmServer(tmp_path / "uses", jobs={**jobs, "sick_gpus": "use"}) as server:
        server.client("s3").create_bucket(Bucket="bucket")
        server.client("sagemaker").create_training_job(**request)


def test_an_image_finds_the_drivers_libraries(machine, standins, tmp_path):
    library = tmp_path / "lib" / "libstandin.so.535.1"
    library.parent.mkdir()
    library.write_text("a library\n")
    (library.parent / "libstandin.so.1").symlink_to(library.name)
    inside = "/usr/lib/libstandin.so.535.1"
    standins.content["containerEdits"]["mounts"] = [
        {"hostPath": str(library), "containerPath": inside, "options": ["rw", "exec", "dev"]}
    ]
    standins.write()
    run = b"""#!/bin/sh
echo "libraries $LD_LIBRARY_PATH, $STANDIN"
for file in /usr/lib/libstandin.so.535.1 /run/muster/gpu/lib/libstandin.so.1; do
  read -r line <$file; echo "$file: $line"
  (echo x >$file) 2>/dev/null && echo written
done
test -c /dev/standin0 && : </dev/standin0 && echo "device opens"
test -e /dev/standin1 && echo "sees another's"
exit 0
"""
    image = tmp_path / "image"
    # A dynamic `sm`, as the dev build's, needs its libraries in an image.
    shell = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
    del shell[str(SM).removeprefix("/")]
    layers = [layer(shell), layer({"bin/train": run})]
    write_layout(image, layers, process={"Env": ["PATH=/bin", "LD_LIBRARY_PATH=/own"]})
    finish(machine.sm("image", "import", f"oci:{image}:v1", "--name", "team/gpu:v1"))
    text = finish(machine.sm("fit", "--image", "team/gpu:v1", "--gpus", "1"))
    assert "libraries /own:/run/muster/gpu/lib, common" in text, text
    assert text.count(": a library") == 2 and "device opens" in text, text
    assert "written" not in text and "sees another's" not in text, text


PARTS = """
import glob, os
own = sorted(glob.glob("/dev/nvidia-caps/*"))
for name in own:
    open(name, "rb", buffering=0).close()
names = "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "SM_NUM_GPUS"
print("parts", os.environ["SM_CURRENT_HOST"], own, *(os.environ[name] for name in names))
"""


def test_parts_of_a_card_are_gpus_of_their_own(machine, tmp_path, monkeypatch):
    made = StandIns(tmp_path / "gpus", 1)
    devices = []
    for part, uuid in enumerate(("MIG-aaa", "MIG-bbb")):
        node = made.node(f"nvidia-cap{part}")
        node.chmod(0o444)
        nodes = [
            {"path": "/dev/nvidia0", "hostPath": str(made.nodes[0])},
            {"path": f"/dev/nvidia-caps/nvidia-cap{part}", "hostPath": str(node)},
        ]
        for name in (f"0:{part}", uuid):
            devices.append({"name": name, "containerEdits": {"deviceNodes": nodes}})
    made.content["devices"] = devices
    made.write()
    monkeypatch.setenv("MUSTER_CDI_FOLDERS", str(made.cdi))
    text = finish(machine.fit(PARTS, "--gpus", "1", "--verbose", hosts=2))
    for host, (part, uuid) in enumerate(((0, "MIG-aaa"), (1, "MIG-bbb")), 1):
        caps = f"['/dev/nvidia-caps/nvidia-cap{part}']"
        assert f"parts algo-{host} {caps} {uuid} {uuid} 1" in text, text
    assert "cannot be opened by hosts" not in text, text


def test_a_servers_instance_types_have_gpus(standins, tmp_path):
    types = {"ml.p3.2xlarge": {"gpus": 1}}
    with SmServer(tmp_path, jobs={"instance_types": types, "network": "none"}) as server:
        sagemaker, s3 = server.client("sagemaker"), server.client("s3")
        s3.create_bucket(Bucket="bucket")
        ends = {}
        for name, kind, count in (("one", "ml.p3.2xlarge", 2), ("all", "local_gpu", 1)):
            sagemaker.create_training_job(
                TrainingJobName=name,
                AlgorithmSpecification={
                    "TrainingImage": "host",
                    "TrainingInputMode": "File",
                    "ContainerEntrypoint": ["/bin/sh", "-c", "echo gpus: /dev/standin*"],
                },
                RoleArn="arn:aws:iam::000000000000:role/any",
                OutputDataConfig={"S3OutputPath": "s3://bucket/out"},
                ResourceConfig={
                    "InstanceType": kind,
                    "InstanceCount": count,
                    "VolumeSizeInGB": 1,
                },
                StoppingCondition={"MaxRuntimeInSeconds": 100},
            )
            sagemaker.get_waiter("training_job_completed_or_stopped").wait(
                TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 90}
            )
            ends[name] = sagemaker.describe_training_job(TrainingJobName=name)
            assert ends[name]["TrainingJobStatus"] == "Completed", ends[name]
        logs = server.client("logs")
        events = logs.filter_log_events(logGroupName="/aws/sagemaker/TrainingJobs")["events"]
        said = [event["message"] for event in events if event["message"].startswith("gpus:")]
        assert "gpus: /dev/standin0" in said and "gpus: /dev/standin1" in said, said
        assert any(line.count("standin") == 4 for line in said), said
        refused = "gpus: 5 requested, 4 available"
        with pytest.raises(sagemaker.exceptions.ClientError, match=refused):
            sagemaker.create_training_job(
                TrainingJobName="five",
                AlgorithmSpecification={"TrainingImage": "host", "TrainingInputMode": "File"},
                RoleArn="arn:aws:iam::000000000000:role/any",
                OutputDataConfig={"S3OutputPath": "s3://bucket/out"},
                ResourceConfig={
                    "InstanceType": "ml.p3.2xlarge",
                    "InstanceCount": 5,
                    "VolumeSizeInGB": 1,
                },
                StoppingCondition={"MaxRuntimeInSeconds": 100},
            )
