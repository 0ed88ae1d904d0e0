"""Uploads the files in output/intermediate to S3 while the job runs, with `sm toolkit sync`."""

import os
import subprocess
from urllib.parse import urlparse

from muster import binary
from sagemaker_training import environment, logging_config, params

logger = logging_config.get_logger()

intermediate_path = environment.output_intermediate_dir
failure_file_path = os.path.join(environment.output_dir, "failure")
success_file_path = os.path.join(environment.output_dir, "success")
tmp_dir_path = os.path.join(intermediate_path, ".tmp.sagemaker_s3_sync")


class _Sync(object):
    """A running sync. It has the parts of multiprocessing.Process that callers use."""

    def __init__(self, process):
        self._process = process
        self.daemon = True

    @property
    def pid(self):
        return self._process.pid

    @property
    def exitcode(self):
        return self._process.poll()

    def is_alive(self):
        return self._process.poll() is None

    def join(self, timeout=None):
        """Waits until all files are uploaded and the sync has ended. Can be called repeatedly."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass


def start_sync(s3_output_location, region, endpoint_url=None):
    """Starts the sync to the job's prefix below `s3_output_location`. Returns it, or None.

    Starts nothing and returns None without a location, for file://, or if the folder already
    exists, because then another process syncs it. Raises ValueError for other schemes.
    """
    if not s3_output_location or os.path.exists(intermediate_path):
        return None
    scheme = urlparse(s3_output_location).scheme
    if scheme not in ("file", "s3"):
        raise ValueError("%s: expected s3:// or file://" % s3_output_location)
    if scheme == "file":
        os.makedirs(intermediate_path)
        return None
    env = dict(os.environ)
    env[params.S3_OUTPUT_LOCATION_ENV] = s3_output_location
    if region:
        env["AWS_REGION"] = region
    if endpoint_url:
        env[params.S3_ENDPOINT_URL] = endpoint_url
    process = subprocess.Popen(
        [binary.program(), "toolkit", "sync"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    )
    process.stdout.readline()  # `sm` prints this line once it watches the folder.
    process.stdout.close()
    return _Sync(process)
