"""Reads and writes files of a job, and fetches its code from S3, a folder or an archive."""

import contextlib
import errno
import json
import os
import shutil
import tempfile
from urllib import parse

from muster import binary
from sagemaker_training import environment, errors, logging_config

logger = logging_config.get_logger()


def write_success_file():
    """Writes the empty files `success`, in the folders of sagemaker-training and its guide."""
    for folder in (environment.output_dir, environment.base_dir):
        write_file(os.path.join(folder, "success"), "")


def write_failure_file(failure_msg):
    """Writes the file `failure`, unless it exists. SageMaker shows its first 1024 characters."""
    path = os.path.join(environment.output_dir, "failure")
    if os.path.exists(path):
        logger.info("%s already exists; keeping the first failure", path)
    else:
        write_file(path, failure_msg)


@contextlib.contextmanager
def tmpdir(suffix="", prefix="tmp", directory=None):
    """Creates a folder for a block, and removes it unless the block raises an exception."""
    folder = tempfile.mkdtemp(suffix=suffix, prefix=prefix, dir=directory)
    yield folder
    shutil.rmtree(folder)


def write_file(path, data, mode="w"):
    """Writes a file."""
    with open(path, mode) as file:
        file.write(data)


def read_file(path, mode="r"):
    """Returns the contents of a file."""
    with open(path, mode) as file:
        return file.read()


def read_json(path):
    """Returns a decoded JSON file."""
    with open(path, "r") as file:
        return json.load(file)


def download_and_extract(uri, path):
    """Copies the code at `uri` (s3://…, a folder, an archive, a file) into the folder `path`.

    Does nothing if the folder is not empty. Raises ClientError if it fails.
    """
    if os.path.isdir(path) and os.listdir(path):
        logger.info("%s is not empty; keeping the code in it", path)
        return
    if not uri.startswith("s3://") and not os.path.exists(uri):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
    _toolkit("fetch", uri, path)


def s3_download(url, dst):
    """Downloads an object. Raises ValueError if `url` is not s3://, ClientError if it fails."""
    if parse.urlparse(url).scheme != "s3":
        raise ValueError("%s: not an s3:// URL" % url)
    _toolkit("download", url, dst)


def _toolkit(*words):
    try:
        binary.do("toolkit", words[0], "--", *words[1:])
    except binary.ToolkitError as error:
        raise errors.ClientError(str(error)) from None
