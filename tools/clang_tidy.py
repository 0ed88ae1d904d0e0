#!/usr/bin/env python3
"""Runs clang-tidy over all of our .cc files, as many at a time as there are processors.

usage: tools/clang_tidy.py BUILD_FOLDER [WORD]     only files whose path holds WORD
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


ROOT = str(pathlib.Path(__file__).resolve().parents[1])


def check(build: str, path: str) -> tuple[str, bool, str]:
    """Fails by a warning in our own files, or an error anywhere."""
    argv = ["clang-tidy", "-p", build, "--quiet", *ARGUMENTS, path]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    ours = re.search(rf"^{re.escape(ROOT)}/.*: (warning|error):", done.stdout, re.M)
    failed = done.returncode != 0 or ours is not None
    return path, failed, done.stdout + (done.stderr if done.returncode else "")


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    build, word = arguments[0], (arguments[1:] or [""])[0]
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    ours = sorted({entry["file"] for entry in entries if "/src/" in entry["file"]})
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, build, path) for path in ours if word in path]
        for job in concurrent.futures.as_completed(jobs):
            path, bad, text = job.result()
            failed += bad
            print(f"{'FAIL' if bad else 'ok'}  {path}\n{text if bad else ''}", end="", flush=True)
    print(f"clang-tidy: {len(jobs)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
