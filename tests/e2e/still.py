"""Programs in C that block, compute or mislead, compiled for a test."""

import pathlib
import shutil
import subprocess

import pytest

STILL = r"""
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#define FUNCTION __attribute__((noinline))
#define SECONDS 20
volatile int never;
double sink;
FUNCTION int read_batch(int fd) {
  char byte;
  return read(fd, &byte, 1) + 1 + never;
}
FUNCTION int spin(int number) {
  while (!never) {
  }
  return number + never;
}
FUNCTION double inner(double x, int rounds) {
  for (int i = 1; i < rounds; ++i) x = x * 0.999 + 1.0 / i;
  return x;
}
FUNCTION double step(double x) {
  for (int k = 0; k < 100; ++k) x += inner(x, 1000 + k) * 0.5;
  return x;
}
FUNCTION void multiply(void) {  /* No calls but of the clock. */
  static double a[200][200], b[200][200], c[200][200];
  for (time_t end = time(NULL) + SECONDS; time(NULL) < end;)
    for (int i = 0; i < 200; ++i)
      for (int j = 0; j < 200; ++j)
        for (int k = 0; k < 200; ++k) c[i][j] += a[i][k] * b[k][j] + 1e-9;
  sink = c[1][1];
}
int main(int argc, char** argv) {
  const char* how = argv[1];
  int rank = 2, fds[2];
  if (argc < 2 || pipe(fds) != 0) return 1;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  printf("begun, rank %d\n", rank);
  fflush(stdout);
  if (!strcmp(how, "computes"))
    for (time_t end = time(NULL) + SECONDS; time(NULL) < end;) sink = step(sink);
  if (!strcmp(how, "multiplies")) multiply();
  if (rank == 2 && !strcmp(how, "spins")) spin(rank);
  if (rank == 2 && !strcmp(how, "reads")) read_batch(fds[0]);
#ifdef WITH_MPI
  int value = 0;
  if (rank == 2 && !strcmp(how, "receives"))
    MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return 0;
}
"""


def compiled(folder: pathlib.Path, text: str, compiler: str, *flags: str) -> pathlib.Path:
    """The program `still` in `folder`; skips the test where there is no such compiler."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} (Debian: libopenmpi-dev for mpicc, gcc for cc)")
    folder.mkdir(exist_ok=True)
    source = folder / "still.c"
    source.write_text(text)
    subprocess.run([compiler, "-O2", *flags, "-o", folder / "still", source], check=True)
    return folder / "still"
