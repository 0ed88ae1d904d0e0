#!/usr/bin/env python3
"""Runs clang-tidy over our .cc files, as many at a time as there are processors. A warning fails.

Most of its time goes to what files include. So in a build folder where several of our files are
compiled as one (build/release), they are also checked as one; a word means nothing there.

usage: tools/clang_tidy.py BUILD_FOLDER [WORD]     only files whose path holds WORD
       tools/clang_tidy.py BUILD_FOLDER --shard 1/3  every third file, from the first on
       tools/clang_tidy.py BUILD_FOLDER --touched  only what the last 30 commits touched, newest
                                                   first, at most 60 files; `make lint` has all

BUILD_FOLDER needs to be configured, not built. A file that passed is not looked at again until it,
something that it includes, its command or .clang-tidy changes; BUILD_FOLDER/lint-passed/ knows.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

# clang 14 knows C++20's coroutines but does not say so to libstdc++; GCC's own warnings are GCC's.
ARGUMENTS = [
    "--extra-arg=-D__cpp_impl_coroutine=201902L",
    "--extra-arg=-Wno-unknown-warning-option",
]
COMMITS = 30
FILES_MAX = 60  # About 10 s of a processor each.

ROOT = str(pathlib.Path(__file__).resolve().parents[1])


def check(build: str, path: str) -> tuple[str, bool, str]:
    """Fails by a warning in our own files, or an error anywhere."""
    argv = ["clang-tidy", "-p", build, "--quiet", *ARGUMENTS, path]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    ours = re.search(rf"^{re.escape(ROOT)}/.*: (warning|error):", done.stdout, re.M)
    failed = done.returncode != 0 or ours is not None
    return path, failed, done.stdout + (done.stderr if done.returncode else "")


@functools.cache
def digest_of(path: str, root: str) -> str:
    """CMake's files of several sources name them by their paths below `root`."""
    return hashlib.sha256(pathlib.Path(path).read_bytes().replace(root.encode(), b"")).hexdigest()


def key_of(entry: dict[str, str], root: str, common: str) -> str | None:
    """What decides whether a file passes: its command, and each file that it reads.

    `root` counts as nothing in it, so that another clone has the same key. None if the compiler
    cannot say what the file includes.
    """
    words = shlex.split(entry["command"])
    if "-o" in words:
        at = words.index("-o")
        del words[at : at + 2]
    argv = [*words, "-M", "-MT", "x"]
    done = subprocess.run(argv, cwd=entry["directory"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    names = shlex.split(done.stdout.replace("\\\n", " ").partition(":")[2])
    paths = sorted({os.path.normpath(os.path.join(entry["directory"], name)) for name in names})
    lines = [common, *words, *(f"{path} {digest_of(path, root)}" for path in paths)]
    return hashlib.sha256("\n".join(lines).replace(root, "").encode()).hexdigest()


class Passed:
    """The files that passed before, as empty files named by their keys."""

    def __init__(self, folder: pathlib.Path):
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True)
        rules = pathlib.Path(ROOT, ".clang-tidy").read_text()
        self._common = "\n".join([version.stdout, rules, *ARGUMENTS])
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def check(self, build: str, entry: dict[str, str]) -> tuple[str, bool, str]:
        key = key_of(entry, ROOT, self._common)
        if key and (self._folder / key).exists():
            return entry["file"], False, ""
        path, failed, text = check(build, entry["file"])
        if key and not failed:
            (self._folder / key).touch()
        return path, failed, text


def touched_names(root: str) -> list[str]:
    """What is not committed yet, then what the last commits touched, newest first, each once.

    The oldest commit of a clone is left out: in a shallow one it seems to have made every file.
    None outside of a git checkout.
    """
    log = ["log", f"-{COMMITS}", "--min-parents=1", "--no-merges", "--name-only", "--format=", "-M"]
    names: list[str] = []
    for words in (["diff", "HEAD", "--name-only"], log):
        argv = ["git", "-c", f"safe.directory={root}", "-C", root, *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        names += done.stdout.splitlines() if done.returncode == 0 else []
    return list(dict.fromkeys(names))


def chosen(names: list[str], compiled: list[str]) -> list[str]:
    """The compiled files that the names mean, in their order: a header means its own .cc."""
    there = set(compiled)
    found = [re.sub(r"\.h$", ".cc", name) for name in names]
    return [name for name in dict.fromkeys(found) if name in there]


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    build, word = arguments[0], (arguments[1:] or [""])[0]
    shard, shards = 1, 1
    if word == "--shard":
        shard, shards = map(int, arguments[2].split("/"))
        word = ""
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    entry_of = {e["file"]: e for e in entries if re.search("/(src|Unity)/", e["file"])}
    ours = sorted(entry_of)
    if word == "--touched":
        touched = chosen([f"{ROOT}/{name}" for name in touched_names(ROOT)], ours)
        print(f"clang-tidy: {len(touched)} files touched lately, looking at {FILES_MAX} at most")
        ours = touched[:FILES_MAX]
    else:
        ours = [path for path in ours if word in path][shard - 1 :: shards]
    failed = 0
    passed = Passed(pathlib.Path(build) / "lint-passed")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = [pool.submit(passed.check, build, entry_of[path]) for path in ours]
        for job in concurrent.futures.as_completed(jobs):
            path, bad, text = job.result()
            failed += bad
            print(f"{'FAIL' if bad else 'ok'}  {path}\n{text if bad else ''}", end="", flush=True)
    print(f"clang-tidy: {len(jobs)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
