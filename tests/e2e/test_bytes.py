"""Hyperparameters reach every rank byte for byte, and nothing in them runs."""

import json

DUMP = """
import json, os, socket, sys
from mpi4py import MPI
seen = {
    "argv": [os.fsencode(word).hex() for word in sys.argv[1:]],
    "env": {os.fsencode(n).hex(): os.fsencode(v).hex() for n, v in os.environ.items()},
    "hostname": socket.gethostname(),
}
path = os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "rank-%d.json" % MPI.COMM_WORLD.Get_rank())
json.dump(seen, open(path, "w"))
MPI.COMM_WORLD.Barrier()
"""

VALUES = {
    "space": "two  words ",
    "single": "it's",
    "double": 'say "hi"',
    "semicolon": "a; touch /tmp/ran-1",
    "dollar": "$(touch /tmp/ran-2) $HOME ${PATH}",
    "backtick": "`touch /tmp/ran-3`",
    "newline": "one\ntwo\n",
    "tab": "a\tb",
    "return": "a\rb",
    "unicode": "naïve ☃ 漢字 \U0001f600",
    "dash": "-rf",
    "dashes": "--",
    "empty": "",
    "colon": ":",
    "backslash": "a\\b\\\\",
    "star": "* ?",
    "tilde": "~",
    "and": "a && touch /tmp/ran-4 || true",
    "pipe": "| touch /tmp/ran-5",
    "redirect": "> /tmp/ran-6",
    "percent": "%s %d",
    "control": "\x01\x7f",
    "hash": "# no comment",
    "equals": "A=B",
    "option": "-x LD_PRELOAD=/tmp/evil.so",
    "n": "one letter",
}
ODD_NAMES = {"LD_PRELOAD": "/tmp/evil.so", "name with space": "x", "na;me": "y", ":": "z"}


def arguments(values: dict[str, str]) -> list[str]:
    """The rule of the PyPI package sagemaker-training: sorted names, one letter takes one dash."""
    words = []
    for name in sorted(values):
        words += [f"-{name}" if len(name) == 1 else f"--{name}", values[name]]
    return words


def run(training, hosts: int, per_host: int, values: dict[str, str]):
    job = training(
        hosts, per_host, DUMP, {name: json.dumps(value) for name, value in values.items()}
    )
    job.start().succeed()
    ranks = {}
    for host in job.hosts:
        for path in (host.base / "output/data").glob("rank-*.json"):
            seen = json.loads(path.read_text())
            decode = lambda text: bytes.fromhex(text).decode()
            ranks[int(path.stem[5:])] = (
                host,
                [decode(word) for word in seen["argv"]],
                {decode(n): decode(v) for n, v in seen["env"].items()},
                seen,
            )
    assert sorted(ranks) == list(range(hosts * per_host)), job.story()
    return job, ranks


def assert_nothing_ran(job) -> None:
    for host in job.hosts:
        assert not list(host.path("/tmp").glob("ran-*")) and not host.path("/tmp/evil.so").exists()


def test_values_arrive_byte_exact_in_argv_and_environment_of_every_rank(training):
    job, ranks = run(training, 2, 2, VALUES)
    for rank, (_, argv, env, _) in ranks.items():
        assert argv == arguments(VALUES), f"rank {rank}"
        got = {name: env.get("SM_HP_" + name.upper()) for name in VALUES}
        assert got == VALUES, f"rank {rank}"
        assert json.loads(env["SM_HPS"]) == VALUES
        assert json.loads(env["SM_USER_ARGS"]) == argv
    assert_nothing_ran(job)


def test_odd_names_arrive_in_argv_and_inject_nothing(training):
    job, ranks = run(training, 2, 1, ODD_NAMES)
    for rank, (_, argv, env, _) in ranks.items():
        assert argv == arguments(ODD_NAMES), f"rank {rank}"
        assert "evil" not in env.get("LD_PRELOAD", ""), f"rank {rank}"
        assert json.loads(env["SM_HPS"]) == ODD_NAMES
    assert_nothing_ran(job)


def test_each_rank_has_the_environment_of_its_own_host(training):
    _, ranks = run(training, 3, 1, {})
    for rank, (host, _, env, seen) in ranks.items():
        assert env["SM_CURRENT_HOST"] == host.name == seen["hostname"] == f"algo-{rank + 1}"
        assert json.loads(env["SM_RESOURCE_CONFIG"])["current_host"] == host.name
        assert json.loads(env["SM_HOSTS"]) == ["algo-1", "algo-2", "algo-3"]
        assert "OMPI_COMM_WORLD_RANK" in env


def test_a_value_of_100_kib_arrives(training):
    value = {"long": "v" * 100_000}
    _, ranks = run(training, 2, 1, value)
    for _, argv, _, _ in ranks.values():
        assert argv == ["--long", value["long"]]
