"""A time limit for a block of code. Uses SIGALRM, so it works in the main thread only."""

import contextlib
import signal


class TimeoutError(Exception):
    """The block took too long. As in sagemaker-training, this is not the built-in class."""


@contextlib.contextmanager
def timeout(seconds=0, minutes=0, hours=0):
    """Raises TimeoutError inside the block after the sum of the three times."""
    limit = seconds + 60 * minutes + 3600 * hours

    def on_alarm(signum, frame):
        raise TimeoutError("timed out after {} seconds".format(limit))

    try:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, limit)
        yield
    finally:
        signal.alarm(0)
