"""Finds and runs the `sm` program. Callers interpret its output."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile


class ToolkitError(Exception):
    """A command of `sm` failed. The message is the error line that `sm` printed."""


def program():
    """Returns the path of `sm`: from MUSTER_SM, next to this package, or on PATH."""
    named = os.environ.get("MUSTER_SM")
    if named:
        return named
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        os.path.dirname(sys.executable or ""),
        sysconfig.get_path("scripts"),
        os.path.join(packages, "bin"),  # pip install --target
    ]
    if "posix_user" in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", "posix_user"))
    for folder in folders:
        for name in ("muster-sm", "sm"):  # The wheel's `sm` is a script that starts the first.
            path = os.path.join(folder, name)
            if folder and os.access(path, os.X_OK):
                return path
    found = shutil.which("sm")
    if found is None:
        raise ToolkitError(
            "muster: program `sm` not found next to %s or on PATH; install the muster wheel "
            "or set MUSTER_SM" % (sys.executable or "python")
        )
    return found


def ask(*words, **options):
    """Runs `sm WORDS` and returns its output.

    `stdin`: the input, empty by default. Raises ToolkitError with the last error line.
    """
    stdin = options.pop("stdin", "")
    assert not options, options
    done = subprocess.run(
        [program()] + list(words),
        input=stdin.encode("utf-8", "surrogateescape"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        raise ToolkitError(_last_line(done.stderr) or _end_text(words, done.returncode))
    return done.stdout.decode("utf-8", "surrogateescape")


def environment(flag, resource_config, input_data_config, hyperparameters):
    """Returns the decoded JSON of `sm env FLAG` for a job with these three configurations."""
    given = {
        "resource_config": resource_config,
        "input_data_config": input_data_config,
        "hyperparameters": hyperparameters,
    }
    return json.loads(ask("env", flag, "--stdin", stdin=json.dumps(given, default=str)))


def do(*words):
    """Runs `sm WORDS` and forwards its output. Raises ToolkitError with the last error line."""
    process = subprocess.Popen(
        [program()] + list(words), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    last = b""
    for line in process.stderr:
        write(sys.stderr, line)
        last = line.strip() or last
    process.stderr.close()
    if process.wait() != 0:
        raise ToolkitError(_last_line(last) or _end_text(words, process.returncode))


def run_command(runner, options, entry_point, args):
    """Returns the `sm` command that runs a job's entry point, as two lists of words."""
    command = [program(), "toolkit", "run", "--runner", runner]
    if sys.executable:
        command += ["--python", sys.executable]
    for name in sorted(options):
        if options[name] is not None:
            command += ["--option", "%s=%s" % (name, options[name])]
    return command, ["--", entry_point] + list(args)


class Collective(object):
    """A running `sm toolkit run`, which all hosts call together, and its report."""

    def __init__(self, runner, options, entry_point, args, cwd=None):
        head, tail = run_command(runner, options, entry_point, args)
        # A file, not a pipe: it needs no reader while the program runs, and processes that inherit
        # it cannot block us.
        self._report = tempfile.TemporaryFile()
        fd = self._report.fileno()
        self.process = subprocess.Popen(
            head + ["--report", str(fd)] + tail, cwd=cwd, pass_fds=(fd,), stdin=subprocess.DEVNULL
        )

    def wait(self):
        """Returns the report: return_code, output, command, info.

        Raises ToolkitError if the entry point was not run.
        """
        code = self.process.wait()
        self._report.seek(0)
        text = self._report.read()
        self._report.close()
        report = json.loads(text.decode("utf-8", "replace")) if text.strip() else {}
        if "error" in report:
            raise ToolkitError(report["error"])
        if "return_code" not in report:
            if code == 0:
                report["return_code"] = 0
            else:
                raise ToolkitError(_end_text(("toolkit", "run"), code))
        return report


def write(stream, data):
    """Writes bytes unchanged to a text stream, which a test may have replaced."""
    stream.flush()
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except AttributeError:
        stream.write(data.decode("utf-8", "replace"))


def _last_line(data):
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _end_text(words, code):
    how = "killed by signal %d" % -code if code < 0 else "exited with code %d" % code
    return "sm %s: %s" % (" ".join(words[:2]), how)
