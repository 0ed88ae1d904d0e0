"""Counts out-of-memory kills in this control group."""

_ROOT = "/sys/fs/cgroup"


def _kills():
    """Returns the counter, or None if the kernel does not report it."""
    for folder, name in _files():
        try:
            with open("%s/%s" % (folder.rstrip("/"), name)) as file:
                for line in file:
                    words = line.split()
                    if len(words) == 2 and words[0] == "oom_kill":
                        return int(words[1])
        except (OSError, ValueError):
            continue
    return None


def _files():
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for fields in lines:
        if len(fields) != 3:
            continue
        _, controllers, path = fields
        if not controllers:
            folder, name = _ROOT, "memory.events"
        elif "memory" in controllers.split(","):
            folder, name = _ROOT + "/memory", "memory.oom_control"
        else:
            continue
        yield folder + path, name
        yield folder, name  # In a container the path may be the machine's.


class KillCount(object):
    """Create it before a program runs; grew() then says if the kernel killed a process since."""

    def __init__(self):
        self._at_start = _kills()

    def grew(self):
        now = _kills()
        return None not in (self._at_start, now) and now > self._at_start
