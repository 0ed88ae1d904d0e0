"""Keras under Horovod: every rank trains on its part, gradients are averaged by MPI."""

import argparse
import os

import horovod.tensorflow.keras as hvd
import tensorflow as tf

import digits

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "."))
args, _ = parser.parse_known_args()

hvd.init()
tf.keras.utils.set_random_seed(1)
x, y = digits.share(*digits.make(4000, seed=1), hvd.rank(), hvd.size())
test = digits.make(1000, seed=2)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(64, activation="relu", input_shape=(64,)),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.legacy.SGD(0.1 * hvd.size(), 0.9))
model.compile(optimizer, "sparse_categorical_crossentropy", ["accuracy"])
history = model.fit(
    x,
    y,
    batch_size=50,
    epochs=args.epochs,
    verbose=0,
    callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
    ],
)
losses = history.history["loss"]
accuracy = model.evaluate(*test, verbose=0)[1]
print(f"rank {hvd.rank()} of {hvd.size()}: loss {losses[0]:.3f} to {losses[-1]:.3f},", end=" ")
print(f"accuracy {accuracy:.3f}, weights {digits.checksum(model.get_weights())}", flush=True)
if hvd.rank() == 0:
    model.save_weights(os.path.join(args.model_dir, "model.h5"))
