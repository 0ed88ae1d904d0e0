"""Runs a training job on a muster server with one call. Requires boto3; no SageMaker SDK."""

import datetime
import json
import os
import sys
import tarfile
import tempfile
import threading

from muster import server, terminal

GROUP = "/aws/sagemaker/TrainingJobs"
ENDS = ("Completed", "Failed", "Stopped")
PAUSE_SECONDS = 0.5


class TrainingFailed(Exception):
    """The job did not complete. `job` is the Job, `description` the server's description of it."""

    def __init__(self, job, description):
        status = description["TrainingJobStatus"]
        reason = description.get("FailureReason") or description["SecondaryStatus"]
        super().__init__("training job %s: %s: %s" % (job.name, status, terminal.visible(reason)))
        self.job = job
        self.description = description


class Job:
    """A training job on the server. `Job(name)` refers to an existing job."""

    def __init__(self, name, boto_session=None):
        self.name = name
        self._boto = boto_session or server.boto_session()
        self._sagemaker = self._boto.client("sagemaker")

    def create(self, request):
        """Starts the job. `request`: the arguments of CreateTrainingJob."""
        self._sagemaker.create_training_job(**request)

    def describe(self):
        """Returns the response of DescribeTrainingJob."""
        return self._sagemaker.describe_training_job(TrainingJobName=self.name)

    @property
    def status(self):
        return self.describe()["TrainingJobStatus"]

    @property
    def model_data(self):
        """The URL of the model, s3://…/model.tar.gz, or None if the job has no model yet."""
        return self.describe().get("ModelArtifacts", {}).get("S3ModelArtifacts")

    def stop(self):
        self._sagemaker.stop_training_job(TrainingJobName=self.name)

    def logs(self):
        """Returns the log lines so far as a list of (host, line), oldest first."""
        return _Logs(self.name, self._boto).fresh()

    def wait(self, logs=True, out=None):
        """Waits until the job has ended, and prints its log meanwhile. Returns the Job.

        Each log line is printed after the name of its host: "algo-1: epoch 3". On a terminal,
        control characters are escaped. Raises TrainingFailed if the job did not complete.
        """
        to = out or sys.stdout
        tail = _Logs(self.name, self._boto) if logs else None
        pause = threading.Event()
        while True:
            description = self.describe()
            for host, line in tail.fresh() if tail else ():
                shown = terminal.visible_line(line) if terminal.is_terminal(to) else line
                print("%s: %s" % (host, shown), file=to, flush=True)
            if description["TrainingJobStatus"] in ENDS:
                break
            pause.wait(PAUSE_SECONDS)
        if description["TrainingJobStatus"] != "Completed":
            raise TrainingFailed(self, description)
        return self

    def download(self, folder):
        """Creates a folder, unpacks the model into it and returns the folder."""
        bucket, key = _split(self.model_data)
        with tempfile.TemporaryFile() as archive:
            self._boto.client("s3").download_fileobj(bucket, key, archive)
            archive.seek(0)
            os.makedirs(folder, exist_ok=True)
            with tarfile.open(fileobj=archive, mode="r:gz") as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(folder, filter="data")
                else:  # Python before 3.11.4, 3.10.12 and so on.
                    tar.extractall(folder, members=_plain_members(tar))
        return folder


def _plain_members(tar):
    """Yields the files and folders of an archive from a job, which is untrusted."""
    for member in tar:
        inside = not member.name.startswith("/") and ".." not in member.name.split("/")
        if not inside or not (member.isfile() or member.isdir()):
            raise ValueError("model.tar.gz: %r is not a file or folder of the model" % member.name)
        member.mode &= 0o755
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
        yield member


class _Logs:
    """Reads new lines of each host's stream."""

    def __init__(self, name, boto):
        self._prefix = name + "/"
        self._client = boto.client("logs")
        self._tokens = {}

    def fresh(self):
        found = []
        for stream in self._streams():
            host = stream[len(self._prefix) :].rpartition("-")[0]
            for event in self._events(stream):
                found.append((event["timestamp"], host, event["message"]))
        found.sort(key=lambda line: line[0])  # Stable: a host's lines keep their order.
        return [(host, text) for _, host, text in found]

    def _streams(self):
        try:
            answer = self._client.describe_log_streams(
                logGroupName=GROUP, logStreamNamePrefix=self._prefix
            )
        except self._client.exceptions.ResourceNotFoundException:
            return []
        return [stream["logStreamName"] for stream in answer["logStreams"]]

    def _events(self, stream):
        while True:
            options = {"logGroupName": GROUP, "logStreamName": stream, "startFromHead": True}
            if stream in self._tokens:
                options["nextToken"] = self._tokens[stream]
            answer = self._client.get_log_events(**options)
            self._tokens[stream] = answer["nextForwardToken"]
            if not answer["events"]:
                return
            for event in answer["events"]:
                yield event


def train(
    script=None,
    instance_count=1,
    num_of_processes_per_host=1,
    hyperparameters=None,
    inputs=None,
    wait=True,
    *,
    source_dir=None,
    custom_mpi_options="",
    output=None,
    image="host",
    instance_type="local",
    volume_size=30,
    environment=None,
    max_run=86400,
    name=None,
    logs=True,
    horovod_train_script=None,
    horovod_hyperparameters=None,
):
    """Runs `script` on `instance_count` hosts with MPI. Returns a Job.

    num_of_processes_per_host: the number of ranks on each host. None: runs the script once per
        host, without MPI.
    source_dir: a folder to upload; `script` is then a path in it. Default: uploads only the script.
    hyperparameters: a dictionary, passed to the script as arguments.
    inputs: the input channels: a dictionary that maps each name to an s3:// URL, or to a local file
        or folder to upload. A single value becomes the channel "training".
    output: an s3:// prefix for the results.
    volume_size: the disk space of each host, in GiB.
    wait: prints the log until the job has ended, and raises TrainingFailed if it did not complete.
    horovod_train_script, horovod_hyperparameters: other names of `script` and `hyperparameters`, as
        used in the Horovod lab.

    Raises server.ClientError, with a one-line message, if the server is not configured.
    """
    script = _either("script", script, "horovod_train_script", horovod_train_script)
    if script is None:
        raise TypeError("train() requires a script: muster.train(script='train.py')")
    hyperparameters = _either(
        "hyperparameters", hyperparameters, "horovod_hyperparameters", horovod_hyperparameters
    )
    boto = server.boto_session()
    name = name or _fresh_name(script)
    bucket = server.default_bucket(boto)
    folder, program = _find(script, source_dir)
    s3 = boto.client("s3")
    _make_bucket(s3, bucket, boto.region_name)
    key = name + "/source/sourcedir.tar.gz"
    with tempfile.TemporaryFile() as archive:
        _pack(archive, folder, sorted(os.listdir(folder)) if source_dir else [program])
        s3.upload_fileobj(archive, bucket, key)
    parameters = dict(hyperparameters or {})
    parameters["sagemaker_program"] = program
    parameters["sagemaker_submit_directory"] = "s3://%s/%s" % (bucket, key)
    parameters["sagemaker_job_name"] = name
    parameters["sagemaker_region"] = boto.region_name
    if num_of_processes_per_host is not None:
        parameters["sagemaker_mpi_enabled"] = True
        parameters["sagemaker_mpi_num_of_processes_per_host"] = num_of_processes_per_host
        parameters["sagemaker_mpi_custom_mpi_options"] = custom_mpi_options
    request = {
        "TrainingJobName": name,
        "RoleArn": server.role(boto),
        "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
        "HyperParameters": {key: json.dumps(value) for key, value in parameters.items()},
        "OutputDataConfig": {"S3OutputPath": output or "s3://%s/" % bucket},
        "ResourceConfig": _resources(instance_type, instance_count, volume_size),
        "StoppingCondition": {"MaxRuntimeInSeconds": max_run},
        "InputDataConfig": _channels(s3, bucket, name, inputs),
        "Environment": dict(environment or {}),
    }
    job = Job(name, boto)
    job.create({key: value for key, value in request.items() if value})
    return job.wait(logs=logs) if wait else job


def _either(name, value, other, others):
    """Returns the argument that was passed under one of two names."""
    if value is not None and others is not None:
        raise TypeError("train() accepts %s or %s, not both" % (name, other))
    return value if others is None else others


def _resources(instance_type, instance_count, volume_size):
    return {
        "InstanceType": instance_type,
        "InstanceCount": instance_count,
        "VolumeSizeInGB": volume_size,
    }


def _fresh_name(script):
    """A name in the form of SageMaker: the script and the time, in milliseconds."""
    stem = os.path.splitext(os.path.basename(script))[0]
    words = "".join(c if c.isalnum() and c.isascii() else "-" for c in stem).strip("-")
    now = datetime.datetime.now(datetime.timezone.utc)
    return (words[:36].strip("-") or "job") + now.strftime("-%Y-%m-%d-%H-%M-%S-%f")[:-3]


def _make_bucket(s3, bucket, region):
    place = {} if region == "us-east-1" else {"LocationConstraint": region}
    options = {"CreateBucketConfiguration": place} if place else {}
    try:
        s3.create_bucket(Bucket=bucket, **options)
    except (s3.exceptions.BucketAlreadyOwnedByYou, s3.exceptions.BucketAlreadyExists):
        pass


def _find(script, source_dir):
    """Returns the folder of the code, and the script's path in it."""
    folder = os.fspath(source_dir or os.path.dirname(os.path.abspath(script)))
    program = os.fspath(script) if source_dir else os.path.basename(script)
    if not os.path.isfile(os.path.join(folder, program)):
        raise server.ClientError("muster: file not found: %s" % os.path.join(folder, program))
    return folder, program


def _pack(archive, folder, entries):
    """Writes a tar.gz of these entries of a folder to a file, and rewinds the file."""
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for entry in entries:
            tar.add(os.path.join(folder, entry), arcname=entry, filter=_own_files)
    archive.seek(0)


def _own_files(member):
    parts = member.name.split("/")
    return None if "__pycache__" in parts or ".git" in parts else member


def _channels(s3, bucket, job, inputs):
    if inputs is not None and not hasattr(inputs, "items"):
        inputs = {"training": inputs}
    channels = []
    for name, place in (inputs or {}).items():
        place = os.fspath(place)
        if not place.startswith("s3://"):
            place = _upload(s3, bucket, "%s/input/%s" % (job, name), place)
        source = {
            "S3DataType": "S3Prefix",
            "S3Uri": place,
            "S3DataDistributionType": "FullyReplicated",
        }
        channels.append({"ChannelName": name, "DataSource": {"S3DataSource": source}})
    return channels


def _upload(s3, bucket, prefix, place):
    """Uploads a file, or a folder with its contents. Returns the URL."""
    if os.path.isfile(place):
        s3.upload_file(place, bucket, "%s/%s" % (prefix, os.path.basename(place)))
        return "s3://%s/%s" % (bucket, prefix)
    if not os.path.isdir(place):
        raise server.ClientError("muster: file or folder not found: %s" % place)
    for folder, _, files in os.walk(place):
        for name in files:
            path = os.path.join(folder, name)
            key = "%s/%s" % (prefix, os.path.relpath(path, place).replace(os.sep, "/"))
            s3.upload_file(path, bucket, key)
    return "s3://%s/%s" % (bucket, prefix)


def _split(url):
    if not url:
        raise server.ClientError("muster: the job has no model")
    bucket, _, key = url[len("s3://") :].partition("/")
    return bucket, key
