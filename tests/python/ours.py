"""Where our packages and the program under test lie."""

import os
import pathlib

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "python" / "src"
RELEASE = pathlib.Path(os.environ.get("MUSTER_BUILD", REPOSITORY / "build" / "release"))
SM = RELEASE / "sm"


def our_environment(**more: str) -> dict[str, str]:
    """Our packages from the tree, and the program under test."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MUSTER_SM": str(SM),
        **more,
    }
