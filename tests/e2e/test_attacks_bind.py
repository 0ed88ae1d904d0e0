"""Attacks from a folder of the machine that `sm fit --bind …:rw` gives a job to write to."""

import re

from bound import submitters_folder, writing
from fit import GUARD_SECONDS

# A job tries to leave a program that lends the owner's rights in a folder that it may write to.
ATTACK = r"""
import ctypes, os, shutil
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
shutil.copy("/bin/true", "/data/tool")
def call(number, *words):
    ctypes.set_errno(0)
    libc.syscall(number, *words)
    return os.strerror(ctypes.get_errno())
tool = b"/data/tool"
fd = os.open("/data", os.O_RDONLY)
own = os.open("/data/tool", os.O_RDWR)
mode, high = 0o6755, (1 << 40) | 0o4755
AT, CREATE, UNNAMED = -100, os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_RDWR
how = (ctypes.c_uint64 * 3)(CREATE, 0o4755, 0)
said = {
    "chmod": call(90, tool, mode), "chmod, high half": call(90, tool, ctypes.c_uint64(high)),
    "setgid alone": call(90, tool, 0o2755), "fchmod": call(91, own, mode),
    "fchmodat": call(268, AT, tool, mode), "fchmodat2": call(452, AT, tool, mode, 0),
    "open": call(2, b"/data/a", CREATE, mode), "openat": call(257, fd, b"b", CREATE, mode),
    "openat2": call(437, fd, b"c", how, 24), "creat": call(85, b"/data/d", mode),
    "mknod": call(133, b"/data/e", 0o100000 | mode, 0),
    "mknodat": call(259, fd, b"f", 0o100000 | mode, 0),
    "unnamed": call(257, AT, b"/data", UNNAMED, mode),
    "capability": call(188, tool, b"security.capability",
                       b"\1\0\0\2\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0),
    "chown": call(92, tool, 1, 1),
    "device": call(133, b"/data/g", 0o020666, 0x103),
}
for name, text in said.items():
    print("attack", name, "->", text, flush=True)
os.chmod("/data/tool", 0o755)
print("plain", oct(os.stat("/data/tool").st_mode), flush=True)
try:
    open("/data/roots", "a").write("x")
except OSError as error:
    print("another's file ->", error.strerror, flush=True)
os.symlink("/etc/shadow", "/data/link")
"""


def test_no_program_that_lends_rights_is_left_in_a_folder(machine):
    """Files there are the submitter's at once: a set-id bit would be the submitter's rights."""
    with submitters_folder() as place:
        attack(machine, place)


def attack(machine, place):
    (place / "data" / "roots").write_text("root's")
    (place / "data" / "roots").chmod(0o600)
    process = writing(machine, place, ATTACK)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    said = dict(re.findall(r"attack (.*) -> (.*)", process.out.decode()))
    assert len(said) == 16, process.text
    allowed = ("Operation not permitted", "Function not implemented")
    assert said.pop("chown") == "Value too large for defined data type", said  # No such user id.
    for name, text in said.items():
        assert text in allowed, f"{name}: {text}"
    assert "plain 0o100755" in process.text, process.text
    assert "another's file -> Permission denied" in process.text, process.text
    assert (place / "data" / "roots").read_text() == "root's"
    for path in [place / "data", *(place / "data").iterdir()]:
        assert path.lstat().st_mode & 0o6000 == 0, path
        assert path.lstat().st_uid in (0, 4321) and not path.is_block_device(), path
        assert not path.is_char_device(), path
    assert (place / "data/link").is_symlink()
