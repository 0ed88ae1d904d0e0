"""TensorFlow 1's parameter servers: the trainer gets its cluster by flags."""

import argparse
import os

import numpy as np
import tensorflow

import digits

tf = tensorflow.compat.v1
tf.disable_eager_execution()

parser = argparse.ArgumentParser()
parser.add_argument("--ps_hosts")
parser.add_argument("--worker_hosts")
parser.add_argument("--job_name")
parser.add_argument("--task_index", type=int)
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "."))
args, _ = parser.parse_known_args()

workers = args.worker_hosts.split(",")
cluster = tf.train.ClusterSpec({"ps": args.ps_hosts.split(","), "worker": workers})
server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index)
if args.job_name == "ps":
    server.join()

x, y = digits.share(*digits.make(4000, seed=1), args.task_index, len(workers))
test_x, test_y = digits.make(1000, seed=2)
own = f"/job:worker/task:{args.task_index}"
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=own)):
    pictures, wanted = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int32, [None])
    hidden = tf.layers.dense(pictures, 64, tf.nn.relu)
    scores = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(wanted, scores)
    right = tf.equal(tf.argmax(scores, 1, output_type=tf.int32), wanted)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)

random = np.random.RandomState(args.task_index)
losses = []
chief = args.task_index == 0
# Not MonitoredTrainingSession: its workers look for the chief's variables every 30 s only.
supervisor = tf.train.Supervisor(
    is_chief=chief,
    logdir=args.model_dir if chief else None,
    global_step=step,
    summary_op=None,
    save_model_secs=0,
    recovery_wait_secs=1,
)
# Without the filters a worker that comes late waits for one that has ended already.
config = tf.ConfigProto(device_filters=["/job:ps", own])
with supervisor.managed_session(server.target, config) as session:
    for done in range(args.steps):
        batch = random.randint(0, len(x), 50)
        feed = {pictures: x[batch], wanted: y[batch]}
        losses.append(session.run([loss, train], feed)[0])
        if done * 50 == len(x):
            print(f"worker {args.task_index} has seen all its digits once", flush=True)
    measured = session.run(accuracy, {pictures: test_x, wanted: test_y})
    if chief:
        supervisor.saver.save(session, supervisor.save_path, global_step=step)
print(
    f"worker {args.task_index} of {len(workers)}: loss {np.mean(losses[:20]):.3f} to "
    f"{np.mean(losses[-20:]):.3f}, accuracy {measured:.3f}",
    flush=True,
)
