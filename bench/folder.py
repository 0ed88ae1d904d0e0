"""Where a benchmark works."""

import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

BENCH = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench"


@contextlib.contextmanager
def own_folder() -> Iterator[pathlib.Path]:
    """A new folder in build/bench, which goes at the end."""
    BENCH.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(dir=BENCH))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
