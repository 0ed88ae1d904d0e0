"""TensorFlow 2's ParameterServerStrategy: a chief hands steps to workers, servers hold weights."""

import json
import os

import tensorflow as tf

import digits

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    # Neither ends by itself: muster ends them when the chief is done.
    tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        start=True,
    ).join()

measure = tf.keras.losses.sparse_categorical_crossentropy
workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
tf.keras.utils.set_random_seed(1)
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
    )
    model.build((None, 64))
    optimizer = tf.keras.optimizers.legacy.SGD(0.1)


def batches():
    data = tf.data.Dataset.from_tensor_slices(digits.make(4000, seed=1))
    return data.shuffle(4000, seed=1).repeat().batch(50)


@tf.function
def step(iterator):
    def replica(batch):
        pictures, wanted = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(measure(wanted, model(pictures), from_logits=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    losses = strategy.run(replica, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


iterator = iter(coordinator.create_per_worker_dataset(batches))
losses = []
for _ in range(10):
    scheduled = [coordinator.schedule(step, args=(iterator,)) for _ in range(80)]
    coordinator.join()
    losses.append(sum(one.fetch() for one in scheduled) / len(scheduled))
test_x, test_y = digits.make(1000, seed=2)
right = tf.argmax(model(test_x), 1, output_type=tf.int32) == test_y
accuracy = float(tf.reduce_mean(tf.cast(right, tf.float32)))
print(
    f"worker 0 of 1: loss {losses[0]:.3f} to {losses[-1]:.3f}, accuracy {accuracy:.3f} "
    f"(a chief and its {workers} workers)",
    flush=True,
)
model.save_weights(os.path.join(os.environ.get("SM_MODEL_DIR", "."), "model.h5"))
