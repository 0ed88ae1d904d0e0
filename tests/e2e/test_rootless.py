"""Jobs of an ordinary user, without root: what they have, lack, and cannot do."""

import json
import os
import pathlib
import signal

import pytest

from fit import GUARD_SECONDS
from oci_image import layer, programs, special, write_layout
from outside import CLOUD, LAN, OUTSIDE, UPLINK, Outside
from lab import SM
from process import wait_until
from rootless import IDS, SUBORDINATE_IDS, TUN, USER, User
from sm_server import SmServer
from test_network import IMPORT, SCAN, both_ways, make_index, pip_from_there, reached, targets
from test_server_jobs import BUCKET, Job

HELLO = """
import os, resource
print("i am", os.getuid(), os.getgid(), flush=True)
print("map", open("/proc/self/uid_map").read().split(), flush=True)
print("processes", resource.getrlimit(resource.RLIMIT_NPROC)[1], flush=True)
open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "w").write("w")
os.mkdir("/usr/made-by-the-job")
"""

RANKS = """
import os
print("rank", os.environ["OMPI_COMM_WORLD_RANK"], "of", os.environ["OMPI_COMM_WORLD_SIZE"],
      "on", os.environ["SM_CURRENT_HOST"], flush=True)
open(os.path.join(os.environ["SM_MODEL_DIR"], "r" + os.environ["OMPI_COMM_WORLD_RANK"]), "w")
"""


@pytest.fixture
def make_user(nothing_left):
    made = []

    def make(*setups):
        made.append(User(*setups))
        return made[-1]

    yield make
    for user in made:
        user.close()


@pytest.fixture
def user(make_user):
    return make_user()


def succeed(process):
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.text


def test_one_host_writes_the_users_files(user):
    text = succeed(user.fit(HELLO))
    assert "sm fit: without root: no limits on memory, processors and disk" in text
    assert "hosts have one user: root, with your user ID (" in text
    assert "(/etc/subuid contains no range for you)" in text
    assert "i am 0 0" in text and "map ['0', '0', '1']" in text
    assert not pathlib.Path("/usr/made-by-the-job").exists()
    weights = user.output / "model/weights"
    assert weights.read_text() == "w"
    for path in (user.output, weights, user.state):
        assert (path.stat().st_uid, path.stat().st_gid) == (USER, USER), path
    assert user.jobs() == []


def test_processes_of_two_hosts_meet_under_mpi(user):
    text = succeed(user.fit(RANKS, hosts=2, per_host=2))
    for rank in range(4):
        assert f"rank {rank} of 4 on algo-{rank // 2 + 1}" in text
    assert len(list((user.output / "model").iterdir())) == 4


# Other file systems below the machine's folders of programs, as its administrator mounts them.
BELOW_USR = "mount -t tmpfs below /usr/local/src && touch /usr/local/src/there\n"
BELOW_OPT = """
mount -t tmpfs below /opt && mkdir /opt/site /opt/tools && mount -t tmpfs below /opt/site
touch /opt/tools/there
"""
IN_USR_LOCAL_BIN = """
mount -t tmpfs below /usr/local/bin && mkdir /usr/local/bin/site && ln -s /bin/true /usr/local/bin/t
mount -t tmpfs below /usr/local/bin/site && touch /usr/local/bin/site/there
"""

WRITES = """
import os
for path in ("/usr/local/bin/new", "/opt/ml/model/new"):
    open(path, "w").close()
for path in ("/opt/tools/there", "/usr/local/src/there", "/usr/share/doc/bound/mine",
             "/usr/local/bin/sm", "/usr/local/bin/train", "/usr/local/bin/site/there"):
    print("sees" if os.path.exists(path) else "lacks", path, flush=True)
"""


@pytest.mark.parametrize("ids", ["", SUBORDINATE_IDS], ids=["one-id", "more-ids"])
@pytest.mark.parametrize("below", [BELOW_USR, BELOW_OPT, IN_USR_LOCAL_BIN, BELOW_USR + BELOW_OPT],
                         ids=["usr", "opt", "bin", "both"])  # fmt: skip
def test_other_file_systems_below_the_machines_programs(make_user, below, ids):
    user = make_user(below, ids)
    bound = user.own_folder("bound")
    (bound / "mine").touch()
    text = succeed(user.fit(WRITES, "--bind", f"{bound}:/usr/share/doc/bound"))
    assert "sees /usr/share/doc/bound/mine" in text, text
    assert "sees /usr/local/bin/sm" in text and "sees /usr/local/bin/train" in text, text
    rows = (
        (BELOW_USR, "/usr", "/usr/local/src/there"),
        (BELOW_OPT, "/opt", "/opt/tools/there"),
        (IN_USR_LOCAL_BIN, "/usr", "/usr/local/bin/site/there"),
    )
    for setup, folder, seen in rows:
        if setup in below:
            assert f"sees {seen}" in text, text
            assert f"{folder} is read-only in the host" in text, text
    assert (user.output / "model/new").exists()


def test_a_failure_is_reported_as_for_root(user):
    process = user.fit("import sys; sys.exit('no data')", hosts=2)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert "no data" in process.text and "exit code 1" in process.text
    assert user.jobs() == []


def test_an_interrupt_ends_the_job(user):
    process = user.fit("print('begun', flush=True)\nimport time; time.sleep(600)", hosts=2)
    process.wait_for_output(b"begun", GUARD_SECONDS)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(GUARD_SECONDS) == 130, process.text
    assert user.jobs() == []


def test_a_killed_command_leaves_nothing(user):
    process = user.fit("print('begun', flush=True)\nimport time; time.sleep(600)", hosts=2)
    process.wait_for_output(b"begun", GUARD_SECONDS)
    os.kill(process.pid, signal.SIGKILL)
    wait_until("the job's folder to go", lambda: not user.jobs(), GUARD_SECONDS)


def test_other_commands_know_a_detached_job(user):
    process = user.fit("import time; print('begun', flush=True); time.sleep(600)", "--detach",
                       "--name", "longer")  # fmt: skip
    succeed(process)
    wait_until("its line", lambda: "begun" in succeed(user.sm("logs", "longer")), GUARD_SECONDS)
    assert "longer" in succeed(user.sm("jobs"))
    succeed(user.sm("stop", "longer"))
    wait_until("the job to end", lambda: not user.jobs(), GUARD_SECONDS)


def test_a_folder_of_the_users_is_bound_to_write(user):
    bound = user.home / "bound"
    bound.mkdir()
    user.own(bound)
    succeed(user.fit("open('/bound/new', 'w').write('n')", "--bind", f"{bound}:/bound:rw"))
    assert (bound / "new").stat().st_uid == USER
    refused = user.fit("pass", "--bind", "/etc/ssl:/bound:rw", output=user.home / "other")
    assert refused.wait(GUARD_SECONDS) == 2, refused.text
    assert "/etc/ssl: rw requires that you (user " in refused.text


ATTACK = """
import os, socket
home = os.environ["ATTACKED"]
def attempt(what, action):
    try:
        action()
        print("COULD", what, flush=True)
    except OSError as error:
        print("could not", what, error.errno, flush=True)
attempt("read the home", lambda: open(home + "/secret").read())
attempt("list the home", lambda: os.listdir(home))
attempt("list the state", lambda: os.listdir(home + "/.local/state/muster"))
attempt("write to the source", lambda: open(os.path.realpath("/etc/passwd"), "w").close()
        or os.stat("/etc/not-there"))
attempt("mount", lambda: os.stat("/nothing") if os.system("mount -t tmpfs x /mnt") else None)
attempt("signal the steward", lambda: os.kill(int(os.environ["STEWARD"]), 0))
attempt("make a device", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)))
attempt("become another", lambda: os.setuid(1))
attempt("leave the network", lambda: socket.create_connection(("127.0.0.1", 22), 2))
for pid in filter(str.isdigit, os.listdir("/proc")):
    assert b"sm\\0fit" not in open(f"/proc/{pid}/cmdline", "rb").read()
print("done", flush=True)
"""


def test_attack_a_job_reaches_no_file_of_its_user(user):
    (user.home / "secret").write_text("s")
    user.own(user.home)
    (user.source / "data").write_text("before")
    text = succeed(user.fit(ATTACK, "--env", f"ATTACKED={user.home}", "--env",
                            f"STEWARD={os.getpid()}"))  # fmt: skip
    assert "COULD" not in text and "done" in text, text
    assert (user.home / "secret").read_text() == "s"
    assert (user.source / "data").read_text() == "before"


def test_subordinate_ids_give_hosts_more_users(make_user):
    user = make_user(SUBORDINATE_IDS)
    text = succeed(
        user.fit(
            """
import os
print("map", open("/proc/self/uid_map").read().split(), flush=True)
open("/opt/ml/model/mine", "w").close()
os.chown("/opt/ml/model/mine", 5, 6)
os.setuid(1000)
print("now", os.getuid(), flush=True)
open("/tmp/mine", "w").close()
""",
            hosts=1,
        )
    )
    assert f"map ['0', '0', '1', '1', '1', '{IDS}']" in text and "now 1000" in text, text
    assert "one user" not in text
    mine = user.output / "model/mine"
    assert (mine.stat().st_uid, mine.stat().st_gid) == (USER, USER)


IMAGE = {
    "train": b"#!/bin/sh\nid -u; cat /etc/release; ls /old\n"
    b"touch /old/new /etc/release && ls /old\n"
    b"echo m > /opt/ml/model/m\n",
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nbob:x:1000:1000::/:/bin/sh\n",
}


def bring(user, tmp_path, process=None, name="team/box:v1"):
    owned = special("etc/bobs", b"0", uid=1000, gid=1000)
    folder_of_old = {"old/gone": b"", "gone": b"", "etc/release": b"one\n"}
    tools = programs("/bin/sh", "/bin/cat", "/bin/ls", "/usr/bin/id", "/bin/touch", str(SM))
    base = layer({**tools, "etc/bobs": owned, **folder_of_old})
    top = layer({**IMAGE, "old/.wh..wh..opq": b"", "old/there": b"", ".wh.gone": b"",
                 "etc/release": b"two\n"})  # fmt: skip
    folder = tmp_path / "layout"
    write_layout(folder, [base, top], process=process)
    os.chmod(tmp_path, 0o755)
    public = user.home / "layout"
    folder.rename(public)
    user.own(public)
    return user.sm("image", "import", f"oci:{public}:v1", "--name", name)


def test_an_images_layers_hide_and_change_what_is_below(user, tmp_path):
    told = succeed(bring(user, tmp_path))
    assert "1 files belong to root, because you do not have the ids of their owners here" in told
    text = succeed(user.sm("fit", "--image", "team/box:v1", "--output", user.output))
    lines = [line.split()[-1] for line in text.splitlines() if line.strip()]
    assert "two" in lines and "there" in lines and "new" in lines, text
    assert "gone" not in lines, text
    assert (user.output / "model/m").stat().st_uid == USER
    assert "team/box:v1" in succeed(user.sm("image", "ls"))


def test_an_images_user_needs_an_id(make_user, tmp_path):
    bob = {"Entrypoint": ["/train"], "User": "bob"}
    poor = make_user()
    succeed(bring(poor, tmp_path, bob))
    process = poor.sm("fit", "--image", "team/box:v1", "--output", poor.output)
    assert process.wait(GUARD_SECONDS) != 0
    assert "runs as user 1000, but only IDs below 1 are available without root" in process.text


@pytest.fixture
def outside(folder):
    outside = Outside(folder)
    yield outside
    outside.close()


def test_the_outside_is_reached_and_nothing_of_the_machine(outside, make_user):
    user = make_user(TUN)
    user.within = outside.inside
    make_index(outside.site)
    (user.source / "requirements.txt").write_text("far-away\n")
    pip = [*pip_from_there(), "--env", "PIP_BREAK_SYSTEM_PACKAGES=1"]
    seen = targets(OUTSIDE, UPLINK, LAN, CLOUD, "198.18.0.2", "127.0.0.1")
    text = succeed(user.fit(IMPORT + SCAN, *pip, "--env", seen, hosts=2))
    assert "far_away says" in text
    assert reached(text) == both_ways(OUTSIDE), text
    assert "met " + UPLINK in outside.stranger.text


def test_no_network_where_none_is_wanted_or_can_be(outside, make_user):
    user = make_user()
    user.within = outside.inside
    seen = targets(OUTSIDE, UPLINK)
    text = succeed(user.fit(SCAN, "--env", seen))
    assert "jobs have no outside network (cannot open /dev/net/tun: Permission denied)" in text
    assert not reached(text) and "scanned" in text
    none = succeed(make_user(TUN).fit(SCAN, "--env", seen, "--network", "none"))
    assert not reached(none) and "scanned" in none


def test_doctor_shows_a_user_what_is_available(user):
    process = user.sm("doctor", "--json")
    process.wait(GUARD_SECONDS)
    checks = {each["what"]: each for each in json.loads(process.out)["checks"]}
    assert checks["root"]["good"] and "this user can create namespaces" in checks["root"]["found"]
    for what in ("limits", "volumes", "oom score", "user ids"):
        assert not checks[what]["good"] and not checks[what]["needed"], what


# More than a host can be shown one by one, in the only folder that can hold muster's programs.
CROWDED = IN_USR_LOCAL_BIN + "seq 4097 | sed s,^,/usr/local/bin/n, | xargs touch\n"


@pytest.mark.parametrize("below", [BELOW_USR, CROWDED], ids=["starts", "cannot-start"])
def test_a_doctor_tries_what_a_job_does(make_user, below):
    """What no list of things that may lack can hold: the machine refuses a job something."""
    user = make_user(below)
    doctor, job = user.sm("doctor"), user.fit("pass")
    codes = [each.wait(GUARD_SECONDS) for each in (doctor, job)]
    line = next(line for line in doctor.text.splitlines() if " job  " in line)
    if below == BELOW_USR:
        assert codes == [0, 0] and line.startswith("ok      job "), doctor.text
        assert doctor.text.endswith("This machine can run jobs.\n")
    else:
        cause = "/usr/local/bin has more than 4096 entries, so muster cannot replace this folder"
        assert codes[0] == 3 and codes[1] != 0 and cause in job.text, job.text
        assert line.startswith("MISSING job ") and cause in line, doctor.text
        assert line.endswith("-> sm explain no-room")
        assert "cannot run jobs yet" in doctor.text
    assert user.jobs() == []


SERVED = """
import os
print(os.environ["SM_CURRENT_HOST"], os.listdir(os.environ["SM_CHANNEL_TRAIN"]), flush=True)
open(os.path.join(os.environ["SM_MODEL_DIR"], os.environ["SM_CURRENT_HOST"]), "w")
"""


def test_a_users_server_trains(user):
    jobs = {"python": "/usr/bin/python3", "network": "none"}
    with SmServer(user.own_folder("server"), jobs=jobs, within=user,
                  env=user.environment()) as server:  # fmt: skip
        assert "sm server: without root: no limits" in server.output
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job = Job(server, SERVED, hosts=2)
        told = job.at_end(GUARD_SECONDS)
        assert told["TrainingJobStatus"] == "Completed", told
        assert "algo-2 ['a.txt']" in job.text()
        assert sorted(job.artifact()) == ["algo-1", "algo-2"]
        assert (server.data / "muster.db").stat().st_uid == USER
        wait_until("its job to go", lambda: not list((server.data / "machine/jobs").glob("job*")))


def test_the_machines_network_is_a_hosts_where_things_are_mounted_below_sys(user):
    """As on every machine: the kernel shows an ordinary user all of it or nothing."""
    script = "import os; print('sees', sorted(os.listdir('/sys/class/net')), flush=True)"
    text = succeed(user.fit(script, "--network", "host"))
    assert f"sees {sorted(os.listdir('/sys/class/net'))}" in text, text
