"""Part of tools/parts.py: remembers the results of a commit's parts in one JSON file."""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

from parts_counts import Counts
from parts_report import Result

COMMITS_MAX = 20  # The commits whose results are kept: those with the latest results.
GIT_SECONDS_MAX = 60


def clean_commit(root: pathlib.Path) -> tuple[str | None, str]:
    """The commit of a tree without changes; else None and the reason why nothing is remembered."""
    texts = []
    for words in (["rev-parse", "HEAD"], ["status", "--porcelain"]):
        try:
            done = subprocess.run(
                ["git", *words],
                cwd=root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=GIT_SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, f"cannot run git: {error}"
        if done.returncode != 0:
            first = done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
            return None, f"git {words[0]}: {first}"
        texts.append(done.stdout.strip())
    if texts[1]:
        return None, "the working tree has changes that are not committed"
    return texts[0], ""


class Memory:
    """Results by commit and part. Several calls may use one file at the same time."""

    def __init__(self, path: pathlib.Path):
        self._path = path

    def load(self, commit: str) -> dict[str, Result]:
        """All results of a commit; none if the file is missing or damaged."""
        found = {}
        for name, record in self._read().get(commit, {}).items():
            counts = Counts(record["passed"], record["failed"], record["skipped"])
            found[name] = Result(
                name, record["state"], counts, record["seconds"], record["reason"], earlier=True
            )
        return found

    def store(self, commit: str, result: Result) -> None:
        with self._locked():
            commits = self._read()
            records = commits.pop(commit, {})
            records[result.name] = {
                "state": result.state,
                **dataclasses.asdict(result.counts),
                "seconds": result.seconds,
                "reason": result.reason,
            }
            commits[commit] = records  # The last one is the newest.
            for old in list(commits)[:-COMMITS_MAX]:
                del commits[old]
            self._write(commits)

    def _read(self) -> dict[str, dict[str, dict]]:
        try:
            commits = json.loads(self._path.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return commits if isinstance(commits, dict) else {}

    def _write(self, commits: dict) -> None:
        """By a rename: a reader sees the old file or the new one, and never a part of it."""
        fresh = self._path.with_suffix(".new")
        with open(fresh, "w") as file:
            json.dump(commits, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
