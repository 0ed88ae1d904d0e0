"""weights.py A B: the largest difference between the numbers of two model files of one shape.

Runs in the environment of the framework that wrote them. Ends with 1 if they are not close.
"""

import sys

import numpy as np


def arrays(path):
    """Every array of numbers in a .h5, .pt or .params file, by name."""
    if path.endswith(".pt"):
        import torch

        return {name: value.numpy() for name, value in torch.load(path).items()}
    if path.endswith(".params"):
        import mxnet

        return {name: value.asnumpy() for name, value in mxnet.nd.load(path).items()}
    import h5py

    found = {}
    with h5py.File(path) as file:
        model = file.get("model_weights", file)  # The optimizer's are beside them.
        model.visititems(
            lambda name, item: found.update({name: item[()]}) if hasattr(item, "dtype") else None
        )
    return found


def main():
    one, two = (arrays(path) for path in sys.argv[1:])
    assert one and one.keys() == two.keys(), (sorted(one), sorted(two))
    pairs = [(one[name], two[name]) for name in one]
    assert all(a.shape == b.shape for a, b in pairs)
    largest = max(float(np.abs(a.astype(float) - b.astype(float)).max()) for a, b in pairs)
    print(f"{len(pairs)} arrays, largest difference {largest:.2e}")
    sys.exit(not all(np.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in pairs))


if __name__ == "__main__":
    main()
