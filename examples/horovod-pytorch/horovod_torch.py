"""PyTorch under Horovod: every rank trains on its part, gradients are averaged by MPI."""

import argparse
import os
import sys

import horovod.torch as hvd
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits"))
import digits  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "."))
args, _ = parser.parse_known_args()

hvd.init()
rank, size = hvd.rank(), hvd.size()
torch.manual_seed(1)
torch.set_num_threads(1)
x, y = (torch.from_numpy(part) for part in digits.share(*digits.make(4000, seed=1), rank, size))
test_x, test_y = (torch.from_numpy(part) for part in digits.make(1000, seed=2))

layers = [torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * size, momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
measure = torch.nn.CrossEntropyLoss()
losses = []
for epoch in range(args.epochs):
    total = 0.0
    for at in range(0, len(x), 50):
        optimizer.zero_grad()
        loss = measure(model(x[at : at + 50]), y[at : at + 50].long())
        loss.backward()
        optimizer.step()
        total += loss.item()
    mean = torch.tensor(total / (len(x) / 50))
    losses.append(hvd.allreduce(mean, name="loss").item())
accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
weights = [part.detach().numpy() for part in model.parameters()]
print(
    f"rank {rank} of {size}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
    f"accuracy {accuracy:.3f}, weights {digits.checksum(weights)}",
    flush=True,
)
if rank == 0:
    torch.save(model.state_dict(), os.path.join(args.model_dir, "model.pt"))
