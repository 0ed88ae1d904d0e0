"""pack.py ARCHIVE: sm, gpu-check and an image without CUDA, for a machine with a GPU.

The image has a program that opens libcuda.so.1 by dlopen, and the libraries of glibc that the
driver's needs: libm, libdl, libpthread, librt.
"""

import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from oci_image import layer, programs, write_archive  # noqa: E402

LIBRARIES = ["libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"]
BYTES_MAX = 64 << 20


def library(name: str) -> str:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    found = re.search(rf"\b{re.escape(name)} \(libc6,x86-64.*=> (\S+)", listed.stdout)
    if not found:
        raise SystemExit(f"pack.py: {name} not found")
    return found[1]


def image(folder: pathlib.Path) -> pathlib.Path:
    box = folder / "train"
    subprocess.run(["cc", "-O1", "-o", box, HERE / "box.c"], check=True)
    members = programs(str(box), *map(library, LIBRARIES))
    members["train"] = members.pop(str(box).removeprefix("/"))
    file = folder / "image.tar"
    write_archive(file, [layer(members)], "gpu-check:v1")
    return file


def main(archive: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive, "w:gz") as tar:
        tar.add(ROOT / "build/release/sm", "gpu-check/bin/sm")
        tar.add(ROOT / "tools/gpu-check", "gpu-check/gpu-check")
        for file in sorted(HERE.glob("*.py")):
            if file.name != "pack.py":
                tar.add(file, f"gpu-check/gpu_check/{file.name}")
        tar.add(image(pathlib.Path(folder)), "gpu-check/gpu_check/image.tar")
    size = archive.stat().st_size
    print(f"{archive}: {size / (1 << 20):.1f} MiB")
    if size > BYTES_MAX:
        raise SystemExit(f"pack.py: {archive} exceeds the limit of {BYTES_MAX >> 20} MiB")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
