"""What src/server knows of AWS's APIs is what the pinned botocore says of them."""

import subprocess
import sys

import pytest

from ours import REPOSITORY


@pytest.mark.parametrize("tool", ["service_model.py", "api_vectors.py"])
def test_the_committed_tables_are_what_botocore_publishes(tool):
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / tool), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
