"""The page's table of runs: real jobs in it, and the jobs of an earlier muster after kill -9."""

import csv
import io
import sqlite3
import sys

import pytest
from lab import REPOSITORY
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

sys.path.append(str(REPOSITORY / "bench"))

import runs_table  # noqa: E402
from runs_table import Viewer, where  # noqa: E402

SECONDS = 60
SCRIPT = """
import sys, time
for loss in LOSSES:
    print(f"loss: {loss}", flush=True)
    time.sleep(0.01)
"""
WAITS = """
import time
print("loss: 0.5", flush=True)
time.sleep(600)
"""
RUNS = {
    "adam": ([3, 0.25, 0.5], {"lr": 1e-05, "optimizer": "adam", "batch": 32}),
    "sgd": ([2, 1], {"lr": 0.1, "optimizer": "sgd"}),
    "auto": ([1.5], {"lr": "auto", "optimizer": "adam", "note": "=1+1"}),
}


def started_server(folder):
    server = SmServer(folder)
    server.start()
    s3 = server.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
    return server


class Table:
    """Three jobs that have ended, by what they are in RUNS."""

    def __init__(self, server):
        self.server = server
        self.viewer = Viewer(server)
        jobs = {
            key: Job(server, SCRIPT.replace("LOSSES", str(losses)), hyperparameters=values,
                     Tags=[{"Key": "team", "Value": key[0]}])
            for key, (losses, values) in RUNS.items()
        }  # fmt: skip
        for key, job in jobs.items():
            assert job.at_end()["TrainingJobStatus"] == "Completed", (key, job.text())
        self.jobs = {key: job.name for key, job in jobs.items()}
        self.keys = {name: key for key, name in self.jobs.items()}

    def runs(self, **input) -> dict:
        return self.viewer.call("runs", input)[1]

    def order(self, **input) -> list[str]:
        """The three jobs in the order of the table."""
        found = [self.keys.get(run["name"]) for run in self.runs(**input)["runs"]]
        return [key for key in found if key]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    server = started_server(tmp_path_factory.mktemp("runs"))
    with_it = Table(server)
    yield with_it
    server.__exit__()


def test_jobs_have_their_hyperparameters_tags_and_metrics_as_columns(table):
    columns = ["hp:lr", "hp:batch", "hp:optimizer", "tag:team", "last:loss", "least:loss",
               "most:loss", "hp:sagemaker_program", "hp:sagemaker_submit_directory"]  # fmt: skip
    answer = table.runs(columns=columns)
    rows = {table.keys[run["name"]]: run for run in answer["runs"] if run["name"] in table.keys}
    assert rows["adam"]["values"] == ["1e-05", "32", "adam", "a", 0.5, 0.25, 3, "train.py", None]
    assert rows["sgd"]["values"] == ["0.1", None, "sgd", "s", 1, 1, 2, "train.py", None]
    assert rows["auto"]["values"] == ["auto", None, "adam", "a", 1.5, 1.5, 1.5, "train.py", None]
    told = table.server.client("sagemaker").describe_training_job(
        TrainingJobName=table.jobs["adam"]
    )
    assert rows["adam"]["status"] == rows["adam"]["secondary"] == "Completed"
    assert abs(rows["adam"]["created"] - told["CreationTime"].timestamp()) < 0.01
    lasted = (told["TrainingEndTime"] - told["TrainingStartTime"]).total_seconds()
    assert abs(rows["adam"]["duration"] - lasted) < 0.01
    assert told["FinalMetricDataList"][0]["Value"] == 0.5


def test_any_column_sorts_and_filters(table):
    assert table.order(sort="hp:lr") == ["adam", "sgd", "auto"]
    assert table.order(sort="hp:lr", descending=True) == ["sgd", "adam", "auto"]
    assert table.order(sort="hp:batch")[0] == "adam"
    assert table.order(sort="least:loss") == ["adam", "sgd", "auto"]
    assert table.order(sort="last:loss", descending=True) == ["auto", "sgd", "adam"]
    both = [where("hp:optimizer", "=", "adam"), where("last:loss", "<", 1)]
    answer = table.runs(filters=both)
    assert [table.keys[run["name"]] for run in answer["runs"]] == ["adam"]
    assert answer["matching"] == 1 and answer["total"] >= 3
    first = table.runs(sort="hp:lr", limit=1)
    second = table.runs(sort="hp:lr", limit=1, after=first["next"])
    names = [run["name"] for page in (first, second) for run in page["runs"]]
    assert names == [table.jobs["adam"], table.jobs["sgd"]]


def test_tags_that_change_are_those_of_the_table(table):
    job = table.jobs["sgd"]
    api = table.server.client("sagemaker")
    arn = api.describe_training_job(TrainingJobName=job)["TrainingJobArn"]
    api.add_tags(ResourceArn=arn, Tags=[{"Key": "note", "Value": "best"}])
    assert table.order(filters=[where("tag:note", "=", "best")]) == ["sgd"]
    api.delete_tags(ResourceArn=arn, TagKeys=["note"])
    assert table.order(filters=[where("tag:note", "exists")]) == []


def test_known_names_and_jobs_side_by_side(table):
    _, known = table.viewer.call("run-columns", {"contains": "optim"})
    assert [name for name, _ in known["hyperparameters"]] == ["optimizer"]
    assert known["hyperparameters"][0][1] >= 3
    assert known["tags"] == known["metrics"] == known["more"] == []
    jobs = [table.jobs["adam"], "none", table.jobs["auto"]]
    _, compared = table.viewer.call("compare-runs", {"jobs": jobs})
    assert [run["name"] for run in compared["runs"]] == [jobs[0], jobs[2]]
    assert compared["unknown"] == ["none"]
    rows = {row["column"]: row for row in compared["rows"]}
    assert rows["hp:lr"] == {"column": "hp:lr", "differs": True, "values": ["1e-05", "auto"]}
    assert rows["hp:optimizer"]["differs"] is False
    assert rows["least:loss"]["values"] == [0.25, 1.5]


def test_the_table_as_csv(table):
    columns = ["hp:lr", "hp:note", "last:loss"]
    _, text = table.viewer.csv({"columns": columns, "sort": "hp:lr", "limit": 1})
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["job", "status", "created", "duration", *columns]
    rows = {table.keys[row[0]]: row for row in rows if row[0] in table.keys}
    assert list(rows) == ["adam", "sgd", "auto"]
    assert rows["adam"][1] == "Completed" and rows["adam"][2].endswith("Z")
    assert rows["adam"][4:] == ["1e-05", "", "0.5"]
    assert rows["auto"][4:] == ["auto", "'=1+1", "1.5"]


def test_a_running_job_has_its_values_so_far_and_a_deleted_one_no_row(table):
    job = Job(table.server, WAITS, hyperparameters={"only": "here"})
    here = {"filters": [where("hp:only", "=", "here")], "columns": ["last:loss"]}

    def with_its_metric():
        found = table.runs(**here)["runs"]
        return found[0] if found and found[0]["values"] == [0.5] else None

    row = wait_until("its metric", with_its_metric, SECONDS)
    assert row["status"] == "InProgress" and row["secondary"] == "Training"
    assert row["duration"] > 0
    job.api.stop_training_job(TrainingJobName=job.name)
    job.at_end()
    job.api.delete_training_job(TrainingJobName=job.name)
    assert table.runs(**here)["runs"] == []
    assert table.viewer.call("run-columns", {"contains": "only"})[1]["hyperparameters"] == []


def test_jobs_of_an_earlier_muster_are_all_in_it_after_kills(tmp_path):
    """The server is killed while it adds them, twice."""
    server = started_server(tmp_path)
    job = Job(server, "print('loss: 1', flush=True)")
    job.at_end()
    server.stop()
    count = 6000
    names = runs_table.plant(server.data, job.name, count)

    def filled() -> int:
        with sqlite3.connect(f"file:{server.data}/muster.db?mode=ro", uri=True) as store:
            (version,) = store.execute("PRAGMA user_version").fetchone()
            assert version <= 17, "it was faster than this test"
            job = store.execute("SELECT job FROM runs_fill").fetchone()[0] if version == 17 else 0
        store.close()
        return job

    def filled_beyond(before: int) -> int | None:
        now = filled()
        return now if now > before else None

    reached = 0
    for _ in range(2):
        server.launch()
        reached = wait_until("some jobs", lambda: filled_beyond(reached), SECONDS)
        server.kill()
        assert filled() >= reached
    server.start()
    assert f"runs table: added {count + 1} of {count + 1} jobs" in server.output
    viewer = Viewer(server)
    found, token = [], {}
    while True:
        _, page = viewer.call("runs", {"sort": "hp:seed", "limit": 200, **token})
        found += [run["name"] for run in page["runs"]]
        if "next" not in page:
            break
        token = {"after": page["next"]}
    assert found == [*names, job.name]
    _, known = viewer.call("run-columns", {})
    assert dict(known["hyperparameters"])["seed"] == count
    assert dict(known["metrics"])["acc"] == count
    server.__exit__()
