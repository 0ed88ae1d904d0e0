"""Files of output/intermediate go to S3 while the job runs. `sm toolkit sync` does the work."""

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
    """A running sync, with what callers use of the reference's multiprocessing.Process."""

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
        """Ends it once everything that was written is uploaded. To be called again at will."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass


def start_sync(s3_output_location, region, endpoint_url=None):
    """Starts the sync to the job's place below `s3_output_location`; what has `join`, or None.

    None, and no sync: without a location, for file://, and where the folder is there already
    (somebody else syncs it). Raises ValueError for another scheme.
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
    process.stdout.readline()  # The line says that the folder is watched.
    process.stdout.close()
    return _Sync(process)
