"""The lab's training: TensorFlow's own loop with Horovod's gradient tape, one process a rank.

Reads the channels `train` and `test` (.npz files with x and y, as horovod-mnist/make_data.py makes
them) and writes `model.h5`. Under plain Python it is a job of one rank.
"""

import argparse
import hashlib
import os
import pathlib

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def read(channel):
    file = np.load(next(pathlib.Path(os.environ[f"SM_CHANNEL_{channel}"]).glob("*.npz")))
    return file["x"].reshape(-1, 784).astype(np.float32) / 255, file["y"].astype(np.int32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--learning_rate", type=float, default=0.003)
    args, _ = parser.parse_known_args()

    hvd.init()
    tf.keras.utils.set_random_seed(1)
    rank, size = hvd.rank(), hvd.size()
    x, y = (part[rank::size] for part in read("TRAIN"))
    test_x, test_y = read("TEST")
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(64, activation="relu", input_shape=(784,)),
            tf.keras.layers.Dense(10),
        ]
    )
    optimizer = tf.keras.optimizers.legacy.Adam(args.learning_rate)
    measure = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    hvd.broadcast_variables(model.variables, root_rank=0)

    @tf.function
    def step(pictures, wanted):
        with tf.GradientTape() as tape:
            loss = measure(wanted, model(pictures))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    losses = []
    for epoch in range(args.epochs):
        steps = [step(x[at : at + 50], y[at : at + 50]) for at in range(0, len(x), 50)]
        losses.append(float(hvd.allreduce(tf.reduce_mean(steps), name=f"loss.{epoch}")))
    accuracy = float(np.mean(np.argmax(model(test_x), 1) == test_y))
    weights = b"".join(np.round(part, 5).tobytes() for part in model.get_weights())
    print(
        f"rank {rank} of {size}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
        f"accuracy {accuracy:.3f}, weights {hashlib.sha256(weights).hexdigest()[:12]}",
        flush=True,
    )
    if rank == 0:
        model.save_weights(os.path.join(os.environ["SM_MODEL_DIR"], "model.h5"))


if __name__ == "__main__":
    main()
