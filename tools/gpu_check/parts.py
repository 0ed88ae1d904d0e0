"""The parts of gpu-check: each returns what it found in a line, or raises Skipped or Failed."""

import json
import os
import pathlib
import re
import stat
import statistics
import time

from .run import HERE, MIB, Bench, Failed, Skipped

DEVICES = """
import os, re
cards = [name for name in os.listdir("/dev") if re.fullmatch(r"nvidia[0-9]+", name)]
assert len(cards) == 1, f"one card was asked for, /dev has {cards}"
os.close(os.open(f"/dev/{cards[0]}", os.O_RDWR))
os.close(os.open("/dev/nvidiactl", os.O_RDWR))
assert os.environ["SM_NUM_GPUS"] == "1", os.environ["SM_NUM_GPUS"]
print("passed:", *cards)
"""
NVIDIA_SMI = """
import subprocess
listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True)
assert listed.stdout.count("GPU ") == 1, "one GPU was asked for\\n" + listed.stdout
print("passed:", listed.stdout.split("(")[0].strip())
"""
TORCH = """
import torch
assert torch.cuda.is_available() and torch.cuda.device_count() == 1, torch.cuda.device_count()
one = torch.ones(1000, 1000, device="cuda:0")
assert (one @ one).sum().item() == 1000.0**3
print("passed:", torch.__version__, "on", torch.cuda.get_device_name(0))
"""
COMPILE = """
import torch
def twice(x):
    return torch.sin(x) * 2 + torch.cos(x)
x = torch.randn(4096, device="cuda")
assert torch.allclose(torch.compile(twice)(x), twice(x), atol=1e-5)
print("passed:", "torch.compile")
"""
NCCL = """
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(0)
size = dist.get_world_size()
numbers = torch.full((1 << 20,), float(dist.get_rank() + 1), device="cuda")
dist.all_reduce(numbers)
assert (numbers == size * (size + 1) / 2).all().item()
dist.destroy_process_group()
print("passed: an all-reduce of", size, "rank" if size == 1 else "ranks")
"""
RAS = """
import select, torch
import torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group("nccl")
dist.all_reduce(torch.ones(1, device="cuda"))  # With it the communicator is there, and its service.
torch.cuda.synchronize()
print("waits", flush=True)
select.select([], [], [])
"""
HANG = """
import datetime, torch
import torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=5))
dist.all_reduce(torch.ones(1, device="cuda"))
torch.cuda.synchronize()
torch.cuda._sleep(200_000_000_000)  # Clock cycles: longer than this part.
dist.all_reduce(torch.ones(1, device="cuda"))
torch.cuda.synchronize()
"""
COST_SECONDS = 10
COST_PERCENT_MAX = 1.0
START_RUNS = 3
START_SLOWER_SECONDS = 2.0


def passed(program, count: int = 1) -> str:
    """What a job says that must say it once on each of its hosts."""
    found = re.findall(r"passed:?([^\n]*)", program.end())
    if len(found) != count:
        raise Failed(f"{len(found)} hosts of {count} passed\n{program.text}")
    return found[0].strip()


def devices(bench: Bench) -> str:
    if bench.standins:
        raise Skipped("stand-ins have no /dev/nvidia0")
    return passed(bench.fit(bench.script("devices", DEVICES), "--python", bench.python))


def nvidia_smi(bench: Bench) -> str:
    bench.needs("nvidia-smi")
    return passed(bench.fit(bench.script("smi", NVIDIA_SMI), "--python", bench.python))


def cuda(bench: Bench) -> str:
    text = bench.cuda("name").end()
    found = re.search(r"card (.*), 1 visible", text)
    if not found:
        raise Failed(f"one card was asked for\n{text}")
    return found[1]


def torch(bench: Bench) -> str:
    bench.needs_torch()
    return passed(bench.fit(bench.script("torch_cuda", TORCH), "--python", bench.python))


def compiled(bench: Bench) -> str:
    bench.needs_torch(", triton")
    return passed(bench.fit(bench.script("compiled", COMPILE), "--python", bench.python))


def nccl(bench: Bench) -> str:
    bench.needs_torch()
    hosts = min(2, len(bench.cards()))
    words = ("--python", bench.python, "--torchrun", "--hosts", hosts)
    return passed(bench.fit(bench.script("nccl", NCCL), *words), hosts)


def image_file(bench: Bench) -> pathlib.Path:
    return pathlib.Path(bench.standins or HERE) / "image.tar"


def of_image(bench: Bench, **env: str) -> str:
    file = image_file(bench)
    if not file.exists():
        raise Skipped(f"no {file.name}: make gpu-check builds it")
    bench.run("sm", "image", "import", f"docker-archive:{file}", "--name", "gpu-check:v1")
    words = ["--image", "gpu-check:v1", "--gpus", 1, "--output", bench.folder / "out"]
    if bench.standins:  # The driver's library, which muster would bring.
        words += ["--bind", f"{bench.standins}:{bench.standins}:rw",
                  "--env", f"LD_LIBRARY_PATH={bench.standins}"]  # fmt: skip
    passed(bench.start("sm", "fit", *words, **env))
    return "a program that opens libcuda.so.1, in an image without CUDA"


def image(bench: Bench) -> str:
    return of_image(bench)


def cdi(bench: Bench) -> str:
    """By a file like those of nvidia-ctk, without libraries: muster finds these."""
    names = sorted(each.name for each in pathlib.Path("/dev").glob("nvidia*") if is_device(each))
    cards = [name for name in names if re.fullmatch(r"nvidia\d+", name)]
    if not cards:
        raise Skipped("no /dev/nvidia0")
    spec = {
        "cdiVersion": "0.6.0",
        "kind": "nvidia.com/gpu",
        "containerEdits": {"deviceNodes": [node(each) for each in sorted({*names} - {*cards})]},
        "devices": [{"name": each.removeprefix("nvidia"),
                     "containerEdits": {"deviceNodes": [node(each)]}} for each in cards],
    }  # fmt: skip
    folder = bench.folder / "cdi"
    folder.mkdir(mode=0o755)
    (folder / "nvidia.json").write_text(json.dumps(spec))
    env = {"MUSTER_CDI_FOLDERS": str(folder)}
    said = passed(bench.fit(bench.script("cdi", DEVICES), "--python", bench.python, **env))
    if image_file(bench).exists():
        of_image(bench, **env)
    return f"{said} by {len(names)} device nodes of a CDI file"


def node(name: str) -> dict[str, str]:
    return {"path": f"/dev/{name}"}


def is_device(path: pathlib.Path) -> bool:
    return stat.S_ISCHR(path.stat().st_mode)


def exclusive(bench: Bench) -> str:
    cards = len(bench.cards())
    job = bench.cuda("hold", "-p", "mib=64", name=f"gpu-check-holder-{os.getpid()}", gpus=cards)
    job.read("holds")
    text = bench.cuda("name").end(3)
    if "gpu-check-holder" not in text:
        raise Failed(f"the second job's error names no holder\n{text}")
    return f"a second job is rejected and names the holder of {cards} GPUs"


def figures(bench: Bench) -> str:
    """`sm top` beside `nvidia-smi -l 1`, while a job keeps the card busy."""
    name = f"gpu-check-busy-{os.getpid()}"
    job = bench.cuda("busy", "-p", "mib=2048", name=name)
    job.read("holds")
    beside = bench.start("nvidia-smi", "--query-gpu=index,utilization.gpu,memory.used",
                         "--format=csv,noheader,nounits", "-l", "1")  # fmt: skip
    bench.wait(3)
    told = json.loads(bench.run("sm", "top", name, "--json"))
    [gpu] = told["jobs"][0]["hosts"][0]["gpus"]
    rows = [list(map(int, line.split(",")))
            for line in read_now(beside).splitlines() if line.count(",") == 2]  # fmt: skip
    own = [row for row in rows if row[0] == gpu["gpu"]]
    if not own or gpu["memory_bytes"] is None:
        raise Failed(f"no figures: {gpu}\n{rows}")
    used = gpu["memory_bytes"] // MIB
    if abs(used - own[-1][2]) > 64 or gpu["utilization_percent"] < max(row[1] for row in own) - 30:
        raise Failed(f"sm top says {gpu}, nvidia-smi -l 1 says {own}")
    return f"{gpu['utilization_percent']}%, {used} MiB; nvidia-smi: {own[-1][1]}%, {own[-1][2]} MiB"


def read_now(program) -> str:
    """What has come so far, of a program that does not end."""
    piece = program.process.stdout.read()
    program.text += (piece or b"").decode(errors="replace")
    return program.text


def xid(bench: Bench) -> str:
    """As a rank of torchrun, where PyTorch is there."""
    bench.needs_standin("kmsg", "stand-ins write nothing into the kernel's log")
    if not os.access("/dev/kmsg", os.R_OK):
        raise Skipped("/dev/kmsg cannot be read")
    is_rank = bench.has_torch()
    text = bench.cuda("wild", *(["--torchrun"] if is_rank else [])).end(1)
    found = re.search(r"failed:[^\n]*Xid 31[^\n]*", text)
    if not found:
        raise Failed(f"the verdict does not name Xid 31\n{text}")
    if is_rank and "rank 0" not in found[0]:
        raise Failed(f"the verdict does not name the rank\n{text}")
    return found[0].removeprefix("failed:").strip()


def memory(bench: Bench) -> str:
    """Another process holds two thirds of the card."""
    bench.needs_standin("driver", "the stand-in of the driver does not know processes")
    before = bench.cards()[0]
    holder = bench.bare("hold", "--mib", before["total"] * 2 // 3)
    holder.read("holds")
    text = bench.cuda("fill", "-p", "wait=7").end(1)
    found = re.search(r"memory of GPU \d+[^\n]*", text)
    if "out of memory" not in text or not found:
        raise Failed(f"the verdict names no holder\n{text}")
    return found[0]


def processes(bench: Bench) -> str:
    """What listing the processes on cards costs, as muster does it while a host with GPUs runs."""
    tool = bench.start("nvidia-smi", "--query-compute-apps=gpu_bus_id,pid,used_gpu_memory",
                       "--format=csv,noheader,nounits", "--loop=5")  # fmt: skip
    holder = bench.cuda("hold", "-p", "mib=64")
    holder.read("holds")
    bench.wait(6)  # A list, at least: its start is not counted.
    before = processor_seconds(tool.process.pid)
    bench.wait(COST_SECONDS)
    percent = 100 * (processor_seconds(tool.process.pid) - before) / COST_SECONDS
    if tool.process.poll() is not None:
        raise Failed(f"nvidia-smi ended\n{tool.read()}")
    if percent > COST_PERCENT_MAX:
        raise Failed(f"{percent:.2f} % of a processor, expected at most {COST_PERCENT_MAX} %")
    return f"a list of processes each 5 s costs {percent:.2f} % of a processor"


def processor_seconds(pid: int) -> float:
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def health(bench: Bench) -> str:
    """`sm doctor` on the card: another part of this run may have caused an Xid."""
    bench.needs_standin("health", "the stand-in of the driver does not know its card's health")
    checks = json.loads(bench.run("sm", "doctor", "--json"))["checks"]
    said = {each["what"]: each for each in checks}
    if "gpu health" not in said or not said["gpu health"]["good"]:
        raise Failed(f"sm doctor does not call the card healthy: {said.get('gpu health')}")
    return "sm doctor: healthy" + "".join(f"; {each['found']}" for what, each in said.items()
                                          if what == "gpu health" and each["found"])  # fmt: skip


def ras(bench: Bench) -> str:
    bench.needs_torch()
    name = f"gpu-check-ras-{os.getpid()}"
    job = bench.fit(bench.script("ras", RAS), "--python", bench.python, "--torchrun", name=name)
    job.read("waits")
    [host] = json.loads(bench.run("sm", "stacks", name, "--json"))["hosts"]
    told = host.get("nccl", {}).get("collectives")
    if told != "none":
        raise Failed(f"NCCL's service says {told!r}, expected 'none'\n{host}")
    return "NCCL's diagnostic service answers: no collective operation was started"


def hang(bench: Bench) -> str:
    """PyTorch writes its recordings when the operation times out, before the verdict."""
    bench.needs_torch()
    bench.needs("py-spy")
    name = f"gpu-check-hang-{os.getpid()}"
    words = ("--python", bench.python, "--torchrun", "--hang-after", "10")
    job = bench.fit(bench.script("hang", HANG), *words, name=name)
    job.read("in a collective operation")
    [verdict] = re.findall(r"rank 0 waits for the GPU[^\n]*", job.text)[:1]
    text = bench.run("sm", "stacks", name)
    found = re.search(r"Flight Recorder: [^\n]*", text)
    if not found:
        raise Failed(f"no recording of PyTorch\n{text}")
    return f"{verdict}; {found[0]}"


def stacks(bench: Bench) -> str:
    name = f"gpu-check-spin-{os.getpid()}"
    job = bench.cuda("spin", name=name)
    job.read("launches")
    bench.wait(1)
    text = bench.run("sm", "stacks", name, "--native")
    if "cuCtxSynchronize" not in text:
        raise Failed(f"no cuCtxSynchronize in the stacks\n{text}")
    return "down to cuCtxSynchronize in libcuda"


def stop(bench: Bench) -> str:
    before = sum(card["used"] for card in bench.cards())
    name = f"gpu-check-stop-{os.getpid()}"
    job = bench.cuda("spin", name=name)
    job.read("launches")
    start = time.monotonic()
    bench.run("sm", "stop", "--wait", name)
    took = time.monotonic() - start
    free = bench.free_again(before, 5)
    return f"a kernel without end is stopped in {took:.1f} s, the card free {free:.1f} s later"


def kill(bench: Bench) -> str:
    before = sum(card["used"] for card in bench.cards())
    job = bench.cuda("hold", "-p", "mib=4096")
    job.read("holds")
    held = sum(card["used"] for card in bench.cards())
    job.process.kill()
    free = bench.free_again(before, 5)
    bench.run("sm", "clean")
    return f"{held - before} MiB are free {free:.1f} s after kill -9 of sm fit"


def start(bench: Bench) -> str:
    """From the command to its exit, in turns."""
    bare, jobs = [], []
    for _ in range(START_RUNS):
        for times, run in ((bare, bench.bare), (jobs, bench.cuda)):
            begun = time.monotonic()
            run("name").end()
            times.append(time.monotonic() - begun)
    without, within = statistics.median(bare), statistics.median(jobs)
    if within > without + START_SLOWER_SECONDS:
        raise Failed(f"a job takes {within:.1f} s, without muster {without:.1f} s")
    return f"{within:.2f} s, without muster {without:.2f} s: {within / without:.2f} times"


# (name, limit in seconds, what it tries, function)
PARTS = [
    ("devices", 15, "device files of one card, and no other", devices),
    ("nvidia-smi", 15, "the driver's tool in a host", nvidia_smi),
    ("cuda", 15, "the driver's library in a host, without PyTorch", cuda),
    ("torch", 40, "a product of matrices by PyTorch", torch),
    ("nccl", 40, "an all-reduce by NCCL, over two hosts if there are two cards", nccl),
    ("compile", 60, "torch.compile with Triton", compiled),
    ("image", 30, "a program in an image without CUDA", image),
    ("cdi", 30, "the same by a CDI file", cdi),
    ("exclusive", 20, "a second job does not get the card", exclusive),
    ("figures", 25, "sm top beside nvidia-smi -l 1", figures),
    ("xid", 20, "the verdict of an illegal access names Xid 31", xid),
    ("memory", 45, "the verdict of a full card names who holds it", memory),
    ("processes", 30, "what the list of processes on cards costs", processes),
    ("health", 20, "sm doctor calls the card healthy", health),
    ("ras", 40, "NCCL's diagnostic service answers sm stacks", ras),
    ("hang", 75, "the verdict of a hang, and PyTorch's Flight Recorder", hang),
    ("stacks", 30, "the stacks of a kernel without end", stacks),
    ("stop", 25, "the card is free after a stop", stop),
    ("kill", 25, "the card is free after kill -9 of sm fit", kill),
    ("start", 60, "how long a job takes from start to end, and without muster", start),
]
