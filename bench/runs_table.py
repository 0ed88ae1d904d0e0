"""The page's table of runs in figures: the first start with jobs of an earlier muster, and calls.

    bench/runs_table.py [--jobs N] [--repeat N]

One job is run; what the store holds of it is copied into as many jobs as asked for, each with 20
hyperparameters and 10 metrics, in tables as muster 0.1 left them. The server starts and adds them
to its tables of runs. Then every column is sorted by, in both directions, with pairs of filters:
the first page, and one behind it. Client and server share the machine; times are the client's,
medians of `--repeat` calls.
"""

import argparse
import http.client
import json
import pathlib
import random
import sqlite3
import sys
import time
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "e2e")]

import sm_server  # noqa: E402
from folder import own_folder  # noqa: E402
from history import figures_of, record  # noqa: E402
from server import cpu_of  # noqa: E402
from sm_server import SmServer  # noqa: E402
from test_server_jobs import BUCKET, Job  # noqa: E402

SCRIPT = "print('loss: 1', flush=True)"
MINUTES = 3  # The length of each metric's series.
METRICS = ["loss", "acc", *(f"m{i}" for i in range(8))]
OTHERS = [f"p{i:02}" for i in range(16)]
# As store_schema.cc's version 16 had them.
AS_BEFORE = """
DROP TABLE run_names; DROP TABLE run_values; DROP TABLE run_metrics;
DROP INDEX jobs_arn; DROP INDEX jobs_times; PRAGMA user_version=16;
"""
SORTS = ["name", "created", "duration", "status", "hp:lr", "hp:optimizer", "hp:seed", "hp:p00",
         "tag:team", "last:loss", "least:loss", "most:acc"]  # fmt: skip
COLUMNS = ["hp:lr", "hp:optimizer", "hp:seed", "hp:p00", "tag:team", "last:loss", "least:loss",
           "most:acc", "last:m0", "last:m1"]  # fmt: skip


def where(column: str, operator: str, value=None) -> dict:
    return {"column": column, "is": operator, **({} if value is None else {"value": value})}


FILTERS = {
    "status, text": [where("status", "=", "Completed"), where("hp:optimizer", "=", "adam")],
    "metric, name": [where("last:loss", "<", 0.5), where("name", "contains", "-1")],
    "tag, metric": [where("tag:team", "=", "common"), where("most:acc", ">", 0)],
    "all of them": [where("hp:seed", "exists"), where("duration", ">=", 0)],
    "time, number": [where("created", ">", 1), where("hp:lr", "<", 0.01)],
    "few of them": [where("hp:p00", "missing"), where("hp:seed", "<", 100)],
    "none of them": [where("hp:optimizer", "=", "adam"), where("hp:optimizer", "contains", "sgd")],
}


def parameters(chance: random.Random, number: int) -> dict:
    values = {
        "optimizer": chance.choice(["adam", '"adam"', "sgd", '"adamw"', "lion"]),
        "lr": chance.choice([f"{10 ** chance.uniform(-6, 0):.3g}", "auto"]),
        "batch": str(2 ** chance.randrange(4, 12)),
        "seed": str(number),
        **{name: f"{chance.uniform(-10, 10):.6f}" for name in OTHERS},
    }
    for name in OTHERS:
        if chance.random() < 0.05:
            del values[name]
    return values


def plant(data: pathlib.Path, name: str, count: int) -> list[str]:
    """Writes `count` jobs like the one named, as muster 0.1 would have; the server is down."""
    chance = random.Random(7)
    store = sqlite3.connect(data / "muster.db")
    store.executescript(AS_BEFORE)
    columns = [row[1] for row in store.execute("PRAGMA table_info(jobs)")]
    (row,) = store.execute("SELECT * FROM jobs WHERE name = ?", (name,))
    job = dict(zip(columns, row))
    request = json.loads(job["request"])
    (last,) = store.execute("SELECT max(number) FROM jobs").fetchone()
    names = [f"copy-{number:05}" for number in range(count)]
    jobs, transitions, tags, finals, seconds = [], [], [], [], []
    for number, fresh in enumerate(names, last + 1):
        status = chance.choices(["Completed", "Failed", "Stopped"], [8, 1, 1])[0]
        created = job["created"] + number * 1000
        one = {**job, "number": number, "name": fresh, "arn": job["arn"].replace(name, fresh),
               "created": created, "modified": created, "status": status, "secondary": status,
               "training_start": created + 500,
               "training_end": created + 500 + chance.randrange(10**7)}  # fmt: skip
        request["TrainingJobName"] = fresh
        request["HyperParameters"] = parameters(chance, number)
        one["request"] = json.dumps(request)
        jobs.append([one[key] for key in columns])
        transitions.append((number, 0, status, "", created, None))
        tags.append((one["arn"], "team", "rare" if number % 10_000 == 7 else "common"))
        for metric in METRICS:
            finals.append((number, metric, created, chance.uniform(0, 10)))
            second = created // 60_000 * 60
            for minute in range(MINUTES):
                value = chance.uniform(0, 10)
                seconds.append((number, metric, second + 60 * minute, value, value, value, 1))
    marks = ", ".join("?" * len(columns))
    store.executemany(f"INSERT INTO jobs VALUES ({marks})", jobs)
    store.executemany("INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?)", transitions)
    store.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
    store.executemany("INSERT INTO final_metrics VALUES (?, ?, ?, ?)", finals)
    for table in ("metrics", "metric_minutes"):
        store.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)", seconds)
    store.commit()
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return names


class Viewer:
    """The page's part, on one connection that stays."""

    def __init__(self, server: SmServer):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"Sec-Fetch-Site": "same-origin"}
        keys = {"id": server.keys["AWS_ACCESS_KEY_ID"],
                "secret": server.keys["AWS_SECRET_ACCESS_KEY"]}  # fmt: skip
        self.connection.request("POST", "/ui/call/login", json.dumps(keys), self.headers)
        answer = self.connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        self.headers["Cookie"] = answer.getheader("Set-Cookie").split(";")[0]

    def call(self, name: str, input: dict) -> tuple[float, dict]:
        """How long it took in milliseconds, and the answer."""
        body = json.dumps(input)
        begun = time.perf_counter()
        self.connection.request("POST", f"/ui/call/{name}", body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        took = time.perf_counter() - begun
        assert answer.status == 200, text
        return took * 1000, json.loads(text)

    def csv(self, query: dict) -> tuple[float, str]:
        begun = time.perf_counter()
        path = "/ui/call/runs-csv?" + urllib.parse.urlencode({"query": json.dumps(query)})
        self.connection.request("GET", path, headers=self.headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, text
        return (time.perf_counter() - begun) * 1000, text


def median(values) -> float:
    return sorted(values)[len(values) // 2]


def sorts(viewer: Viewer, server: SmServer, repeat: int) -> dict:
    """Every sort with every pair of filters, the first page and one behind it."""
    took, inputs = {}, {}

    def timed(what: str, input: dict) -> dict:
        answers = [viewer.call("runs", input) for _ in range(repeat)]
        took[what] = median([each for each, _ in answers])
        inputs[what] = input
        return answers[0][1]

    def cpu_each(all_inputs: list) -> float:
        """Milliseconds of the server, which a busy machine does not make longer."""
        before = cpu_of(server.process.pid)
        for input in all_inputs:
            viewer.call("runs", input)
        return round((cpu_of(server.process.pid) - before) * 1000 / len(all_inputs), 1)

    for sort in SORTS:
        for named, filters in FILTERS.items():
            for descending in (False, True):
                input = {"columns": COLUMNS, "filters": filters, "sort": sort,
                         "descending": descending, "limit": 100}  # fmt: skip
                what = f"{sort}{', descending' if descending else ''} / {named}"
                answer = timed(what, input)
                if "next" in answer:
                    timed(f"{what}, second page", {**input, "after": answer["next"]})
    ordered = sorted(took.values())
    slowest = max(took, key=took.get)
    costly = {what: cpu_each([inputs[what]] * 20)
              for what in sorted(took, key=took.get)[-20:]}  # fmt: skip
    most = max(costly, key=costly.get)
    return {"calls": len(took), "p50_ms": round(median(ordered), 1),
            "p95_ms": round(ordered[int(len(ordered) * 0.95)], 1),
            "slowest_ms": round(took[slowest], 1), "slowest": slowest,
            "server, mean_ms": cpu_each(list(inputs.values())),
            "server, most_ms": costly[most], "most": most}  # fmt: skip


def calls(viewer: Viewer, names: list[str], repeat: int) -> dict:
    plain = [viewer.call("runs", {"columns": COLUMNS})[0] for _ in range(repeat)]
    last = [viewer.call("runs", {"columns": COLUMNS, "sort": "least:loss", "filters": [
        where("name", "contains", name)]})[0] for name in names[-repeat:]]  # fmt: skip
    return {
        "without filters_ms": round(median(plain), 1),
        "one job_ms": round(median(last), 1),
        "columns_ms": round(median([viewer.call("run-columns", {})[0] for _ in range(repeat)]), 1),
        "50 jobs compared_ms": round(
            median([viewer.call("compare-runs", {"jobs": names[:50]})[0] for _ in range(repeat)]), 1
        ),
        "ListTrainingJobs_ms": round(
            median([viewer.call("ListTrainingJobs", {"MaxResults": 50})[0] for _ in range(repeat)]),
            1,
        ),
        "csv_ms": round(viewer.csv({"columns": COLUMNS, "sort": "least:loss"})[0]),
    }


def measure(folder: pathlib.Path, options) -> dict:
    sm_server.START_SECONDS = 600
    with SmServer(folder) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job = Job(server, SCRIPT)
        assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
        server.stop()
        started = []
        for count in (options.jobs, None):
            names = plant(server.data, job.name, count) if count else names
            before = (server.data / "muster.db").stat().st_size
            begun = time.perf_counter()
            server.start()
            started.append(time.perf_counter() - begun)
            if count:
                cpu = cpu_of(server.process.pid)
                after = (server.data / "muster.db").stat().st_size
                figures = {"first_start_s": round(started[0], 2),
                           "first_start_cpu_s": round(cpu, 2), "store_mib": before >> 20,
                           "grows_mib": (after - before) >> 20,
                           "log": server.output.count("runs table: added")}  # fmt: skip
                server.stop()
        figures["next_start_s"] = round(started[1], 2)
        viewer = Viewer(server)
        figures["calls"] = calls(viewer, names, options.repeat)
        figures["any sort, two filters"] = sorts(viewer, server, options.repeat)
        figures["rss_mib"] = round(server.resident_kib() / 1024, 1)
    return {f"runs of {options.jobs} jobs": figures}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with own_folder() as folder:
        figures = measure(folder, options)
        print(json.dumps(figures, indent=1))
        record(figures_of("runs", figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
