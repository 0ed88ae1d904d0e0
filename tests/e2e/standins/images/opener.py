"""What stand-ins of programs that open images have in common: they really enter another root.

An image is a tar here. What has a name in a registry is `../images/NAME.tar` beside the folder of
the stand-in, "/" and ":" being "_".
"""

import ctypes
import os
import pathlib
import shutil
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18


def fail(text: str) -> None:
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def named(uri: str) -> pathlib.Path:
    """The image of a registry."""
    name = uri.partition("://")[2].replace("/", "_").replace(":", "_").replace("#", "_")
    found = pathlib.Path(sys.argv[0]).absolute().parent.parent / "images" / f"{name}.tar"
    if not found.exists():
        fail(f"while pulling {uri}: the registry has no such image")
    return found


def checked(result: int, what: str) -> None:
    if result != 0:
        fail(f"{what}: {os.strerror(ctypes.get_errno())}")


def bind(source: str, target: pathlib.Path) -> None:
    if pathlib.Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    flags = MS_BIND | MS_REC
    checked(LIBC.mount(source.encode(), str(target).encode(), None, flags, None), f"mount {source}")


def unpack(image: str, root: pathlib.Path) -> None:
    try:
        shutil.unpack_archive(image, root, "tar")
    except (OSError, shutil.ReadError):
        fail(f"{image}: not an image")


def enter(root: pathlib.Path, shown: list[str], writable: bool) -> None:
    """From here on this process is in the image, and sees of the host what is `shown`."""
    uid, gid = os.geteuid(), os.getegid()
    checked(LIBC.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)), "unshare")
    if uid:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    checked(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    bind(str(root), root)
    for path in ["/proc", "/dev", "/sys", *shown]:
        bind(path, root / path.lstrip("/"))
    if not writable:
        flags = MS_REMOUNT | MS_BIND | MS_RDONLY
        checked(LIBC.mount(None, str(root).encode(), None, flags, None), "read-only root")
    os.chroot(root)
    os.chdir("/")
