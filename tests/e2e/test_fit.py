"""`sm fit`: jobs on this machine, each host a container."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from fit import GUARD_SECONDS, in_host, wait_for_jobs_to_go
from process import wait_until


def succeed(process):
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process


def script_file(machine, text: str):
    path = machine.source / "script.py"
    path.write_text(text)
    return path


MODEL = """
import os, sys
host = os.environ["SM_CURRENT_HOST"]
model, data = os.environ["SM_MODEL_DIR"], os.environ["SM_OUTPUT_DATA_DIR"]
open(os.path.join(model, host + ".txt"), "w").write(host)
open(os.path.join(model, "same.txt"), "w").write(host)
os.makedirs(os.path.join(model, "deep", "er"), exist_ok=True)
open(os.path.join(model, "deep", "er", host), "w").close()
open(os.path.join(data, "notes-" + host), "w").write("n")
print("input:", open(os.path.join(os.environ["SM_CHANNEL_TRAIN"], "a.txt")).read(), flush=True)
print("args:", sys.argv[1:], flush=True)
"""


def test_inputs_arguments_and_merged_outputs(machine):
    data = machine.folder / "data"
    data.mkdir()
    (data / "a.txt").write_text("from the submitter")
    process = succeed(
        machine.fit(MODEL, "--input", f"train={data}", "--hyperparameter", "epochs=2", hosts=2)
    )
    text = process.out.decode()
    assert text.count("input: from the submitter") == 2, process.text
    assert text.count("args: ['--epochs', '2']") == 2, process.text
    model = machine.output / "model"
    assert (model / "algo-1.txt").read_text() == "algo-1"
    assert (model / "algo-2.txt").read_text() == "algo-2"
    assert (model / "same.txt").read_text() == "algo-2", "the later host wins"
    other = machine.output / "conflicts/algo-1/model/same.txt"
    assert other.read_text() == "algo-1", "and the other one's is kept"
    assert "several hosts wrote different versions of: model/same.txt; " in process.text
    assert sorted(path.name for path in (model / "deep/er").iterdir()) == ["algo-1", "algo-2"]
    found = {path.name for path in (machine.output / "output").rglob("notes-*")}
    assert found == {"notes-algo-1", "notes-algo-2"}
    assert (data / "a.txt").read_text() == "from the submitter"
    assert not machine.jobs()


def test_encryption_on_one_machine_is_taken_and_said_not_to_be(machine):
    process = succeed(machine.fit("print('it ran')", "--encrypt", hosts=2))
    assert process.text.count("it ran") == 2, process.text
    line = "traffic between hosts stays inside this machine's kernel; it is not encrypted"
    assert process.text.count(f"algo-1 muster: {line}") == process.text.count(line) == 1


def test_results_are_the_submitters_and_replace_only_an_earlier_jobs(machine):
    """The owner is the user of sudo: SUDO_UID and SUDO_GID."""
    script = script_file(machine, "open('/opt/ml/model/' + SM_NAME, 'w').write('x')")
    script.write_text(script.read_text().replace("SM_NAME", "__import__('sys').argv[1]"))
    words = ["fit", script, "--output", machine.folder / "new" / "out", "--overwrite"]
    environment = {"SUDO_UID": "12345", "SUDO_GID": "23456"}
    succeed(machine.sm(*words, "--", "first", environment=environment))
    for path in (machine.folder / "new").rglob("*"):
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456), path
    assert (machine.folder / "new").stat().st_uid == 12345
    again = machine.sm(*words[:-1], "--", "second")
    assert again.wait(GUARD_SECONDS) == 2, again.text
    assert "contains an earlier job's results; replace them with" in again.text, again.text
    succeed(machine.sm(*words, "--", "second"))
    model = machine.folder / "new" / "out" / "model"
    assert [path.name for path in model.iterdir()] == ["second"]
    (model.parent / "own.txt").write_text("precious")
    again = machine.sm(*words, "--", "third")
    assert again.wait(GUARD_SECONDS) == 2 and "contains own.txt" in again.text, again.text
    nowhere = machine.sm("fit", script, "--output", "/proc/out", "--", "never")
    assert nowhere.wait(GUARD_SECONDS) == 2, nowhere.text
    want = "sm fit: output: cannot create files in /proc: "
    assert nowhere.text.startswith(want), nowhere.text


def test_a_virtual_environment_that_sudo_left_out_is_named(machine):
    script = script_file(machine, "print('ran')")
    made = ["/usr/bin/python3", "-m", "venv", "--without-pip", script.parent / ".venv"]
    subprocess.run(made, check=True)
    sudo = {"SUDO_UID": "0", "SUDO_GID": "0", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    process = succeed(machine.sm("fit", script, environment=sudo))
    python = script.parent / ".venv" / "bin" / "python"
    note = f"to use the virtual environment, pass --python {python}"
    assert note in process.err.decode(), process.text
    process = succeed(machine.sm("fit", script, "--python", python, environment=sudo))
    assert "to use the virtual environment" not in process.text


LIMITED = """
import multiprocessing, os, time
def spin(seconds=2):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return time.process_time()
with multiprocessing.Pool(2) as pool:
    used = sum(pool.map(spin, [2, 2]))
shm = os.statvfs("/dev/shm")
print("limits", os.environ["SM_NUM_CPUS"], shm.f_blocks * shm.f_frsize, used < 3, flush=True)
held = bytearray(400 << 20)
"""


def test_a_hosts_memory_processors_and_shared_memory_are_what_was_asked_for(machine):
    limits = ("--memory", "256m", "--cpus", 1, "--shm-size", "32m", "--output", machine.output)
    process = machine.sm("fit", script_file(machine, LIMITED), *limits)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert f"limits 1 {32 << 20} True" in process.text, process.text
    assert "memory" in process.err.decode(), process.text


def test_inputs_and_source_on_other_file_systems_are_brought(machine):
    """Also what is mounted inside of a folder: no view of the folder alone shows that."""
    here = os.stat(machine.folder).st_dev
    memory = tempfile.mkdtemp(prefix="mu-", dir="/dev/shm")
    data = machine.folder / "data"
    (data / "inner").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "muster-test", data / "inner"], check=True)
    try:
        assert os.stat(memory).st_dev != here != os.stat(data / "inner").st_dev
        (data / "inner" / "deep.txt").write_text("deep")
        script = os.path.join(memory, "script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(
                "import os; root = '/opt/ml/input/data/'\n"
                "print(os.listdir(root + 'memory'), open(root + 'disk/inner/deep.txt').read())\n"
                "open(root + 'memory/new', 'w').close()\n"
                "open(root + 'disk/inner/new', 'w').close()\n"
            )
        inputs = ("--input", f"memory={memory}", "--input", f"disk={data}")
        process = succeed(machine.sm("fit", script, *inputs))
        assert "['script.py'] deep" in process.out.decode(), process.text
        assert os.listdir(memory) == ["script.py"]
        assert os.listdir(data / "inner") == ["deep.txt"]
    finally:
        subprocess.run(["umount", data / "inner"], check=True)
        shutil.rmtree(memory)


def test_what_is_mounted_in_the_source_folder_comes_along(machine):
    disk = machine.source / "package"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "muster-test", disk], check=True)
    try:
        (disk / "__init__.py").write_text("NAME = 'from the disk'\n")
        process = succeed(machine.fit("import package; print('package', package.NAME)"))
        assert "package from the disk" in process.out.decode(), process.text
    finally:
        subprocess.run(["umount", disk], check=True)


LOOK = """
import json, os, socket, subprocess
def attempt(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError as error:
        return error.errno
open("/usr/probe-of-muster", "w").write("private")
open("/tmp/probe-of-muster", "w").write("private")
status = open("/proc/self/status").read()
print("LOOK", json.dumps({
    "hostname": socket.gethostname(), "address": socket.gethostbyname(socket.gethostname()),
    "links": sorted(os.listdir("/sys/class/net")), "tmp": os.listdir("/tmp"),
    "shm": os.listdir("/dev/shm"), "init": open("/proc/1/cmdline").read(),
    "secrets": {path: attempt(path) for path in HIDDEN},
    "status": {key: value.strip() for key, _, value in
               (line.partition(":") for line in status.splitlines())
               if key in ("NoNewPrivs", "Seccomp", "CapEff")},
    "hosts": open("/etc/hosts").read(), "ml": sorted(os.listdir("/opt/ml")),
    "stdin": os.read(0, 100).decode(),
}), flush=True)
"""


def test_each_host_is_a_machine_of_its_own_and_sees_no_secrets(machine):
    for name in (".ssh", ".aws", ".config"):
        (machine.home / name).mkdir()
        (machine.home / name / "secret").write_text("do not read")
    (machine.home / ".netrc").write_text("do not read")
    hidden = [str(machine.home / name) for name in (".ssh", ".aws", ".config", ".netrc")]
    hidden += ["/etc/shadow", str(machine.state)]
    process = succeed(machine.fit(LOOK.replace("HIDDEN", repr(hidden)), hosts=2))
    seen = [json.loads(line) for line in re.findall(r"LOOK (\{.*\})", process.out.decode())]
    assert sorted(host["hostname"] for host in seen) == ["algo-1", "algo-2"], process.text
    assert len({host["address"] for host in seen}) == 2
    for host in seen:
        assert host["links"] == ["eth0", "lo"], host
        assert "probe-of-muster" in host["tmp"] and "init" in host["init"], host
        assert host["shm"] == [] or all("vader" in name for name in host["shm"]), host
        assert host["status"]["NoNewPrivs"] == "1" and host["status"]["Seccomp"] == "2", host
        assert int(host["status"]["CapEff"], 16) & (1 << 21) == 0, "CAP_SYS_ADMIN"
        assert "algo-1" in host["hosts"] and "algo-2" in host["hosts"]
        assert host["stdin"] == ""  # At its end at once.
        for path, content in host["secrets"].items():
            assert content in ([], "", 2, 13), f"{path}: {content}"
    assert not os.path.exists("/usr/probe-of-muster") and not os.path.exists("/tmp/probe-of-muster")


def test_the_program_sees_only_standard_descriptors_and_no_key(machine):
    script = """
import os
print("fds", sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:4], flush=True)
print("ours", sorted(name for name in os.environ if name.startswith("MUSTER_")), flush=True)
"""
    process = succeed(machine.fit(script))
    assert re.search(r"fds \[0, 1, 2, 3\]", process.out.decode()), process.text  # 3: the listing.
    assert "ours ['MUSTER_STOP_DEADLINE']" in process.out.decode(), process.text


FAIL = """
import sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 1:
    print("why I fail", flush=True)
    sys.exit(3)
MPI.COMM_WORLD.Barrier()
"""


def test_a_failure_names_rank_host_and_code_and_is_kept(machine):
    process = machine.fit(FAIL, hosts=2)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    headline = r"rank 1 on algo-2: exit code 3: why I fail \(sm explain exit-code\)"
    assert re.search(headline, process.text)
    texts = {path.name: path.read_text() for path in (machine.output / "failure").iterdir()}
    assert set(texts) == {"algo-1", "algo-2"}
    for text in texts.values():
        assert "ExitCode 3" in text and "why I fail" in text, text
        assert "sm explain" not in text, text
    assert not machine.jobs()


STAY = """
import os, signal, sys
from mpi4py import MPI
def stopped(number, frame):
    os.write(1, b"got signal %d\\n" % number)
    if not IGNORE:
        os._exit(0)
signal.signal(signal.SIGTERM, stopped)
MPI.COMM_WORLD.Barrier()
print("ready", flush=True)
while True:
    signal.pause()
"""


def staying(machine, ignore: bool = False, *words, **options):
    process = machine.fit(STAY.replace("IGNORE", str(ignore)), *words, **options)
    wait_until(
        "every rank to be ready",
        lambda: process.out.count(b"ready") == 2 or not process.running(),
        GUARD_SECONDS,
    )
    assert process.running(), process.text
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_reaches_every_rank_and_leaves_nothing(machine, number):
    process = staying(machine, hosts=2)
    process.signal(number)
    code = process.wait(GUARD_SECONDS)
    assert code == 128 + number, f"{code}: {process.text}"
    assert process.out.count(b"got signal 15") == 2, process.text
    assert b"Stopped" in process.out + process.err, process.text
    assert not machine.jobs()


def test_ctrl_c_twice_kills_now(machine):
    process = staying(machine, True, hosts=2)
    process.signal(signal.SIGINT)
    process.wait_for_output(b"got signal 15")
    assert "press Ctrl-C again to kill it now" in process.text
    process.signal(signal.SIGINT)
    assert process.wait(20) != 0  # The grace would be 30 s.
    assert "sm fit: killing the job" in process.text
    assert not machine.jobs()


def test_kill_9_of_fit_leaves_nothing_after_clean(machine):
    process = staying(machine, hosts=2)
    process.signal(signal.SIGKILL)
    process.wait(10)
    wait_until(
        "the ranks to end",
        lambda: not in_host("algo-1", lambda words: "script.py" in words[-1])
        and not in_host("algo-2", lambda words: "script.py" in words[-1]),
        20,
    )
    machine.clean()
    wait_for_jobs_to_go(machine)


def test_kill_9_of_fit_is_cleaned_up_by_the_next_run(machine):
    process = staying(machine, hosts=2)
    name = machine.jobs()[0].name
    process.signal(signal.SIGKILL)
    process.wait(10)
    succeed(machine.fit("print('next')"))
    wait_for_jobs_to_go(machine)
    assert name not in [path.name for path in machine.jobs()]


def test_clean_leaves_a_running_job_alone(machine):
    process = staying(machine, hosts=2)
    machine.clean()
    assert process.running() and machine.jobs()
    process.signal(signal.SIGTERM)
    assert process.wait(GUARD_SECONDS) == 128 + signal.SIGTERM


def test_two_jobs_at_once_do_not_meet(machine):
    script = (
        "from mpi4py import MPI\nc = MPI.COMM_WORLD\nc.Barrier()\n"
        "print('sum', c.allreduce(c.Get_rank() + 1), flush=True)"
    )
    first = machine.fit(script, hosts=2, per_host=1, output=machine.folder / "one")
    second = machine.fit(script, hosts=2, per_host=1, output=machine.folder / "two")
    for process in (first, second):
        succeed(process)
        assert process.out.count(b"sum 3") == 2, process.text


HANG = """
import signal, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
print("begin", flush=True)
comm.Barrier()
if comm.Get_rank() == 1:
    signal.pause()
time.sleep(1)  # a step lasts: lines of different pipes are ordered by when they are read
print("step 1", flush=True)
comm.Barrier()
"""


def test_a_timeout_says_what_each_rank_wrote_last(machine):
    process = machine.fit(HANG, "--timeout", 6, hosts=2, per_host=2)
    assert process.wait(GUARD_SECONDS) == 4, process.text
    told = process.text[process.text.index("last lines of each rank") :]
    lines = re.findall(r"^    (algo-\d) rank (\d), \d+ s before the end: (.*)$", told, re.M)
    assert lines[0] == ("algo-1", "1", "begin"), told
    assert sorted(line[1:] for line in lines[1:]) == [(rank, "step 1") for rank in "023"], told


def test_a_host_that_dies_is_named(machine):
    process = staying(machine, hosts=2)
    inits = in_host(
        "algo-2", lambda words: os.path.basename(words[0]) in ("sm", "exe") and "init" in words
    )
    inits = inits or in_host("algo-2", lambda words: "init" in words)
    assert inits, "no init of algo-2 is found"
    os.kill(min(inits), signal.SIGKILL)
    assert process.wait(GUARD_SECONDS) not in (0, -9), process.text
    assert re.search(r"algo-2.*(SIGKILL|lost)", process.text), process.text


def test_hosts_without_a_connection_are_reported_before_they_start(machine):
    note = "sm fit: 2 hosts with 1 process each, which muster does not connect: add --mpi, "
    process = succeed(machine.sm("fit", script_file(machine, "print('ran')"), "--hosts", 2))
    assert re.match(note, process.err.decode()), process.text
    assert process.out.count(b"| ran") == 2, process.text
    process = succeed(machine.fit("print('ran')", hosts=2))
    assert "does not connect" not in process.text


TORCHRUN = "import sys; print('torchrun', *sys.argv[1:])"


def test_launchers_are_asked_for_by_their_flags(machine):
    package = machine.source / "torch" / "distributed"
    package.mkdir(parents=True)
    (package / "run.py").write_text(TORCHRUN)
    script = script_file(machine, "import os; print('role', os.environ.get('DMLC_ROLE'))")
    words = ("--hosts", 2, "--processes-per-host", 3)
    process = succeed(machine.sm("fit", script, "--torchrun", *words))
    line = r"torchrun --nnodes 2 --nproc_per_node 3 .*--node_rank ([01]) .* -u script.py"
    assert sorted(re.findall(line, process.out.decode())) == ["0", "1"], process.text
    frameworks = machine.source / "frameworks"
    frameworks.mkdir()
    (frameworks / "mxnet.py").write_text("")
    words = ("--hosts", 2, "--env", "PYTHONPATH=/opt/ml/code/frameworks")
    process = succeed(machine.sm("fit", script, "--mxnet", *words))
    assert re.findall(r"role (\w+)", process.out.decode()).count("worker") == 2, process.text
    (frameworks / "mxnet.py").rename(frameworks / "tensorflow.py")
    script_file(machine, "import os; print('config', os.environ.get('TF_CONFIG'))")
    process = succeed(machine.sm("fit", script, "--tf", *words))
    configs = [json.loads(text) for text in re.findall(r"config (\{.*\})", process.out.decode())]
    assert [len(config["cluster"]["worker"]) for config in configs] == [2, 2], process.text


def test_json_is_one_object_a_line(machine):
    process = succeed(machine.fit("print('a line')\nprint('näïve \\u2603')", "--json"))
    objects = [json.loads(line) for line in process.out.decode().splitlines()]
    assert all(isinstance(item, dict) for item in objects)
    assert "a line" in json.dumps(objects) and "Completed" in json.dumps(objects), process.text


def test_bad_requests_are_named(machine):
    for words, wanted in (
        (["--hosts", "0"], "hosts"),
        (["--input", "train=/no/such"], "/no/such"),
    ):
        process = machine.fit("print('must not run')", *words)
        assert process.wait(GUARD_SECONDS) == 2 and wanted in process.text, process.text
        assert "must not run" not in process.text
    process = machine.sm(
        "fit", "missing.py", "--source-dir", machine.source, "--output", machine.output
    )
    assert process.wait(GUARD_SECONDS) > 0 and "missing.py" in process.text, process.text


def windows_lines(machine) -> list:
    (machine.source / "job.sh").write_bytes(b"#!/bin/sh\r\necho must not run\r\n")
    return ["job.sh"]


def equals_in_a_name(machine) -> list:
    job = 'script: script.py\nhyperparameter: {"a=b": 1}\n'
    (machine.source / "job.yaml").write_text(job)
    return [machine.source / "job.yaml"]


def equals_in_a_file(machine) -> list:
    (machine.source / "values.json").write_text('{"a=b": 1}')
    return ["script.py", "--hyperparameters", machine.source / "values.json"]


def long_variable(machine) -> list:
    (machine.source / "values.json").write_text(json.dumps({"text": "x" * 131072}))
    return ["script.py", "--hyperparameters", machine.source / "values.json"]


@pytest.mark.parametrize(
    ("write", "code", "want"),
    [
        (windows_lines, 1, r"Windows line endings \(CR LF\), .*; run sed -i"),
        (equals_in_a_name, 2, r'line 2: hyperparameter: expected a name without "="'),
        (equals_in_a_file, 2, r'--hyperparameters: "a=b": expected a hyperparameter\'s name'),
        (long_variable, 1, r"the kernel allows only 131071; .* a file in a channel"),
    ],
)
def test_what_no_shell_and_no_kernel_takes_is_named_before_the_script_starts(
    machine, write, code, want
):
    (machine.source / "script.py").write_text("print('must not run')")
    words = write(machine)
    process = machine.sm(
        "fit", *words, "--source-dir", machine.source, "--output", machine.output
    )
    assert process.wait(GUARD_SECONDS) == code, process.text
    assert re.search(want, process.err.decode()), process.text
    assert "must not run" not in process.text


def test_a_zip_is_no_source_folder(machine):
    archive = machine.folder / "source.zip"
    archive.write_bytes(b"PK\x05\x06" + bytes(18))
    for words, want in (
        (["script.py", "--source-dir", archive], f"{archive}: not a folder"),
        ([archive], "is an archive: unpack it"),
    ):
        process = machine.sm("fit", *words, "--output", machine.output)
        assert process.wait(GUARD_SECONDS) == 2 and want in process.text, process.text


def test_the_submitters_own_words_reach_the_program(machine):
    odd = ["a b", "$(id)", "", ":", "-x", "é"]
    process = succeed(
        machine.fit(
            "import os, sys; print(sys.argv[1:], os.environ['OWN'], flush=True)",
            "--env",
            "OWN=it's",
            "--",
            *odd,
        )
    )
    assert f"{odd} it's" in process.out.decode(), process.text


def test_20000_lines_of_each_of_four_ranks_arrive_whole(machine):
    script = (
        "from mpi4py import MPI\nr = MPI.COMM_WORLD.Get_rank()\n"
        "for n in range(20000): print('%d:%06d:%s' % (r, n, 'x' * 80))"
    )
    process = succeed(machine.fit(script, hosts=2, per_host=2))
    found = re.findall(rb"(\d):(\d{6}):(x+)$", process.out, re.M)
    for rank in range(4):
        mine = [(int(number), len(rest)) for who, number, rest in found if int(who) == rank]
        assert mine == [(number, 80) for number in range(20000)]


def test_doctor_version_help_and_completion(machine):
    doctor = succeed(machine.sm("doctor"))
    for part in ("runc", "mpirun", "overlay", "cgroup", "mpi4py", "gpus", "port", "memory",
                 "ok      job "):  # fmt: skip
        assert part in doctor.text, doctor.text
    assert succeed(machine.sm("--version")).out.startswith(b"muster ")
    assert b"sm fit" in succeed(machine.sm("--help")).out
    assert b"example" in succeed(machine.sm("fit", "--help")).out.lower()
    script = succeed(machine.sm("completion", "bash")).out
    subprocess.run(["bash", "-n"], input=script, check=True)
