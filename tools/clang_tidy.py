#!/usr/bin/env python3
"""Runs clang-tidy over our .cc files, as many at a time as there are processors. A warning fails.

usage: tools/clang_tidy.py BUILD_FOLDER [WORD]     only files whose path holds WORD
       tools/clang_tidy.py BUILD_FOLDER --shard 1/3  every third file, from the first on
       tools/clang_tidy.py BUILD_FOLDER --touched  only what the last 30 commits touched, newest
                                                   first, at most 60 files; `make lint` has all

BUILD_FOLDER needs to be configured, not built.
"""

import concurrent.futures
import json
import os
import pathlib
import re
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
    ours = sorted({entry["file"] for entry in entries if "/src/" in entry["file"]})
    if word == "--touched":
        touched = chosen([f"{ROOT}/{name}" for name in touched_names(ROOT)], ours)
        print(f"clang-tidy: {len(touched)} files touched lately, looking at {FILES_MAX} at most")
        ours = touched[:FILES_MAX]
    else:
        ours = [path for path in ours if word in path][shard - 1 :: shards]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = [pool.submit(check, build, path) for path in ours]
        for job in concurrent.futures.as_completed(jobs):
            path, bad, text = job.result()
            failed += bad
            print(f"{'FAIL' if bad else 'ok'}  {path}\n{text if bad else ''}", end="", flush=True)
    print(f"clang-tidy: {len(jobs)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
