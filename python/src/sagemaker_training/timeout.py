"""A time limit for a block of code, by SIGALRM: for the main thread only."""

import contextlib
import signal


class TimeoutError(Exception):
    """The block took too long. Not the builtin of that name, as in the reference."""


@contextlib.contextmanager
def timeout(seconds=0, minutes=0, hours=0):
    """Raises TimeoutError inside the block once the sum of the three has passed."""
    limit = seconds + 60 * minutes + 3600 * hours

    def on_alarm(signum, frame):
        raise TimeoutError("timed out after {} seconds".format(limit))

    try:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, limit)
        yield
    finally:
        signal.alarm(0)
