"""PyTorch's DistributedDataParallel over gloo."""

import argparse
import os
import sys

import torch
import torch.distributed as dist

import digits

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--model-dir", default=os.environ.get("SM_MODEL_DIR", "."))
args, _ = parser.parse_known_args()

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
torch.set_num_threads(1)
x, y = (torch.from_numpy(part) for part in digits.share(*digits.make(4000, seed=1), rank, size))
test_x, test_y = (torch.from_numpy(part) for part in digits.make(1000, seed=2))

layers = [torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * size, momentum=0.9)
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
    losses.append(total / (len(x) / 50))
    if epoch == 0:
        sys.stdout.write(f"worker {rank} has seen all its digits once\n")
        sys.stdout.flush()
accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
weights = [part.detach().numpy() for part in model.parameters()]
# One write: the ranks of a torchrun agent share its pipe, and print() may write its newline apart.
sys.stdout.write(
    f"rank {rank} of {size}: loss {losses[0]:.3f} to {losses[-1]:.3f}, "
    f"accuracy {accuracy:.3f}, weights {digits.checksum(weights)}\n"
)
sys.stdout.flush()
if rank == 0:
    torch.save(model.module.state_dict(), os.path.join(args.model_dir, "model.pt"))
dist.barrier()
