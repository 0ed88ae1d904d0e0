"""make_data.py FOLDER: pictures of digits in MNIST's shape, as two channels of a job.

Writes FOLDER/train/train.npz and FOLDER/test/test.npz, each with `x` (uint8, [count, 28, 28]) and
`y` (uint8, [count]). Needs numpy only; the same command gives the same pictures.
"""

import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "digits"))
from digits import templates  # noqa: E402


def draw(count, seed):
    """`count` digits, each three times the font's size, somewhere in the picture, with noise."""
    random = np.random.RandomState(seed)
    font = templates().repeat(3, axis=1).repeat(3, axis=2)
    digits = random.randint(0, 10, count).astype(np.uint8)
    pictures = random.normal(40, 30, (count, 28, 28))
    for picture, digit in zip(pictures, digits):
        down, right = random.randint(0, 8), random.randint(0, 14)
        picture[down : down + 21, right : right + 15] += 170 * font[digit]
    return pictures.clip(0, 255).astype(np.uint8), digits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=4000, help="how many to learn from")
    parser.add_argument("--test", type=int, default=1000, help="how many to test with")
    args = parser.parse_args()
    for channel, count, seed in (("train", args.train, 1), ("test", args.test, 2)):
        (args.folder / channel).mkdir(parents=True, exist_ok=True)
        pictures, digits = draw(count, seed)
        np.savez_compressed(args.folder / channel / f"{channel}.npz", x=pictures, y=digits)


if __name__ == "__main__":
    main()
