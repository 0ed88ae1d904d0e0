"""Runs programs of the job and raises exceptions when they fail."""

from inspect import isclass
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import threading

from muster import binary, memory
from sagemaker_training import (
    _entry_point_type,
    _MPI_ERRORS_,
    _PYTHON_ERRORS_,
    environment,
    errors,
    logging_config,
    params,
    SM_TRAINING_COMPILER_PATHS,
)

logger = logging_config.get_logger()

DEFAULT_ERROR_CLASS = errors.ExecuteUserScriptError

# As in sagemaker-training: a relative path of these characters, without . and .. as parts.
_ENTRY_POINT = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._+-]*(/[A-Za-z0-9._+-]+)*")

_TENSORFLOW_ERRORS = (
    "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError "
    "FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError "
    "OutOfRangeError PermissionDeniedError ResourceExhaustedError UnauthenticatedError "
    "UnavailableError UnimplementedError UnknownError XlaRuntimeError"
).split()

_SIGKILL_OF_A_SHELL = 137
# How much of a failed program's output its exception contains, from the first error on.
_OUTPUT_CHARACTERS_MAX = 1 << 20
# A program that has ended may have left child processes that hold its output open. Their output
# after this many seconds is shown, but not waited for.
_DRAIN_SECONDS = 2.0


def validate_entry_point(user_entry_point):
    """Returns the name. Raises ClientError if it is not a plain path in the code folder."""
    name = user_entry_point
    if not name:
        raise errors.ClientError(
            "sagemaker_program is empty; set it to the script to run, relative to the code folder, "
            "for example train.py"
        )
    parts = name.split("/")
    if not _ENTRY_POINT.fullmatch(name) or "." in parts or ".." in parts:
        raise errors.ClientError(
            "sagemaker_program is %r; expected a path in the code folder, for example train.py or "
            "bin/train.sh, of letters, digits and . _ + - /, which does not start with - or / and "
            "does not contain . or .. as a part" % name
        )
    return name


def get_debugger_exception_classes():
    """Returns the exception names of SageMaker Debugger, if it is installed and enabled."""
    found = []
    if os.environ.get("USE_SMDEBUG") != "0":
        try:
            from smdebug import exceptions

            found = [name for name in dir(exceptions) if isclass(getattr(exceptions, name))]
        except ImportError:
            pass
    return found or [DEFAULT_ERROR_CLASS]


def get_tensorflow_exception_classes():
    """Returns TensorFlow's exception names, if installed. Does not import it, as that is slow."""
    if "tensorflow" in sys.modules or importlib.util.find_spec("tensorflow") is not None:
        return list(_TENSORFLOW_ERRORS)
    return [DEFAULT_ERROR_CLASS]


def process_error_classes(error_classes):
    """Converts a class, a name, a list of both, or None to a list of names."""
    if not error_classes:
        return []
    if not isinstance(error_classes, list):
        error_classes = [error_classes]
    return [error.__name__ if isclass(error) else error for error in error_classes]


class _Pump(threading.Thread):
    """Forwards a program's output, and keeps the lines from the first error on."""

    def __init__(self, source, sink, error_classes):
        super(_Pump, self).__init__(daemon=True)
        self._source = source
        self._sink = sink
        self._signs = _PYTHON_ERRORS_ + _MPI_ERRORS_ + process_error_classes(error_classes)
        self._rest = b""
        self._kept = []
        self._kept_characters = 0

    def run(self):
        while True:
            data = os.read(self._source.fileno(), 1 << 16)
            if not data:
                break
            binary.write(self._sink, data)
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()[-_OUTPUT_CHARACTERS_MAX:]
            for line in lines:
                self._keep(line)
        self._source.close()

    def _keep(self, line):
        text = line.decode("utf-8", "replace")
        if not self._kept and not any(sign in text for sign in self._signs):
            return
        if self._kept_characters < _OUTPUT_CHARACTERS_MAX:
            self._kept.append(text.strip(" :\n\r") + "\n")
            self._kept_characters += len(self._kept[-1])

    def lines(self):
        """Returns the kept lines as one text. Call it once the program has ended."""
        self.join(_DRAIN_SECONDS)
        if self._rest and not self.is_alive():
            self._keep(self._rest)
            self._rest = b""
        return " ".join(self._kept)


class _Run(object):
    """A running program. `capture_error`: watches its output for errors."""

    def __init__(self, cmd, error_classes, cwd, capture_error, env=None, **kwargs):
        pipe = subprocess.PIPE if capture_error else None
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = subprocess.Popen(
            cmd,
            env=env or os.environ,
            cwd=cwd or environment.code_dir,
            stdout=pipe,
            stderr=pipe,
            **kwargs,
        )
        self._pumps = []
        if capture_error:
            for source, sink in (
                (self.process.stdout, sys.stdout),
                (self.process.stderr, sys.stderr),
            ):
                self._pumps.append(_Pump(source, sink, error_classes))
                self._pumps[-1].start()

    def wait(self):
        """Returns the return code and the error lines of each watched stream."""
        code = self.process.wait()
        return code, [pump.lines() for pump in self._pumps]


def start(cmd, error_classes=None, cwd=None, capture_error=False, **kwargs):
    """Starts a program and returns its Popen, without waiting for the end."""
    return _Run(cmd, error_classes, cwd, capture_error, **kwargs).process


def create(
    cmd, error_classes, processes_per_host, cwd=None, env=None, capture_error=False, **kwargs
):
    """Runs a program until it ends. Returns (return code, error lines of each stream, Popen).

    Raises ExecuteUserScriptError if it cannot start.
    """
    try:
        run = _Run(cmd, error_classes, cwd, capture_error, env, **kwargs)
    except Exception as e:
        raise DEFAULT_ERROR_CLASS(e).with_traceback(sys.exc_info()[2])
    code, output = run.wait()
    return code, output, run.process


def check_error(cmd, error_classes, processes_per_host, cwd=None, capture_error=True, **kwargs):
    """Runs a program until it ends. Returns its Popen.

    If the program fails, raises the first of the toolkit's own errors in `error_classes`, by
    default ExecuteUserScriptError. With `capture_error`, the exception contains the output.
    """
    return _run_checked(cmd, cmd, error_classes, cwd, capture_error, **kwargs)


def _run_checked(started, shown, error_classes, cwd, capture_error, **kwargs):
    """Like check_error, but the exception shows a different command than the one started."""
    killed = memory.KillCount()
    if capture_error:
        code, output, process = create(
            started, error_classes, 1, cwd=cwd, capture_error=True, **kwargs
        )
        text = _without_repeats(" ".join(output))
    else:
        run = _Run(started, error_classes, cwd, False, **kwargs)
        code, _ = run.wait()
        process, text = run.process, None
    if code:
        info = None
        if code == _SIGKILL_OF_A_SHELL and killed.grew():
            info = "OutOfMemory: Process killed by SIGKILL (signal 9)"
        raise_failure(shown, code, text, info, process_error_classes(error_classes))
    return process


def raise_failure(cmd, return_code, output, info, error_names):
    """Raises the exception for a failed program.

    The class is the first of `error_names` that the toolkit defines. Otherwise it is a new class
    with the first of these names that the output contains, or ExecuteUserScriptError.
    """
    if output and any(path in output for path in SM_TRAINING_COMPILER_PATHS):
        info = "SMTrainingCompiler Error: Error occurred in SMTrainingCompiler."
    named = (getattr(errors, str(name), None) for name in error_names)
    error_class = next((found for found in named if isclass(found)), DEFAULT_ERROR_CLASS)
    if output and error_class is DEFAULT_ERROR_CLASS:
        seen = next((str(name) for name in error_names if str(name) in output), None)
        if seen == "SMTrainingCompilerConfigurationError":
            raise errors.SMTrainingCompilerConfigurationError(output)
        if seen and seen != DEFAULT_ERROR_CLASS.__name__:
            error_class = type(seen, (errors._CalledProcessError,), {})
    command = " ".join(cmd) if isinstance(cmd, list) else cmd
    raise error_class(cmd=command, return_code=return_code, output=output, info=info)


def _without_repeats(text):
    return "\n".join(dict.fromkeys(text.split("\n"))).strip()


def python_executable():
    """Returns the path of this interpreter."""
    if not sys.executable:
        raise RuntimeError("Failed to retrieve the real path for the Python executable binary")
    return sys.executable


class ProcessRunner(object):
    """Runs the entry point as a program of this host."""

    def __init__(self, user_entry_point, args, env_vars, processes_per_host):
        self._user_entry_point = user_entry_point
        self._args = args
        self._env_vars = env_vars
        self._processes_per_host = processes_per_host

    def _create_command(self):
        kind = _entry_point_type.get(environment.code_dir, self._user_entry_point)
        name = validate_entry_point(self._user_entry_point)
        if kind is _entry_point_type.PYTHON_PACKAGE:
            module = name[:-3] if name.endswith(".py") else name
            return self._python_command() + ["-m", module] + self._args
        if kind is _entry_point_type.PYTHON_PROGRAM:
            command = self._python_command()
            if command == [python_executable()]:
                command = command + ["--"]
            return command + [name] + self._args
        words = " ".join(shlex.quote(word) for word in self._args)
        return ["/bin/sh", "-c", "./%s %s" % (shlex.quote(name), words)]

    def _python_command(self):
        return [python_executable()]

    def _setup(self):
        pass

    def _tear_down(self):
        pass

    def _error_classes(self):
        return get_debugger_exception_classes() + get_tensorflow_exception_classes()

    def run(self, wait=True, capture_error=False):
        """Runs the entry point and returns its Popen. `wait`: waits for the end and checks it.

        `capture_error`: the exception contains the program's output.
        """
        self._setup()
        command = self._create_command()
        logging_config.log_script_invocation(command, self._env_vars)
        classes = self._error_classes()
        if wait:
            process = _run_checked(self._launch(), command, classes, None, capture_error)
        else:
            process = start(self._launch(), classes, None, capture_error)
        self._tear_down()
        return process

    def _launch(self):
        """Returns the command to start, if it differs from the one to show."""
        return self._create_command()


class LaunchedRunner(ProcessRunner):
    """Runs the entry point with a launcher of `sm`, configured by hyperparameters."""

    _runner = None  # The launcher's name for `sm toolkit run`.

    def _options(self):
        return {params.MPI_PROCESSES_PER_HOST: self._processes_per_host}

    def _launch(self):
        name = validate_entry_point(self._user_entry_point)
        head, tail = binary.run_command(self._runner, self._options(), name, self._args)
        return head + tail


class CollectiveRunner(LaunchedRunner):
    """Runs the entry point on all hosts of the distribution. Each host makes the call."""

    def _create_command(self):
        return self._launch()

    def run(self, wait=True, capture_error=False):
        """Takes part in the run. Raises ExecuteUserScriptError on every host if it fails."""
        self._setup()
        logging_config.log_script_invocation(self._create_command(), self._env_vars)
        try:
            call = binary.Collective(
                self._runner,
                self._options(),
                self._user_entry_point,
                self._args,
                cwd=environment.code_dir,
            )
            if not wait:
                return call.process
            report = call.wait()
        except binary.ToolkitError as error:
            raise errors.ClientError(str(error)) from None
        if report["return_code"]:
            raise_failure(
                report.get("command") or self._create_command(),
                report["return_code"],
                report.get("output") if capture_error else None,
                report.get("info"),
                process_error_classes(self._error_classes()),
            )
        self._tear_down()
        return call.process
