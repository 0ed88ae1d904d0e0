"""cuda_stubs.py VENV: stand-ins for the CUDA libraries that torch's wheel from PyPI wants to load.

On a machine without GPUs no function of theirs is called, but the loader asks for each library and
symbol. The stand-ins have them all, each a function that returns 0. Needs gcc and binutils.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CUDA = re.compile(r"(cu|nccl|nvrtc|nvtx)", re.I)


def lines_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def missing_libraries(libraries):
    found = set()
    for library in libraries:
        for line in lines_of("ldd", library):
            if "=>" in line and "not found" in line:
                found.add(line.split()[0])
    return sorted(found)


def library_of_version(library):
    """From each symbol version that `library` needs to the library that it comes from."""
    current, found = None, {}
    for line in lines_of("readelf", "-VW", library):
        file, name = re.search(r"File: (\S+)", line), re.search(r"Name: (\S+)\s+Flags", line)
        current = file[1] if file else current
        if name and current:
            found[name[1]] = current
    return found


def symbols(library, which):
    return [line.split()[-1] for line in lines_of("nm", "-D", which, library)]


def wanted(libraries, missing):
    """By library and version, the symbols asked for; and those without a version."""
    own = {name.partition("@")[0] for lib in libraries for name in symbols(lib, "--defined-only")}
    versioned = {name: collections.defaultdict(set) for name in missing}
    plain = set()
    for library in libraries:
        from_version = library_of_version(library)
        for symbol in symbols(library, "--undefined-only"):
            name, _, version = symbol.partition("@")
            source = from_version.get(version.strip("@"))
            if source in versioned:
                versioned[source][version.strip("@")].add(name)
            elif not version and name not in own and CUDA.match(name):
                plain.add(name)
    return versioned, plain


def build(path, versions, plain):
    names = set().union(*versions.values()) | plain if versions else set(plain)
    script = "".join(
        f"{version} {{ global: {' '.join(name + ';' for name in sorted(own))} }};\n"
        for version, own in sorted(versions.items())
    )
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "stub.c")
        source.write_text(
            "".join(f"int {name}() {{ return 0; }}\n" for name in sorted(names))
            or "int muster_stand_in;\n"
        )
        command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{path.name}"]
        if script:
            pathlib.Path(folder, "map").write_text(script)
            command.append(f"-Wl,--version-script={folder}/map")
        subprocess.run([*command, "-o", path, source], check=True)


def main():
    folder = next(pathlib.Path(sys.argv[1]).glob("lib/python3*/site-packages/torch/lib"))
    libraries = [path for path in folder.glob("*.so*") if path.is_file()]
    missing = missing_libraries(libraries)
    versioned, plain = wanted(libraries, missing)
    first_cublas = next((name for name in missing if name.startswith("libcublas.")), None)
    for name in missing:
        # Symbols without a version may be anybody's: one library has them all.
        build(folder / name, versioned[name], plain if name == first_cublas else set())
    check = "import torch; assert torch.ones(2).sum() == 2"
    subprocess.run([os.path.join(sys.argv[1], "bin/python"), "-c", check], check=True)


if __name__ == "__main__":
    main()
