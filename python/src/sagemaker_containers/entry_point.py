"""Fetches the user's code to this host and runs its entry point."""

from sagemaker_containers import _runner
from sagemaker_training import entry_point


def run(
    uri,
    user_entry_point,
    args=None,
    env_vars=None,
    wait=True,
    capture_error=False,
    runner=_runner.ProcessRunnerType,
    extra_opts=None,
):
    """See sagemaker_training.entry_point.run."""
    return entry_point.run(
        uri,
        user_entry_point,
        args,
        env_vars,
        wait=wait,
        capture_error=capture_error,
        runner_type=runner,
        extra_opts=extra_opts,
    )


def install(name, dst, capture_error=False):
    """Prepares an entry point in the folder `dst`; see sagemaker_training.entry_point.install."""
    entry_point.install(name, dst, capture_error)
