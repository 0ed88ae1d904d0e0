"""Output arrives whole, in order and under the right rank's name."""

import collections
import re

FLOOD = """
import sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
fill = b"abcdefghij"[rank:rank + 1] * 89
lines = b"".join(b"%02d %06d %s\\n" % (rank, n, fill) for n in range(COUNT))
MPI.COMM_WORLD.Barrier()
out = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
at, size = 0, 1
while at < len(lines):  # Pieces that end anywhere, from 1 byte to 64 KiB.
    at += out.write(lines[at:at + size])
    size = size * 7 % 65521
"""
LINES_PER_RANK = 100_000


def test_100000_lines_of_each_of_four_ranks_arrive_whole(training):
    job = training(2, 2, FLOOD.replace("COUNT", str(LINES_PER_RANK))).start().succeed(300)
    tag = re.compile(rb"^\[1,mpirank:(\d+),(algo-\d)\]<stdout>:(.*)$", re.S)
    seen: dict[int, int] = collections.defaultdict(int)
    for line in job.leader.out.split(b"\n"):
        match = tag.match(line)
        if not match:
            assert b"aaaa" not in line and b"bbbb" not in line, f"untagged: {line[:200]!r}"
            continue
        rank = int(match[1])
        want = b"%02d %06d %s" % (rank, seen[rank], b"abcdefghij"[rank : rank + 1] * 89)
        assert match[3] == want, f"line {seen[rank]} of rank {rank}: {line[:200]!r}"
        assert match[2].decode() == f"algo-{rank // 2 + 1}"
        seen[rank] += 1
    assert dict(seen) == {rank: LINES_PER_RANK for rank in range(4)}


def payload(job, rank: int, stream: str = "stdout") -> bytes:
    """All that a rank wrote to a stream, without tags and line ends."""
    tag = re.compile(rb"^\[1,mpirank:%d,algo-\d\]<%s>:(.*)$" % (rank, stream.encode()), re.S)
    both = job.leader.out + b"\n" + job.leader.err
    return b"".join(match[1] for line in both.split(b"\n") if (match := tag.match(line)))


def test_bytes_that_are_not_utf8_and_lines_of_3_mib_survive(training):
    script = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.Get_rank() == 1:
    odd = bytes(range(1, 10)) + bytes(range(14, 256))
    sys.stdout.buffer.write(odd + b"\\n" + b"x" * (3 << 20) + b"\\n")
"""
    job = training(1, 2, script).start().succeed()
    assert payload(job, 1) == bytes(range(1, 10)) + bytes(range(14, 256)) + b"x" * (3 << 20)


def test_stderr_and_a_last_line_without_an_end_are_shown(training):
    script = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.Get_rank() == 1:
    sys.stderr.write("a warning\\n")
    sys.stdout.write("no end")
"""
    job = training(2, 1, script).start().succeed()
    assert payload(job, 1) == b"no end"
    assert payload(job, 1, "stderr") == b"a warning"


def test_an_unfinished_line_is_shown_while_the_program_waits(training):
    script = """
import signal, sys
from mpi4py import MPI
sys.stdout.write("password? ")
sys.stdout.flush()
signal.pause()
"""
    job = training(2, 1, script).start()
    job.leader.wait_for_output(b"algo-2]<stdout>:password? ")
