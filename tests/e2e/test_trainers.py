"""Scripts of accelerate, Lightning and transformers' Trainer, unchanged, under `sm torchrun`: two
hosts of two ranks over gloo, in the environment with torch that `make frameworks` builds."""

import os
import re
import signal

import pytest

from test_operators import entry_job
from test_stops import GRACE_SECONDS, LONG_SAVE_SECONDS, RANK, WELL
from test_torchrun import SECONDS, operator_job, real

pytestmark = pytest.mark.framework

# What each learns: the same sum of its inputs. FAILS is the rank whose batch is bad, if any.
TASK = """
import os, sys
import torch
torch.manual_seed(1)
torch.set_num_threads(1)
rank = int(os.environ["RANK"])
x = torch.randn(512, 8)
y = x @ torch.arange(8.0).unsqueeze(1)
class BatchError(Exception):
    pass
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.batches = 0
    def forward(self, x, labels):
        self.batches += 1
        if rank == FAILS and self.batches == 3:
            raise BatchError("bad batch")
        return {"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}
def loss_of(model):
    with torch.no_grad():
        return torch.nn.functional.mse_loss(model.layer(x), y).item()
def tell(who, size, first, model):
    weights = ",".join(f"{part.sum().item():.5f}" for part in model.parameters())
    print(f"rank {who} of {size}: loss {first:.3f} to {loss_of(model):.3f}, weights {weights}",
          flush=True)
data = torch.utils.data.TensorDataset(x, y)
model = Model()
first = loss_of(model)
"""
ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
learned, optimizer, batches = accelerator.prepare(model, optimizer, batches)
for epoch in range(8):
    for inputs, labels in batches:
        accelerator.backward(learned(inputs, labels)["loss"])
        optimizer.step()
        optimizer.zero_grad()
accelerator.wait_for_everyone()
tell(accelerator.process_index, accelerator.num_processes, first, accelerator.unwrap_model(learned))
accelerator.end_training()
"""
LIGHTNING = """
import pytorch_lightning
class Module(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = model
    def training_step(self, batch, number):
        return self.model(*batch)["loss"]
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)
trainer = pytorch_lightning.Trainer(
    accelerator="cpu", strategy="ddp", max_epochs=8, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
    devices=int(os.environ["LOCAL_WORLD_SIZE"]))
trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=16, shuffle=True))
tell(trainer.global_rank, trainer.world_size, first, model)
"""
TRAINER = """
from transformers import Trainer, TrainingArguments
arguments = TrainingArguments(
    "/tmp/trainer", use_cpu=True, ddp_backend="gloo", num_train_epochs=8, learning_rate=0.05,
    per_device_train_batch_size=16, optim="sgd", max_grad_norm=0.0, report_to=[],
    save_strategy="no", logging_strategy="no", disable_tqdm=True)
rows = [{"x": inputs, "labels": labels} for inputs, labels in data]
trainer = Trainer(model=model, args=arguments, train_dataset=rows)
trainer.train()
tell(arguments.process_index, arguments.world_size, first, model)
"""
SCRIPTS = {"accelerate": ACCELERATE, "lightning": LIGHTNING, "trainer": TRAINER}
RESULT = re.compile(r"rank (\d) of 4: loss ([\d.]+) to ([\d.]+), weights (.*)")


def started(training, name: str, fails: int = -1):
    script = TASK.replace("FAILS", str(fails)) + SCRIPTS[name]
    return real(operator_job(training, "train.py", script)).start()


@pytest.mark.parametrize("name", SCRIPTS)
def test_four_ranks_on_two_hosts_learn_the_same(training, name):
    job = started(training, name).succeed(SECONDS)
    lines = job.rank_lines()
    weights = set()
    for rank in range(4):
        found = [match for line in lines[rank] if (match := RESULT.match(line))]
        assert len(found) == 1, job.story()
        who, before, after, learned = found[0].groups()
        assert int(who) == rank and float(after) < float(before) / 10, job.story()
        weights.add(learned)
    assert len(weights) == 1, job.story()
    job.assert_quiet()


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_rank_whose_batch_is_bad_is_the_cause(training, name):
    job = started(training, name, fails=3)
    assert set(job.wait(SECONDS).values()) == {1}, job.story()
    for host in job.trains:
        failure = job.failure(host)
        assert "rank 3 on algo-2: exit code 1: " in failure, job.story()
        assert "BatchError: bad batch" in failure, job.story()
    job.assert_quiet()


# As docs/users/coming-from.md has it.
LAUNCH = r"""
set -- $(python3 -c '
import json, os
hosts = json.loads(os.environ["SM_HOSTS"])
print(len(hosts), hosts.index(os.environ["SM_CURRENT_HOST"]), hosts[0])')
exec accelerate launch --multi_gpu --num_machines "$1" --machine_rank "$2" --main_process_ip "$3" \
  --main_process_port 29500 --num_processes $(($1 * 2)) --mixed_precision no --dynamo_backend no \
  train.py
"""
MEETS = "from accelerate import Accelerator\nAccelerator(cpu=True).wait_for_everyone()\n"


def test_a_stop_of_accelerate_launch_gives_every_rank_its_grace(training):
    """Longer than accelerate gives its ranks once it has got the signal itself."""
    saves = RANK.replace("SECONDS", str(LONG_SAVE_SECONDS)).replace("ENDS", WELL)
    job = real(entry_job(training, 2, LAUNCH, MEETS + saves))
    job.start(env={"MUSTER_STOP_DEADLINE": str(GRACE_SECONDS)})
    for rank in range(4):
        job[f"algo-{rank // 2 + 1}"].wait_for_output(b"ready %d." % rank, SECONDS)
    os.kill(job.train_pid("algo-1"), signal.SIGTERM)
    job.wait(SECONDS)
    saved = {path.name for host in job.hosts for path in (host.base / "model").iterdir()}
    assert saved == {f"saved-{rank}" for rank in range(4)}, job.story()
    job.assert_quiet()
