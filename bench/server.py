"""`sm server` in figures: calls with many jobs in its store, memory, the way to the first line.

    bench/server.py [--finished N] [--running N] [--calls N] [--starts N]
    bench/server.py --waiting 20000
    bench/server.py --rows 100000 [--objects N]

One job is run; what the store holds of it is copied, name by name, into as many finished jobs as
asked for. Then some run, and calls are timed over HTTP, signed beforehand, by one client and by
eight at a time. Client and server share the machine.

`--waiting` measures that alone: a server starts with so many jobs waiting in its store. The first
call and all others are timed while it reads them; then jobs are submitted, described and stopped.
`--rows`: so many jobs, metrics of a job and tags of a repository, and --objects in a bucket, with a
tenth as many uploads, are listed, then the job is deleted; beside each call others are timed.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import sqlite3
import sys
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "e2e")]

from bad_api import json_request  # noqa: E402
from botocore.exceptions import ClientError  # noqa: E402
from folder import own_folder  # noqa: E402
from history import figures_of, record  # noqa: E402
from lab import VENV  # noqa: E402
from process import wait_until  # noqa: E402
from raw_http import Keys, signed  # noqa: E402
from sm_server import SmServer  # noqa: E402
from test_attacks_network import job_of_long_lines  # noqa: E402
from test_server_jobs import BUCKET, Job  # noqa: E402

CLIENTS = 8
METRICS = """
import time
for number in range(20):
    print("loss: %.2f" % (1 / (number + 1)), flush=True)
"""
FOREVER = "import time; print('it runs', flush=True); time.sleep(3600)"
FIRST = "print('the first line', flush=True)"
LISTS = (
    {},
    {"MaxResults": 100},
    {"MaxResults": 100, "SortBy": "Name", "SortOrder": "Descending"},
    {"MaxResults": 100, "StatusEquals": "Completed"},
    {"StatusEquals": "InProgress"},
    {"NameContains": "copy-19"},
    {"NameContains": "nothing-is-called-so"},
)


def copy_job(data: pathlib.Path, name: str, count: int) -> list[str]:
    """Writes `count` jobs like the one named, as they would stand there; the server is down."""
    store = sqlite3.connect(data / "muster.db")
    columns = [row[1] for row in store.execute("PRAGMA table_info(jobs)")]
    (row,) = store.execute("SELECT * FROM jobs WHERE name = ?", (name,))
    job = dict(zip(columns, row))
    tables = ("transitions", "metrics", "final_metrics", "metrics_read", "instance_types")
    parts = {table: list(store.execute(f"SELECT * FROM {table} WHERE job = ?", (job["number"],)))
             for table in tables}  # fmt: skip
    (last,) = store.execute("SELECT max(number) FROM jobs").fetchone()
    names = [f"copy-{number:04}" for number in range(count)]
    for number, fresh in enumerate(names):
        one = {key: value.replace(name, fresh) if isinstance(value, str) else value
               for key, value in job.items()}  # fmt: skip
        one.update(number=last + 1 + number, created=job["created"] + number)
        marks = ", ".join("?" * len(columns))
        store.execute(f"INSERT INTO jobs VALUES ({marks})", [one[key] for key in columns])
        for table, rows in parts.items():
            for part in rows:
                marks = ", ".join("?" * len(part))
                store.execute(f"INSERT INTO {table} VALUES ({marks})", (one["number"], *part[1:]))
        tag = (one["arn"], "team", "rare" if number % 10_000 == 7 else "common")
        store.execute("INSERT INTO tags VALUES (?, ?, ?)", tag)
    store.commit()
    store.close()
    return names


class Caller:
    """One connection that stays."""

    def __init__(self, server: SmServer):
        self.host = f"127.0.0.1:{server.port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        own = server.keys
        self.keys = Keys(own["AWS_ACCESS_KEY_ID"], own["AWS_SECRET_ACCESS_KEY"])

    def call(self, operation: str, body: dict) -> tuple[float, dict]:
        """How long it took, and the answer. Signing is not counted."""
        request = signed(json_request("sagemaker", operation, body), self.keys, "sagemaker",
                         self.host)  # fmt: skip
        begun = time.perf_counter()
        self.connection.request("POST", "/", request.body, request.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        took = time.perf_counter() - begun
        assert answer.status == 200, text
        return took, json.loads(text)


def cpu_of(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def times(seconds: list[float]) -> dict:
    ordered = sorted(seconds)

    def at(share):
        return round(ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000, 2)

    return {"calls": len(ordered), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


def measured(server: SmServer, operation: str, bodies: list[dict], clients: int) -> dict:
    def work(part):
        caller = Caller(server)
        caller.call(operation, part[0])
        return [caller.call(operation, body)[0] for body in part]

    parts = [bodies[index::clients] for index in range(clients)]
    before = cpu_of(server.process.pid)
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        took = [each for part in pool.map(work, parts) for each in part]
    used = cpu_of(server.process.pid) - before
    return {**times(took), "server_us_each": round(used / len(took) * 1e6)}


def pages(server: SmServer) -> dict:
    """All jobs, 100 at a time."""
    caller, took, token, count = Caller(server), [], {}, 0
    while True:
        seconds, answer = caller.call("ListTrainingJobs", {"MaxResults": 100, **token})
        took.append(seconds)
        count += len(answer["TrainingJobSummaries"])
        if "NextToken" not in answer:
            return {"jobs": count, **times(took)}
        token = {"NextToken": answer["NextToken"]}


def calls(server: SmServer, names: list[str], count: int) -> dict:
    chance = random.Random(7)
    lists = [chance.choice(LISTS) for _ in range(count)]
    described = [{"TrainingJobName": chance.choice(names)} for _ in range(count)]
    figures = {"list, page by page": pages(server)}
    for clients in (1, CLIENTS):
        who = f"{clients} client" + ("s" if clients > 1 else "")
        figures[f"list, {who}"] = measured(server, "ListTrainingJobs", lists, clients)
        figures[f"describe, {who}"] = measured(server, "DescribeTrainingJob", described, clients)
    return figures


def first_line(server: SmServer, hosts: int, processes: int) -> dict:
    """From the call to the first line of each rank: when it was written, and when it was seen."""
    logs = server.client("logs")
    begun = time.time()
    job = Job(server, FIRST, hosts=hosts, processes=processes)

    def lines():
        found = logs.filter_log_events(
            logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=f"{job.name}/"
        )["events"]
        return [event for event in found if "the first line" in event["message"]]

    events = wait_until("the first line", lines, 60)
    seen = time.time() - begun
    all_lines = wait_until(
        "every rank's", lambda: found if len(found := lines()) == hosts * processes else None, 60
    )
    job.at_end()
    return {
        "first_s": round(min(each["timestamp"] for each in events) / 1000 - begun, 3),
        "seen_s": round(seen, 3),
        "last_s": round(max(each["timestamp"] for each in all_lines) / 1000 - begun, 3),
    }


def hostile(server: SmServer, count: int) -> dict:
    """Calls while nothing runs, and while a job's long lines are tried by slow expressions."""
    caller = Caller(server)
    quiet = [caller.call("ListTrainingJobs", {})[0] for _ in range(count)]
    job = job_of_long_lines(server, 200)
    wait_until("it to run", lambda: job.describe()["SecondaryStatus"] == "Training", 120)
    busy, status = [], "InProgress"
    while status == "InProgress":
        busy.append(caller.call("ListTrainingJobs", {})[0])
        seconds, told = caller.call("DescribeTrainingJob", {"TrainingJobName": job.name})
        busy.append(seconds)
        status = told["TrainingJobStatus"]
    figures = {"quiet": times(quiet), "followed": times(busy)}
    for at in ("p50_ms", "p99_ms", "max_ms"):
        figures[f"ratio, {at[:-3]}"] = round(figures["followed"][at] / figures["quiet"][at], 1)
    return figures


def drain(server: SmServer) -> None:
    """Reads the server's log until it ends: a line for each job fills a pipe."""
    def work(output):
        with contextlib.suppress(OSError, ValueError):
            while os.read(output.fileno(), 65536):
                pass

    threading.Thread(target=work, args=(server.process.stdout,), daemon=True).start()


def waiting(folder: pathlib.Path, count: int) -> dict:
    """A start with `count` jobs that wait behind one that runs, and calls beside them."""
    limits = {"capacity": {"ml.c5.xlarge": 1}, "waiting_max": count + 2000}
    with SmServer(folder, jobs={"python": str(VENV / "bin" / "python"), **limits}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        holds = Job(server, FOREVER)
        wait_until("it to run", lambda: "it runs" in holds.text(), 120)
        first = Job(server, FIRST)
        submit = submitting(server, first)
        empty = [submit(f"few-{number}") for number in range(100)]
        for number in range(100):
            first.api.stop_training_job(TrainingJobName=f"few-{number}")
        server.stop()
        names = copy_job(server.data, first.name, count)
        begun = time.perf_counter()
        server.start()
        listens = time.perf_counter() - begun
        drain(server)
        caller, took = Caller(server), []
        last = {"TrainingJobName": names[-1]}
        answered = None
        while True:
            seconds, job = caller.call("DescribeTrainingJob", last)
            answered = answered or time.perf_counter() - begun
            took.append(seconds)
            if "place" in job["SecondaryStatusTransitions"][-1]["StatusMessage"]:
                break
        read = time.perf_counter() - begun
        submit = submitting(server, first)
        before = cpu_of(server.process.pid)
        submitted = [submit(f"more-{number}") for number in range(1000)]
        used = (cpu_of(server.process.pid) - before) / len(submitted)
        described = [caller.call("DescribeTrainingJob", {"TrainingJobName": name})[0]
                     for name in random.Random(7).sample(names, 1000)]  # fmt: skip
        lists = [caller.call("ListTrainingJobs", {"MaxResults": 100})[0] for _ in range(100)]
        stopped = [caller.call("StopTrainingJob", {"TrainingJobName": f"more-{number}"})[0]
                   for number in range(1000)]  # fmt: skip
        return {
            "listens_s": round(listens, 2),
            "first_answer_s": round(answered, 2),
            "all_read_s": round(read, 2),
            "calls meanwhile": times(took),
            "submit, nothing waits": times(empty),
            "submit": {**times(submitted), "server_us_each": round(used * 1e6)},
            "describe": times(described),
            "list, 100 each": times(lists),
            "stop": times(stopped),
            "rss_mib": round(server.resident_kib() / 1024, 1),
        }


def submitting(server: SmServer, like: Job):
    """A function that submits jobs as `like`, of other names, and tells how long each took."""
    told = like.describe()
    names = ("AlgorithmSpecification", "RoleArn", "OutputDataConfig", "ResourceConfig",
             "StoppingCondition", "HyperParameters", "InputDataConfig")  # fmt: skip
    body = {key: told[key] for key in names if key in told}
    caller = Caller(server)
    return lambda name: caller.call("CreateTrainingJob", {**body, "TrainingJobName": name})[0]


class Pulse:
    """Calls that cost nothing, one after the other, while something else is asked: the longest
    tells for how long the server answered nobody."""

    def __init__(self, server: SmServer):
        self.caller, self.took, self.ends = Caller(server), [], False
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.ends:
            self.took.append(self.caller.call("ListTrainingJobs", {"MaxResults": 1})[0])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()


def timed(server: SmServer, call) -> dict:
    """A call's time and the longest of others beside it."""
    with Pulse(server) as pulse:
        begun = time.perf_counter()
        call()
        took = time.perf_counter() - begun
    return {"took_ms": round(took * 1000, 1), "others_max_ms": round(max(pulse.took) * 1000, 1)}


def plant_rows(data: pathlib.Path, job: str, count: int) -> None:
    """`count` metrics of one job, and a repository with as many tags; the server is down."""
    store = sqlite3.connect(data / "muster.db")
    (number,) = store.execute("SELECT number FROM jobs WHERE name = ?", (job,)).fetchone()
    names = [f"metric-{at:06}" for at in range(count)]
    store.executemany("INSERT INTO final_metrics VALUES (?, ?, 1000, 1.0)",
                      [(number, name) for name in names])  # fmt: skip
    for table in ("metrics", "metric_minutes"):
        store.executemany(f"INSERT INTO {table} VALUES (?, ?, 60, 1.0, 1.0, 1.0, 1)",
                          [(number, name) for name in names])  # fmt: skip
        store.executemany(f"INSERT INTO {table} VALUES (?, 'long', ?, 1.0, 1.0, 1.0, 1)",
                          [(number, at * 60) for at in range(2, count)])  # fmt: skip
    store.execute("INSERT INTO final_metrics VALUES (?, 'long', 1000, 1.0)", (number,))
    store.commit()
    store.close()
    (path,) = data.parent.rglob("registry/box.json")
    box = json.loads(path.read_text())
    digests = [f"sha256:{at:064x}" for at in range(count)]
    box["tags"] = {f"t{at}": digest for at, digest in enumerate(digests)}
    kind = "application/vnd.oci.image.manifest.v1+json"
    box["manifests"] = {digest: {"type": kind, "bytes": 1, "pushed": 0}
                        for digest in digests}  # fmt: skip
    path.write_text(json.dumps(box))


def put_objects(server: SmServer, count: int) -> None:
    """Every tenth has an upload that goes on."""
    def work(part):
        s3 = server.client("s3")
        for number in part:
            key = f"many/{number % 100}/{number}"
            s3.put_object(Bucket=BUCKET, Key=key, Body=b"")
            if number % 10 == 0:
                s3.create_multipart_upload(Bucket=BUCKET, Key=key)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(work, [range(index, count, CLIENTS) for index in range(CLIENTS)]))


def page_call(server: SmServer, name: str, given: dict, cookie: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Sec-Fetch-Site": "same-origin", "Cookie": cookie}
    connection.request("POST", f"/ui/call/{name}", json.dumps(given).encode(), headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    answer.text = answer.read()
    return answer


def fetched(server: SmServer, path: str, headers: dict) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return text


def refused(call, **arguments) -> None:
    """A call that says how to narrow it."""
    try:
        call(**arguments)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "InvalidParameterException", error
    else:
        raise AssertionError("it was answered")


NONE = "nothing-is-called-so"


def lists_of_jobs(server: SmServer, job: Job) -> dict:
    api, logs = job.api, server.client("logs")
    group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    named = [{"Name": "TrainingJobName", "Operator": "Contains", "Value": NONE}]
    return {
        "Search": lambda: api.search(Resource="TrainingJob"),
        "Search, no such name": lambda: api.search(
            Resource="TrainingJob", SearchExpression={"Filters": named}),
        "ListTrainingJobs": lambda: api.list_training_jobs(MaxResults=100),
        "ListTrainingJobs, no such name": lambda: api.list_training_jobs(NameContains=NONE),
        "ListTrainingJobs, no such status": lambda: api.list_training_jobs(
            StatusEquals="Stopped", SortBy="Name"),
        "DescribeLogStreams": lambda: logs.describe_log_streams(**group),
        "DescribeLogStreams, last events": lambda: logs.describe_log_streams(
            **group, orderBy="LastEventTime", descending=True),
        "DescribeLogStreams, no such prefix": lambda: logs.describe_log_streams(
            **group, logStreamNamePrefix=NONE),
        "FilterLogEvents, all": lambda: refused(logs.filter_log_events, **group),
        "FilterLogEvents, many": lambda: refused(
            logs.filter_log_events, **group, logStreamNamePrefix="copy-"),
        "FilterLogEvents, no such prefix": lambda: logs.filter_log_events(
            **group, logStreamNamePrefix=NONE),
    }  # fmt: skip


def lists_of_metrics(server: SmServer, job: Job, count: int) -> dict:
    cloudwatch = server.client("cloudwatch")
    about = {"Namespace": "/aws/sagemaker/TrainingJobs",
             "Dimensions": [{"Name": "TrainingJobName", "Value": job.name}]}  # fmt: skip
    series = {"Metric": {**about, "MetricName": "long"}, "Period": 6000, "Stat": "Average"}
    return {
        "ListMetrics": lambda: cloudwatch.list_metrics(**about),
        "GetMetricStatistics": lambda: cloudwatch.get_metric_statistics(
            **about, MetricName="long", StartTime=0, EndTime=60 * count, Period=6000,
            Statistics=["Average"]),
        "GetMetricData": lambda: cloudwatch.get_metric_data(
            MetricDataQueries=[{"Id": "m", "MetricStat": series}], StartTime=0,
            EndTime=60 * count),
        "DescribeTrainingJob": job.describe,
    }  # fmt: skip


def lists_of_the_page(server: SmServer, job: Job) -> dict:
    """bench/runs_table.py has those of its table of runs."""
    key = {"id": server.keys["AWS_ACCESS_KEY_ID"],
           "secret": server.keys["AWS_SECRET_ACCESS_KEY"]}  # fmt: skip
    cookie = page_call(server, "login", key, "").getheader("Set-Cookie").split(";")[0]
    given = {
        "counts": {},
        "last-run": {"job": job.name},
        "metrics": {"job": job.name},
        "objects": {"job": job.name},
        "machine": {},
    }
    tag = {"MaxResults": 100, "MusterTag": {"Key": "team", "Value": "rare"}}
    csv = f"/ui/call/metric-csv?job={job.name}&name=long"
    return {
        **{f"page: {name}": lambda name=name, wish=wish: page_call(server, name, wish, cookie)
           for name, wish in given.items()},
        "page: jobs of a rare tag": lambda: page_call(server, "ListTrainingJobs", tag, cookie),
        "page: CSV": lambda: fetched(server, csv, {"Cookie": cookie}),
    }  # fmt: skip


def lists_of_images(server: SmServer) -> dict:
    ecr = server.client("ecr")
    login = f"{server.keys['AWS_ACCESS_KEY_ID']}:{server.keys['AWS_SECRET_ACCESS_KEY']}".encode()
    basic = {"Authorization": "Basic " + base64.b64encode(login).decode()}
    return {
        "ListImages": lambda: ecr.list_images(repositoryName="box", maxResults=1000),
        "DescribeImages": lambda: ecr.describe_images(repositoryName="box", maxResults=100),
        "tags/list": lambda: fetched(server, "/v2/box/tags/list", basic),
        "tags/list, 100": lambda: fetched(server, "/v2/box/tags/list?n=100", basic),
    }


def lists_of_objects(server: SmServer) -> dict:
    s3 = server.client("s3")
    many = {"Bucket": BUCKET, "Prefix": "many/"}
    return {
        "first ListObjectsV2": lambda: s3.list_objects_v2(**many),
        "ListObjectsV2": lambda: s3.list_objects_v2(**many),
        "ListObjectsV2, folders": lambda: s3.list_objects_v2(**many, Delimiter="/"),
        "ListObjectVersions": lambda: s3.list_object_versions(**many),
        "ListMultipartUploads": lambda: s3.list_multipart_uploads(**many),
    }


def rows(folder: pathlib.Path, count: int, objects: int) -> dict:
    """Lists and searches over `count` rows, and how long they keep others waiting."""
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(folder, jobs=jobs, env={"MUSTER_STATE": str(folder / "state")}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job, others = Job(server, METRICS), Job(server, FIRST)
        job.at_end()
        others.at_end()
        server.client("ecr").create_repository(repositoryName="box")
        put_objects(server, objects)
        server.stop()
        plant_rows(server.data, job.name, count)
        copy_job(server.data, others.name, count)
        server.start()
        drain(server)
        asks = {
            "nothing": lambda: threading.Event().wait(3),
            **lists_of_jobs(server, job),
            **lists_of_metrics(server, job, count),
            **lists_of_the_page(server, job),
            **lists_of_images(server),
            **lists_of_objects(server),
            "DeleteTrainingJob": lambda: job.api.delete_training_job(TrainingJobName=job.name),
        }
        return {name: timed(server, ask) for name, ask in asks.items()}


def measure(folder: pathlib.Path, options) -> dict:
    figures: dict = {}
    with SmServer(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        figures["idle, empty"] = {"rss_mib": round(server.resident_kib() / 1024, 1)}
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job = Job(server, METRICS)
        assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
        starts = [first_line(server, 3, 2) for _ in range(options.starts)]
        figures["submit to first line, 3 x 2"] = starts
        figures["calls, beside a job of long lines"] = hostile(server, options.calls)
        server.stop()
        names = copy_job(server.data, job.name, options.finished)
        server.start()
        pages(server)
        figures[f"idle, {len(names)} jobs"] = {"rss_mib": round(server.resident_kib() / 1024, 1)}
        running = [Job(server, FOREVER) for _ in range(options.running)]
        for one in running:
            wait_until("it to run", lambda one=one: "it runs" in one.text(), 120)
        names += [one.name for one in running]
        figures.update(calls(server, names, options.calls))
        figures[f"{len(running)} running"] = {"rss_mib": round(server.resident_kib() / 1024, 1)}
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--finished", type=int, default=2000)
    parser.add_argument("--running", type=int, default=20)
    parser.add_argument("--calls", type=int, default=2000, help="of each kind")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--rows", type=int, default=0, help="lists of so many: only these figures")
    parser.add_argument("--objects", type=int, default=10_000, help="of a bucket, with --rows")
    parser.add_argument("--waiting", type=int, default=0, help="jobs that wait: only these figures")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("jobs make namespaces: run it as root", file=sys.stderr)
        return 2
    with own_folder() as folder:
        if options.waiting:
            figures = {f"{options.waiting} waiting": waiting(folder, options.waiting)}
        elif options.rows:
            figures = {f"{options.rows} rows": rows(folder, options.rows, options.objects)}
        else:
            figures = measure(folder, options)
        print(json.dumps(figures, indent=1))
        record(figures_of("server", figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
