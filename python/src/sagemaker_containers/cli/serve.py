"""Serving: not supported."""

import sys


def main():
    """Exits with an error message."""
    sys.exit(
        "serve: muster supports training only; serving requires the original sagemaker_containers"
    )


if __name__ == "__main__":
    main()
