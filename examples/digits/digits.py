"""Pictures of digits, 8 x 8, drawn with noise: enough to see a network learn in seconds.

The same seed gives the same pictures on every host.
"""

import hashlib

import numpy as np

FONT = """
.###.|..#..|.###.|.###.|...#.|#####|.###.|#####|.###.|.###.
#...#|.##..|#...#|#...#|..##.|#....|#....|....#|#...#|#...#
#..##|..#..|....#|....#|.#.#.|####.|#....|...#.|#...#|#...#
#.#.#|..#..|...#.|..##.|#..#.|....#|####.|..#..|.###.|.####
##..#|..#..|..#..|....#|#####|....#|#...#|..#..|#...#|....#
#...#|..#..|.#...|#...#|...#.|#...#|#...#|..#..|#...#|....#
.###.|.###.|#####|.###.|...#.|.###.|.###.|..#..|.###.|.###.
"""


def templates():
    """The ten digits as [10, 7, 5] of 0 and 1."""
    rows = [line.split("|") for line in FONT.strip().splitlines()]
    drawn = [[[char == "#" for char in row[digit]] for row in rows] for digit in range(10)]
    return np.array(drawn, dtype=np.float32)


def make(count, seed):
    """`count` pictures [count, 64] of float32 around 0 to 1, and their digits [count] of int32."""
    random = np.random.RandomState(seed)
    digits = random.randint(0, 10, count).astype(np.int32)
    pictures = np.zeros((count, 8, 8), dtype=np.float32)
    font = templates()
    for picture, digit in zip(pictures, digits):
        down, right = random.randint(0, 2), random.randint(0, 4)
        picture[down : down + 7, right : right + 5] = font[digit]
    pictures += random.normal(0, 0.2, pictures.shape).astype(np.float32)
    return pictures.reshape(count, 64), digits


def share(pictures, digits, rank, size):
    """The part of one of `size` workers."""
    return pictures[rank::size], digits[rank::size]


def checksum(arrays):
    """A short text that differs where weights differ (beyond the fifth digit)."""
    joined = b"".join(np.round(np.asarray(array), 5).astype("<f4").tobytes() for array in arrays)
    return hashlib.sha256(joined).hexdigest()[:12]
