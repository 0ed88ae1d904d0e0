"""Keras under MultiWorkerMirroredStrategy: every worker holds the model, gradients are averaged."""

import json
import os

import tensorflow as tf

import digits

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
size = strategy.num_replicas_in_sync
tf.keras.utils.set_random_seed(1)
# One order everywhere: each worker takes its part of every batch of 100.
data = tf.data.Dataset.from_tensor_slices(digits.make(4000, seed=1)).batch(100)
test = tf.data.Dataset.from_tensor_slices(digits.make(1000, seed=2)).batch(100)

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(64, activation="relu", input_shape=(64,)),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        tf.keras.optimizers.SGD(0.1, 0.9), "sparse_categorical_crossentropy", ["accuracy"]
    )
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
losses = model.fit(data.with_options(options), epochs=8, verbose=0).history["loss"]
accuracy = model.evaluate(test.with_options(options), verbose=0)[1]
print(
    f"worker {task} of {size}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
    f"accuracy {accuracy:.3f}, weights {digits.checksum(model.get_weights())}",
    flush=True,
)
if task == 0:
    model.save_weights(os.path.join(os.environ.get("SM_MODEL_DIR", "."), "model.h5"))
