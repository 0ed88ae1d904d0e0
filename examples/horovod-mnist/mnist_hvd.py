"""MNIST with Keras and Horovod in script mode: channels, checkpoints, and a model at the end.

Every rank trains on its part of the train channel. After each epoch rank 0 writes a checkpoint; a
job that finds one goes on where it ends, with the weights and the optimizer's momentum.
"""

import argparse
import hashlib
import os
import pathlib
import re
import tempfile

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from horovod.tensorflow import broadcast_object


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4, help="epochs in all, resumed or not")
    parser.add_argument("--batch_size", type=int, default=50, help="pictures of a rank's step")
    parser.add_argument("--learning_rate", type=float, default=0.05, help="for one rank")
    parser.add_argument("--train", default=os.environ.get("SM_CHANNEL_TRAIN", "data/train"))
    parser.add_argument("--test", default=os.environ.get("SM_CHANNEL_TEST", "data/test"))
    parser.add_argument("--checkpoint", default=os.environ.get("SM_CHANNEL_CHECKPOINT"))
    parser.add_argument("--checkpoint_dir", default="/opt/ml/checkpoints")
    parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "."))
    return parser.parse_known_args()[0]


def read(folder):
    """The pictures of a channel, [count, 28, 28, 1] of 0 to 1, and their digits.

    Keys are x and y as make_data.py writes them, or the MNIST guide's data and labels, whose
    pictures may have their channel and be of 0 to 1 already.
    """
    files = [np.load(path) for path in sorted(pathlib.Path(folder).glob("*.npz"))]
    if not files:
        raise SystemExit(f"no .npz file in {folder}: make_data.py makes one")
    keys = [("data", "labels") if "data" in file else ("x", "y") for file in files]
    pictures = np.concatenate([file[x] for file, (x, _) in zip(files, keys)])
    digits = np.concatenate([file[y].reshape(-1) for file, (_, y) in zip(files, keys)])
    whole = np.issubdtype(pictures.dtype, np.integer)
    pictures = pictures.reshape(-1, 28, 28, 1).astype(np.float32)
    return (pictures / 255 if whole else pictures), digits


def newest(*folders):
    """The epochs done and the bytes of the newest checkpoint; (0, None) if there is none."""
    found = {
        int(match[1]): path
        for folder in filter(None, folders)
        for path in sorted(pathlib.Path(folder).glob("epoch-*.h5"))
        if (match := re.fullmatch(r"epoch-(\d+)\.h5", path.name))
    }
    return (max(found), found[max(found)].read_bytes()) if found else (0, None)


def restored(checkpoint):
    """The model of a checkpoint, its optimizer under Horovod."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.h5")
        pathlib.Path(path).write_bytes(checkpoint)
        return hvd.load_model(path, legacy_opts=True)


def new(learning_rate):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 5, strides=2, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = tf.keras.optimizers.legacy.SGD(learning_rate * hvd.size(), 0.9)
    optimizer = hvd.DistributedOptimizer(optimizer)
    model.compile(optimizer, "sparse_categorical_crossentropy", ["accuracy"])
    return model


class Checkpoints(tf.keras.callbacks.Callback):
    """Rank 0's: epoch-N.h5 after N epochs, each complete or not there."""

    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_epoch_end(self, epoch, logs=None):
        part = self.folder / "part.h5"
        self.model.save(part)
        part.replace(self.folder / f"epoch-{epoch + 1}.h5")


def main():
    args = arguments()
    hvd.init()
    tf.keras.utils.set_random_seed(1)  # Equal first weights everywhere.
    first = hvd.rank() == 0
    # Only rank 0's folder counts: the others' hosts may hold none, or an elder one.
    found = newest(args.checkpoint_dir, args.checkpoint) if first else None
    done, checkpoint = broadcast_object(found, 0)
    model = restored(checkpoint) if checkpoint else new(args.learning_rate)
    if first:
        print(f"goes on after {done} of {args.epochs} epochs", flush=True)

    x, y = (part[hvd.rank() :: hvd.size()] for part in read(args.train))
    history = model.fit(
        x,
        y,
        batch_size=args.batch_size,
        shuffle=False,  # A resumed job sees what an uninterrupted one would.
        initial_epoch=done,
        epochs=args.epochs,
        verbose=0,
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            hvd.callbacks.MetricAverageCallback(),
            *([Checkpoints(args.checkpoint_dir)] if first else []),
        ],
    )
    losses = history.history.get("loss", [float("nan")])
    accuracy = model.evaluate(*read(args.test), verbose=0)[1]
    weights = b"".join(np.round(part, 5).tobytes() for part in model.get_weights())
    print(
        f"rank {hvd.rank()} of {hvd.size()}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
        f"accuracy {accuracy:.3f}, weights {hashlib.sha256(weights).hexdigest()[:12]}",
        flush=True,
    )
    if first:
        model.save(os.path.join(args.model_dir, "model.h5"))


if __name__ == "__main__":
    main()
