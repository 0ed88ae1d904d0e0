#!/usr/bin/env python3
"""Packs a built `sm` for those who install it: a Debian package, a tar archive, and their sums.

usage: tools/packages.py SM FOLDER

Writes into FOLDER muster_VERSION_amd64.deb, muster-VERSION-linux-x86_64.tar.gz, what is linked
into the program as muster-VERSION.spdx.json, and SHA256SUMS over all that is there. SM must be the
static program of build/release, since its link line says what is in it. The same program and commit
give the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import release

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Whoever packs, as Debian's tools take it from DEBFULLNAME and DEBEMAIL.
MAINTAINER = "{} <{}>".format(
    os.environ.get("DEBFULLNAME", "muster"), os.environ.get("DEBEMAIL", "muster@localhost")
)
# What is compiled into the program from headers alone, or by the compiler, and so on no link line.
HEADERS_ONLY = ("libboost1.81-dev", "nlohmann-json3-dev", "libcli11-dev", "libc6-dev")
CONTROL = """\
Package: muster
Version: {version}-1
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {kibibytes}
Depends: runc
Recommends: e2fsprogs, openmpi-bin, nftables, python3
Section: science
Priority: optional
Description: SageMaker training jobs on your own machines
 Runs distributed training jobs (MPI, Horovod, torchrun, DeepSpeed, parameter
 servers) as Amazon SageMaker does: sm fit runs one on this machine, sm server
 answers boto3, the AWS CLI and the SageMaker SDKs.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: muster

Files: *
Copyright: 2026 The muster authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0. The licences
 of the linked libraries are listed in /usr/share/doc/muster/muster.spdx.json.
"""
OVERRIDES = """\
# Static on purpose, and position independent: one file that runs in any image, whatever its
# libraries (docs/decisions/0006-one-static-binary.md).
muster: shared-library-lacks-prerequisites [usr/bin/sm]
muster: embedded-library *
# Not for Debian's archive, and packed by whoever likes: DEBEMAIL names them.
muster: initial-upload-closes-no-bugs *
muster: bogus-mail-host *
muster: bogus-mail-host-in-debian-changelog *
"""


class NoPackage(Exception):
    """One line for whoever packs."""


def run(*argv: object) -> str:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoPackage(f"{argv[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def commit_time() -> int:
    """Seconds since 1970 of the commit that is packed: every file's time."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


# --- what is linked in ---


def linked_libraries(ninja: str) -> list[str]:
    """The libraries on sm's link line in a build.ninja: "-lre2", "/usr/lib/.../libssl.a"."""
    match = re.search(r"^build sm (?:[^\n]|\n  )*\n  LINK_LIBRARIES = ([^\n]*)", ninja, re.M)
    if match is None:
        raise NoPackage("build.ninja: no link line of sm: pack the program of build/release")
    return sorted({word for word in match[1].split() if word.startswith(("-l", "/"))})


def debian_package(library: str) -> str:
    """The package that has a library's archive; empty for a part of the C library."""
    name = library if library.startswith("/") else f"/usr/lib/x86_64-linux-gnu/lib{library[2:]}.a"
    owner = run("dpkg", "-S", name).split(":")[0]
    return "" if owner == "libc6-dev" else owner


def licence_of(package: str) -> str:
    """The licence of all files that its machine-readable copyright gives; else none is claimed."""
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
    match = re.search(r"^Files: \*\n(?:.*\n)*?License: (\S+)", text, re.M)
    return match[1] if match else "NOASSERTION"


def sbom(program: pathlib.Path, version: str) -> dict:
    """The program and what is in it, as SPDX 2.3 has it."""
    ninja = (program.parent / "build.ninja").read_text()
    names = {debian_package(library) for library in linked_libraries(ninja)} - {""}
    compiler = run("g++", "-dumpversion").strip()
    names |= {*HEADERS_ONLY, f"libstdc++-{compiler}-dev"}
    parts = []
    for name in sorted(names):
        found, source = run("dpkg-query", "-W", "-f", "${Version} ${source:Package}", name).split()
        parts.append(
            {
                "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
                "name": name,
                "versionInfo": found,
                "downloadLocation": "NOASSERTION",
                "licenseDeclared": "NOASSERTION",
                "licenseComments": f"Debian's copyright file: {licence_of(name)}",
                "sourceInfo": f"Debian source package {source}",
            }
        )
    created = run("date", "-u", "-d", f"@{commit_time()}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    own = {
        "SPDXID": "SPDXRef-muster",
        "name": "muster",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    contains = [
        {
            "spdxElementId": "SPDXRef-muster",
            "relationshipType": "STATIC_LINK",
            "relatedSpdxElement": part["SPDXID"],
        }
        for part in parts
    ]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"muster-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/muster-{version}-{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/packages.py"]},
        "documentDescribes": ["SPDXRef-muster"],
        "packages": [own, *parts],
        "relationships": contains,
    }


# --- files ---


def common_files(program: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    """What both archives have below their prefix: path -> (bytes, mode)."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "sm"
        run("strip", "-s", "-R", ".comment", "-o", stripped, program)
        files = {"bin/sm": (stripped.read_bytes(), 0o755)}
        run(program, "man", "--write", folder)
        for page in sorted(pathlib.Path(folder).glob("*.1")):
            files[f"share/man/man1/{page.name}.gz"] = (zipped(page.read_bytes()), 0o644)
    completions = {
        "bash": "share/bash-completion/completions/sm",
        "zsh": "share/zsh/vendor-completions/_sm",
        "fish": "share/fish/vendor_completions.d/sm.fish",
    }
    for shell, path in completions.items():
        files[path] = (run(program, "completion", shell).encode(), 0o644)
    return files


def debian_changelog(version: str) -> bytes:
    date = run("date", "-u", "-R", "-d", f"@{commit_time()}").strip()
    entry = f"muster ({version}-1) unstable; urgency=medium\n\n  * See changelog.gz.\n"
    return zipped(f"{entry}\n -- {MAINTAINER}  {date}\n".encode())


def deb_files(program: pathlib.Path, version: str, bill: bytes) -> dict[str, tuple[bytes, int]]:
    files = {f"usr/{path}": given for path, given in common_files(program).items()}
    unit = (ROOT / "packaging/muster-server.service").read_text()
    unit = unit.replace("/usr/local/bin/", "/usr/bin/")
    doc = "usr/share/doc/muster"
    texts = {
        "lib/systemd/system/muster-server.service": unit.encode(),
        f"{doc}/copyright": COPYRIGHT.encode(),
        f"{doc}/changelog.gz": zipped((ROOT / "CHANGELOG.md").read_bytes()),
        f"{doc}/changelog.Debian.gz": debian_changelog(version),
        f"{doc}/muster.spdx.json": bill,
        "usr/share/lintian/overrides/muster": OVERRIDES.encode(),
    }
    return {**files, **{path: (data, 0o644) for path, data in texts.items()}}


def write_deb(to: pathlib.Path, files: dict[str, tuple[bytes, int]], version: str) -> None:
    size = sum(len(data) for data, _ in files.values())
    control = CONTROL.format(version=version, maintainer=MAINTAINER, kibibytes=size // 1024 + 1)
    sums = "".join(
        f"{hashlib.md5(data).hexdigest()}  {path}\n" for path, (data, _) in sorted(files.items())
    )
    own = {"DEBIAN/control": control, "DEBIAN/md5sums": sums}
    files = {**files, **{path: (text.encode(), 0o644) for path, text in own.items()}}
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        for path, (data, mode) in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)
            (tree / path).chmod(mode)
        for each in (tree, *tree.rglob("*")):
            if each.is_dir():
                each.chmod(0o755)
        os.environ["SOURCE_DATE_EPOCH"] = str(commit_time())
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, to)


def write_tar(to: pathlib.Path, files: dict[str, tuple[bytes, int]]) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (data, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(data), mode, commit_time()
            archive.addfile(entry, io.BytesIO(data))
    to.write_bytes(zipped(whole.getvalue()))


def pack(program: pathlib.Path, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    version = release.version_in((ROOT / "CMakeLists.txt").read_text())
    bill = (json.dumps(sbom(program, version), indent=1) + "\n").encode()
    stem = f"muster-{version}"
    (folder / f"{stem}.spdx.json").write_bytes(bill)
    write_deb(folder / f"muster_{version}_amd64.deb", deb_files(program, version, bill), version)
    plain = {
        **common_files(program),
        "bin/train": ((ROOT / "packaging/train").read_bytes(), 0o755),
        "share/doc/muster/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "share/doc/muster/CHANGELOG.md": ((ROOT / "CHANGELOG.md").read_bytes(), 0o644),
        "share/doc/muster/muster.spdx.json": (bill, 0o644),
        "share/doc/muster/muster-server.service": (
            (ROOT / "packaging/muster-server.service").read_bytes(),
            0o644,
        ),
    }
    below = {f"{stem}/{path}": given for path, given in plain.items()}
    write_tar(folder / f"{stem}-linux-x86_64.tar.gz", below)
    sums = folder / "SHA256SUMS"
    packed = [path for path in sorted(folder.iterdir()) if path.is_file() and path != sums]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packed]
    sums.write_text("".join(lines))


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        pack(pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]))
    except (NoPackage, release.NoRelease) as error:
        print(f"packages.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
