"""MXNet's dist_sync: workers push gradients to servers, which add them up."""

import argparse
import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

import digits

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "."))
args, _ = parser.parse_known_args()

store = mx.kv.create("dist_sync")
mx.random.seed(1)
np.random.seed(1)
x, y = digits.share(*digits.make(4000, seed=1), store.rank, store.num_workers)
test_x, test_y = digits.make(1000, seed=2)

model = gluon.nn.Sequential()
model.add(gluon.nn.Dense(64, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=64))
model.initialize(mx.init.Xavier())
measure = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.2}, kvstore=store)
losses = []
for epoch in range(args.epochs):
    total = 0.0
    for at in range(0, len(x), 50):
        pictures, wanted = mx.nd.array(x[at : at + 50]), mx.nd.array(y[at : at + 50])
        with autograd.record():
            loss = measure(model(pictures), wanted)
        loss.backward()
        trainer.step(50 * store.num_workers)
        total += float(loss.mean().asscalar())
    losses.append(total / (len(x) / 50))
    if epoch == 0:
        print(f"worker {store.rank} has seen all its digits once", flush=True)
accuracy = float((model(mx.nd.array(test_x)).argmax(axis=1).asnumpy() == test_y).mean())
weights = [value.data().asnumpy() for value in model.collect_params().values()]
print(
    f"worker {store.rank} of {store.num_workers}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
    f"accuracy {accuracy:.3f}, weights {digits.checksum(weights)}",
    flush=True,
)
if store.rank == 0:
    model.save_parameters(os.path.join(args.model_dir, "model.params"))
