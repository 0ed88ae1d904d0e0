"""Files of a job, and its code from S3, a folder or an archive."""

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
    """The empty files `success`, where the reference and where its guide say: the job is done."""
    for folder in (environment.output_dir, environment.base_dir):
        write_file(os.path.join(folder, "success"), "")


def write_failure_file(failure_msg):
    """The file `failure`, whose first 1024 characters SageMaker shows. The first one stays."""
    path = os.path.join(environment.output_dir, "failure")
    if os.path.exists(path):
        logger.info("%s is there already: the first failure stays", path)
    else:
        write_file(path, failure_msg)


@contextlib.contextmanager
def tmpdir(suffix="", prefix="tmp", directory=None):
    """A new folder for the block, removed when the block ends without an exception."""
    folder = tempfile.mkdtemp(suffix=suffix, prefix=prefix, dir=directory)
    yield folder
    shutil.rmtree(folder)


def write_file(path, data, mode="w"):
    """Writes a file."""
    with open(path, mode) as file:
        file.write(data)


def read_file(path, mode="r"):
    """All of a file."""
    with open(path, mode) as file:
        return file.read()


def read_json(path):
    """A JSON file, decoded."""
    with open(path, "r") as file:
        return json.load(file)


def download_and_extract(uri, path):
    """Lays the code that `uri` names (s3://…, a folder, an archive, a file) into the folder `path`.

    Does nothing if the folder has something in it. Raises ClientError if it cannot.
    """
    if os.path.isdir(path) and os.listdir(path):
        logger.info("%s is not empty: the code stays as it is", path)
        return
    if not uri.startswith("s3://") and not os.path.exists(uri):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
    _toolkit("fetch", uri, path)


def s3_download(url, dst):
    """Downloads one object. Raises ValueError for another scheme, ClientError if it cannot."""
    if parse.urlparse(url).scheme != "s3":
        raise ValueError("%s: not an s3:// URL" % url)
    _toolkit("download", url, dst)


def _toolkit(*words):
    try:
        binary.do("toolkit", words[0], "--", *words[1:])
    except binary.ToolkitError as error:
        raise errors.ClientError(str(error)) from None
