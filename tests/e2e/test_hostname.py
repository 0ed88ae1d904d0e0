"""libmuster-hostname.so: ranks see their host's name where their container has another."""

import ctypes
import os
import pathlib
import shutil
import subprocess

import pytest

from lab import RELEASE
from test_static import debian11  # noqa: F401  (a fixture)
from training import GUARD_SECONDS

LIBRARY = RELEASE / "libmuster-hostname.so"
# As in src/host/ranks/hostname_library.cc, which does to its copies what `library` does here.
PLACEHOLDER = b"libmuster-hostname.so: the host's name is written over this text"
ROOM = 256
ENAMETOOLONG = 36

# Prints, for each size: gethostname's result, errno, and what the buffer holds.
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** sizes) {
  for (int i = 1; i < count; ++i) {
    char buffer[400];
    memset(buffer, '#', sizeof(buffer));
    errno = 0;
    int result = gethostname(buffer, strtoul(sizes[i], 0, 10));
    printf("%d %d ", result, errno);
    for (int at = 0; at < 9; ++at) putchar(buffer[at] ? buffer[at] : '0');
    putchar('\n');
  }
  return 0;
}
"""
ANSWERS = {
    0: (-1, ENAMETOOLONG, "#########"),
    1: (-1, ENAMETOOLONG, "a########"),
    6: (-1, ENAMETOOLONG, "algo-1###"),
    7: (-1, ENAMETOOLONG, "algo-12##"),
    8: (0, 0, "algo-120#"),
    64: (0, 0, "algo-120#"),
    399: (0, 0, "algo-120#"),
}


def library(folder: pathlib.Path, host: str) -> pathlib.Path:
    content = LIBRARY.read_bytes()
    at = content.index(PLACEHOLDER)
    name = host.encode().ljust(ROOM, b"\0")
    path = folder / "libmuster-hostname.so"
    path.write_bytes(content[:at] + name + content[at + ROOM :])
    path.chmod(0o444)
    return path


def answers(program: pathlib.Path, preload: pathlib.Path) -> dict[int, tuple[int, int, str]]:
    done = subprocess.run(
        [program, *map(str, ANSWERS)],
        env={"LD_PRELOAD": str(preload)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return dict(
        zip(ANSWERS, ((int(code), int(errno), text) for code, errno, text in lines), strict=True)
    )


def compiled(folder: pathlib.Path, *compiler: str) -> pathlib.Path:
    (folder / "ask.c").write_text(PROGRAM)
    subprocess.run([*compiler, "-o", folder / "ask", folder / "ask.c"], check=True)
    return folder / "ask"


# Fortified, the same call is one of __gethostname_chk, for its size is not known to the compiler.
@pytest.mark.parametrize("flags", [(), ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")])
def test_a_program_gets_the_name_by_the_rules_of_glibc(folder, flags):
    assert answers(compiled(folder, "cc", *flags), library(folder, "algo-12")) == ANSWERS


def test_a_program_of_musl_gets_the_name_too(folder):
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc (Debian: musl-tools)")
    assert answers(compiled(folder, "musl-gcc"), library(folder, "algo-12")) == ANSWERS


def test_the_longest_name_fits(folder):
    name = "x" * (ROOM - 1)
    loaded = ctypes.CDLL(str(library(folder, name)), use_errno=True)
    buffer = ctypes.create_string_buffer(b"#" * 300, 300)
    assert loaded.gethostname(buffer, 300) == 0
    assert buffer.value == name.encode()
    assert loaded.gethostname(buffer, ROOM - 1) == -1 and ctypes.get_errno() == ENAMETOOLONG


def test_python_and_its_children_see_it_and_uname_stays(folder):
    code = (
        "import os, socket, subprocess\n"
        "print(socket.gethostname(), subprocess.check_output(['hostname']).decode().strip())\n"
        "print(os.uname().nodename)"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code],
        env={"LD_PRELOAD": str(library(folder, "algo-7")), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    assert done.stdout.split() == ["algo-7", "algo-7", os.uname().nodename]


def test_it_needs_nothing_of_the_image(folder):
    told = subprocess.run(
        ["readelf", "-dVW", "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True
    ).stdout
    assert "NEEDED" not in told and "GLIBC" not in told and "No version information" in told
    symbols = {line.split()[-1] for line in told.splitlines() if " UND " in line}
    assert symbols <= {"UND", "__errno_location"}, told
    assert LIBRARY.stat().st_size < 16384


@pytest.mark.roots
def test_a_debian_11_loads_it(folder, debian11):  # noqa: F811
    library(folder, "algo-3")
    inside = "mount --bind $1 $2/mnt && exec chroot $2 env LD_PRELOAD=/mnt/$3 hostname"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inside, "sh", folder, debian11, LIBRARY.name],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("algo-3\n", "")


def test_ranks_on_hosts_of_other_names_see_their_own(training):
    script = (
        "import os, socket\n"
        "print(socket.gethostname(), os.environ['SM_CURRENT_HOST'], os.uname().nodename)\n"
    )
    job = training(2, 2, script)
    for host in job.hosts:
        host.check("hostname", f"box-{host.name}")
    job.start().succeed(GUARD_SECONDS)
    names = {rank: f"algo-{rank // 2 + 1}" for rank in range(4)}
    want = {rank: [f"{name} {name} box-{name}"] for rank, name in names.items()}
    assert job.rank_lines() == want, job.story()
    job.assert_quiet()
