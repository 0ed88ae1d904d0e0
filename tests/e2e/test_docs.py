"""The users' pages and docs/debugging.md: each command block runs as it is printed, and says what
the page says it does.

A block ```sh is run; a block ```text behind it holds lines of its output, in their order, each as a
part of a line. Blocks of one page share a shell and a folder. A block that needs what not every
machine has says so in its title (```sh title="needs a GPU"), in one of a few ways, and is not run;
those of WITH_TORCH are, by themselves, where `make frameworks` has built the interpreter, and those
of WITH_DEBUGGERS where these programs are installed. test_docs_commands.py looks at the commands
and the output that nothing here runs or prints.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from fit import GUARD_SECONDS
from frameworks import interpreter
from lab import REPOSITORY, SM, VENV
from process import Process
from training import host_environment, train_program

DEBUGGING = REPOSITORY / "docs/debugging.md"
PAGES = [*sorted((REPOSITORY / "docs/users").glob("*.md")), DEBUGGING]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
MARK = "@@@ block %d ends"
NEEDS = {
    "",
    "needs a GPU",
    "needs several machines",
    "needs Slurm",
    "needs the packages",  # test_packages_of_release.py runs these.
    "needs the packages, and apt",
    "needs the wheel",  # tests/python and tests/e2e/image.py install it so.
    "needs cosign and a registry",  # test_image_policy.py, with signatures by openssl.
    "needs Airflow and a server",  # test_clients_jobs.py runs these.
    "needs a server and a browser",  # test_page.py does this.
    "needs a server and Docker",  # test_docker.py does this.
    "needs SageMaker's SDK and Docker",  # test_local_mode.py does this.
    "needs SageMaker's SDK and a server",  # test_remote_functions.py runs these.
    "needs a debug build",  # test_docs_commands.py looks for what they name.
}
WITH_DEBUGGERS = "needs gdb, pstree and strace"
WITH_TORCH = {"needs PyTorch", "needs accelerate"}
# A systemd unit, a Job of Kubernetes, a part of a config: no line of the page reads them.
FILES_OF_OTHERS = {"ini", "json", "yaml"}
TITLES = {f'title="{need}"' if need else "": need for need in {*NEEDS, *WITH_TORCH, WITH_DEBUGGERS}}


def blocks(page: pathlib.Path, needs=frozenset([""])) -> list[tuple[str, list[str]]]:
    """(commands, lines that they print) of each block that needs one of these."""
    found: list[tuple[str, list[str]]] = []
    runs = False
    for language, more, text in BLOCK.findall(page.read_text()):
        if language in FILES_OF_OTHERS:
            continue
        assert language in ("sh", "text"), f"{page.name}: a block of {language}"
        assert more.strip() in TITLES, f"{page.name}: a block with{more}"
        if language == "sh":
            runs = TITLES[more.strip()] in needs
            if runs:
                found.append((text, []))
        elif runs:
            found[-1][1].extend(text.splitlines())
    return found


def check_lines(wanted: list[str], said: str) -> None:
    at = 0
    for line in wanted:
        found = said.find(line, at)
        assert found >= 0, f"{line!r} is not printed, or not in this place:\n{said}"
        at = found + len(line) if not re.match(r"algo-\d ", line) else at  # Hosts race.


def run_blocks(machine, wanted: list[tuple[str, list[str]]], programs: pathlib.Path) -> None:
    """In one shell, with these programs first on its PATH."""
    # What a block leaves in the background ends with the page, also where a later line fails.
    lines = ["set -e", "ulimit -c 0", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT"]
    for number, (commands, _) in enumerate(wanted):
        lines += [commands, f"echo '{MARK % number}'"]
    environment = {
        **machine.environment(),
        "PATH": os.pathsep.join([str(SM.parent), str(programs), os.environ["PATH"]]),
    }
    script = machine.folder / "page.sh"
    script.write_text("\n".join(lines))
    words = ["env", "-C", machine.folder, "bash", script]
    process = Process(words, env=environment, own_session=True)
    machine.processes.append(process)
    assert process.wait(3 * GUARD_SECONDS) == 0, process.text
    said = process.out.decode()
    for number, (_, parts) in enumerate(wanted):
        block, mark, said = said.partition(MARK % number)
        assert mark, process.text
        check_lines(parts, block)


def needs_here() -> frozenset[str]:
    """The blocks that this machine can run, by what they need."""
    debuggers = ("gdb", "pstree", "strace")
    return frozenset(["", *([WITH_DEBUGGERS] if all(map(shutil.which, debuggers)) else [])])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda p: p.stem)
def test_the_page_does_what_it_says(machine, page):
    run_blocks(machine, blocks(page, needs_here()), VENV / "bin")


@pytest.mark.framework
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, WITH_TORCH)], ids=lambda p: p.stem
)
def test_the_page_does_with_torch_what_it_says(machine, page):
    run_blocks(machine, blocks(page, WITH_TORCH), interpreter("torch").parent)


def test_links_between_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_files_of_several_machines_make_one_job_of_two(lab, tmp_path):
    """In place of the containers: hosts of a lab, which have the page's files, too."""
    page = REPOSITORY / "docs/users/several-machines.md"
    (files,) = [text for text, _ in blocks(page) if "resourceconfig.json" in text]
    path = f"{SM.parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", files], cwd=tmp_path, check=True, env={"PATH": path})
    environment = {**host_environment(""), "MUSTER_JOB_KEY_FILE": "/opt/ml/job.key"}
    del environment["MUSTER_JOB_KEY"]
    trains = []
    for host, other in zip(lab.hosts(2), ("node1", "node2"), strict=True):
        shutil.copytree(tmp_path / "ml", host.base, dirs_exist_ok=True)
        shutil.copy(tmp_path / "job.key", host.base)
        resources = host.base / "input/config/resourceconfig.json"
        told = json.loads(resources.read_text())
        assert other in told["hosts"] and len(told["hosts"]) == 2
        told |= {"current_host": host.name, "hosts": ["algo-1", "algo-2"]}
        resources.write_text(json.dumps(told))
        trains.append(host.start([train_program()], env=environment))
    assert [train.wait(GUARD_SECONDS) for train in trains] == [0, 0], trains[0].text
    for rank in range(4):
        assert f"rank {rank} of 4 on algo-{rank // 2 + 1}" in trains[0].text
