"""`sm fit --checkpoints DIR`: a job goes on from what an earlier one left there."""

import os
import pathlib
import re
import signal

import pytest

from fit import GUARD_SECONDS, in_host, wait_for_jobs_to_go
from oci_image import layer, programs, write_layout
from process import wait_until

# Counts its runs in a checkpoint, and ends as its argument says.
COUNT = """
import os, sys, time
place = "/opt/ml/checkpoints/"
names = [name for name in os.listdir(place) if name != "part"]
seen = sorted(names, key=lambda name: os.path.getmtime(place + name))
print("found:", seen, flush=True)
with open(place + "part", "w") as file:
    file.write("step %d" % (len(seen) + 1))
os.rename(place + "part", place + "step-%d" % (len(seen) + 1))
END
"""
STAY = "print('written', flush=True); time.sleep(600)"


def counting(machine, end: str, *words, **options):
    checkpoints = ("--checkpoints", machine.folder / "new" / "ckpt")
    return machine.fit(COUNT.replace("END", end), *checkpoints, *words, **options)


def kept(machine) -> dict[str, str]:
    """The checkpoints that are kept; "part" may be one, if it was there for long enough.

    A file that is still being copied has another name, which goes when the copy is complete.
    """
    folder = machine.folder / "new" / "ckpt"
    found = [
        path
        for path in folder.iterdir()
        if path.name != "part" and not path.name.startswith(".muster-partial-")
    ]
    return {path.name: path.read_text() for path in found}


def test_a_job_resumes_from_what_a_failed_one_left(machine):
    first = counting(machine, "sys.exit(3)")
    assert first.wait(GUARD_SECONDS) == 1, first.text
    assert "found: []" in first.text, first.text
    assert kept(machine) == {"step-1": "step 1"}
    assert f"Checkpoints: {machine.folder}/new/ckpt" in first.text
    second = counting(machine, "", output=machine.folder / "second")
    assert second.wait(GUARD_SECONDS) == 0, second.text
    assert "found: ['step-1']" in second.text, second.text
    assert kept(machine) == {"step-1": "step 1", "step-2": "step 2"}
    assert not machine.jobs()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_was_written_by_a_stop_or_a_kill_is_there(machine, number):
    """While the job runs already; and nothing half made is left by its end."""
    process = counting(machine, STAY, hosts=1)
    process.wait_for_output(b"written")
    wait_until("the checkpoint to be kept", lambda: "step-1" in kept(machine), GUARD_SECONDS)
    late = "open(place + 'late', 'w').write('x' * 9000000); " + STAY
    process.signal(number)
    process.wait(GUARD_SECONDS)
    wait_until(
        "the host to end",
        lambda: not in_host("algo-1", lambda words: "script.py" in words[-1]),
        GUARD_SECONDS,
    )
    wait_for_jobs_to_go(machine)
    assert not list((machine.folder / "new" / "ckpt").glob(".muster-partial-*"))
    assert kept(machine) == {"step-1": "step 1"}
    again = counting(machine, late, output=machine.folder / "again")
    again.wait_for_output(b"written")
    again.signal(signal.SIGKILL)  # The steward keeps what its host has written, whole.
    again.wait(GUARD_SECONDS)
    wait_for_jobs_to_go(machine)
    assert {name: len(text) for name, text in kept(machine).items()} == {
        "step-1": 6, "step-2": 6, "late": 9000000,
    }  # fmt: skip


# algo-2 writes when it is let, and algo-1 ends after it.
IN_TURNS = """
import os, socket, time
name, place = os.environ["SM_CURRENT_HOST"], "/opt/ml/checkpoints/"
print("has:", sorted(os.listdir(place)), flush=True)
if name == "algo-2":
    os.mkfifo("/tmp/go")
    open("/tmp/go").read()
open(place + "same", "w").write(name)
open(place + name, "w").write(name)
if name == "algo-2":
    socket.create_server(("", 7000)).accept()
while name == "algo-1":
    try:
        socket.create_connection(("algo-2", 7000), 5).close()
        break
    except OSError:
        time.sleep(0.05)
"""


def test_every_host_has_them_and_the_last_writer_wins(machine):
    folder = machine.folder / "ckpt"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text("from before")
    process = machine.fit(IN_TURNS, "--checkpoints", folder, hosts=2)
    for name in ("algo-1", "same"):
        wait_until(f"{name} to be kept while the job runs", (folder / name).exists, GUARD_SECONDS)
    assert (folder / "same").read_text() == "algo-1"
    wait_until("algo-2 to wait", gates, GUARD_SECONDS)
    gates()[0].write_text("")
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert process.text.count("has: ['inner']") == 2, process.text
    assert sorted(os.listdir(folder)) == ["algo-1", "algo-2", "inner", "same"]
    assert (folder / "same").read_text() == "algo-2"


def gates() -> list[pathlib.Path]:
    found = in_host("algo-2", lambda words: "script.py" in words[-1])
    paths = [pathlib.Path(f"/proc/{pid}/root/tmp/go") for pid in found]
    return [path for path in paths if path.is_fifo()]


def test_they_are_the_submitters(machine):
    """The owner is the user of sudo: SUDO_UID and SUDO_GID; setuid and setgid bits are removed."""
    script = machine.source / "script.py"
    script.write_text(
        "import os; os.makedirs('/opt/ml/checkpoints/a/b')\n"
        "with open('/opt/ml/checkpoints/a/b/c', 'w') as file: os.fchmod(file.fileno(), 0o6755)\n"
    )
    folder = machine.folder / "new" / "ckpt"
    sudo = {"SUDO_UID": "4321", "SUDO_GID": "8765"}
    process = machine.sm("fit", script, "--checkpoints", folder, environment=sudo)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    for path in (folder.parent, folder, folder / "a", folder / "a/b", folder / "a/b/c"):
        assert (path.stat().st_uid, path.stat().st_gid) == (4321, 8765), path
    assert (folder / "a/b/c").stat().st_mode & 0o7777 == 0o755


def test_a_place_that_takes_no_files_is_named_before_the_job_runs(machine):
    file = machine.folder / "file"
    file.write_text("mine")
    for place, wanted in (
        (file, f"--checkpoints: {file} is not a folder"),
        (file / "below", f"--checkpoints: {file} is not a folder"),
        ("/proc/none", "--checkpoints: cannot create files in /proc: "),
    ):
        process = machine.fit("print('must not run')", "--checkpoints", place)
        assert process.wait(GUARD_SECONDS) == 2, process.text
        assert re.search(f"^sm fit: {re.escape(wanted)}", process.text, re.M), process.text
        assert "must not run" not in process.text
    plan = machine.fit("pass", "--checkpoints", machine.folder / "unmade", "--print-plan")
    assert plan.wait(GUARD_SECONDS) == 0, plan.text
    assert not (machine.folder / "unmade").exists()


GOES_ON = b"""#!/bin/sh
cd /opt/ml/checkpoints || exit 7
if test -d epoch; then echo more >>epoch/one && : >epoch/two && echo "went on"; exit; fi
umask 077
mkdir epoch && echo first >epoch/one
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's files are made")
def test_an_images_user_goes_on_with_what_it_left(machine, tmp_path):
    users = {"etc/passwd": b"root:x:0:0::/root:/bin/sh\napp:x:1000:1000::/:/bin/sh\n"}
    members = {**programs("/bin/sh", "/bin/mkdir"), **users, "bin/train": GOES_ON}
    write_layout(tmp_path / "image", [layer(members)],
                 process={"Env": ["PATH=/bin"], "User": "app"})  # fmt: skip
    brought = machine.sm("image", "import", f"oci:{tmp_path}/image:v1", "--name", "box:v1")
    assert brought.wait(GUARD_SECONDS) == 0, brought.text
    for output in ("first", "second"):
        job = machine.sm("fit", "--image", "box:v1", "--checkpoints", tmp_path / "kept",
                         "--output", tmp_path / output)  # fmt: skip
        assert job.wait(GUARD_SECONDS) == 0, job.text
    assert "went on" in job.text, job.text
    assert (tmp_path / "kept/epoch/one").read_text() == "first\nmore\n"
    assert (tmp_path / "kept/epoch/two").exists()
