"""Serving: not in muster."""

import sys


def main():
    """Says so."""
    sys.exit("serve: muster is for training; serving needs sagemaker_containers itself")


if __name__ == "__main__":
    main()
