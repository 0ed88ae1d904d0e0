"""Four things an MPI program does, each checked: send, broadcast, gather, reduce to a mean.

Needs mpi4py and nothing else. Runs with any number of ranks; with 6 the mean is 2.5.
"""
import argparse
import os
import socket
import sys
from array import array

from mpi4py import MPI


def say(text):
    """Prints one line at once, so that it is whole and in time whatever stdout is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def check(what, got, want):
    if got != want:
        raise SystemExit(f"{what}: got {got}, want {want}")


def point_to_point(comm, rank, size):
    """Rank 0 sends ten integers to rank 1."""
    numbers = array("i", range(10))
    if size < 2:
        return
    if rank == 0:
        comm.Send([numbers, MPI.INT], dest=1, tag=7)
        say(f"rank 0 sent {numbers.tolist()} to rank 1")
    elif rank == 1:
        received = array("i", [0] * 10)
        comm.Recv([received, MPI.INT], source=0, tag=7)
        check("point to point", received, numbers)
        say(f"rank 1 received {received.tolist()} from rank 0")


def broadcast(comm, rank):
    """Everybody gets 0..9 from rank 0."""
    numbers = array("i", range(10) if rank == 0 else [-1] * 10)
    comm.Bcast([numbers, MPI.INT], root=0)
    check("broadcast", numbers, array("i", range(10)))


def mean_of_all(comm, rank, size, length):
    """Each rank gives an array of its own number; rank 0 takes the mean and tells everybody."""
    own = array("d", [float(rank)] * length)
    gathered = array("d", [0.0] * (length * size)) if rank == 0 else None
    comm.Gather([own, MPI.DOUBLE], [gathered, MPI.DOUBLE] if rank == 0 else None, root=0)
    mean = array("d", [0.0])
    if rank == 0:
        mean[0] = sum(gathered) / len(gathered)
        say(f"rank 0 gathered {len(gathered)} numbers from {size} ranks")
    comm.Bcast([mean, MPI.DOUBLE], root=0)
    return mean[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=1, help="how often to do it all")
    parser.add_argument("--length", type=int, default=10, help="numbers that each rank gathers")
    # Whatever other hyperparameters a job has are not ours to refuse.
    args, _ = parser.parse_known_args()

    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    host = os.environ.get("SM_CURRENT_HOST") or socket.gethostname()
    mean = 0.0
    for _ in range(max(1, args.epochs)):
        point_to_point(comm, rank, size)
        broadcast(comm, rank)
        mean = mean_of_all(comm, rank, size, max(1, args.length))
    check("mean", mean, (size - 1) / 2)
    say(f"rank {rank}/{size} on {host}: mean {mean}")


if __name__ == "__main__":
    main()
