"""Job directories that `train` runs to the end: scripts, and how they get their configuration.

`differs` is as in cases.py, of these parts: "exit", "success", "failure" (whether the files are
there), "class" (of the failure file's error), "ExitCode", "ErrorMessage", "ExtraInfo", "Command",
"text" (of a failure file without such fields), "argv", "variables.NAME".
"""

import dataclasses
import json

from reference.cases import hosts

# Leaves what the script was given in a file for the test.
DUMP = """
import json, os, sys
with open(os.environ["REPORT"], "w") as out:
    json.dump({"argv": sys.argv, "variables": dict(os.environ)}, out)
"""

MESSAGE = "the first line says who failed and how, and the last lines of output follow"
COMMAND = "the interpreter is named as PATH finds it, and no -- is needed before a checked name"
TEXT = "one line of muster's own: what, where, and what was expected"
SPAWNED = {"ErrorMessage": MESSAGE, "Command": COMMAND}
NOT_STARTED = dict.fromkeys(
    ("class", "text", "ExitCode", "ErrorMessage", "Command"),
    "it is told before an interpreter is started, which would say so with code 2",
)
KINDER = dict.fromkeys(
    ("exit", "success", "failure", "class", "text", "argv"),
    "the reference compares a name with a number and fails; the script runs here",
)


@dataclasses.dataclass
class End:
    name: str
    files: dict = dataclasses.field(
        default_factory=dict
    )  # In the code folder, or in what is submitted.
    hyperparameters: object = dataclasses.field(default_factory=dict)  # Raw JSON values.
    program: object = "train.py"  # None: not named.
    env: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()
    resources: object = None
    submit: str = ""  # What sagemaker_submit_directory names; see test_reference.submitted().
    differs: dict = dataclasses.field(default_factory=dict)


def script(text: str) -> dict:
    return {"train.py": DUMP + text}


ENDS = [
    End("success", script(""), {"epochs": "3", "x": '"a b; $(y) *"', "n": "null", "d": '{"b": 1}'}),
    End("success of a program in a folder", {"src/train.py": DUMP}, program="src/train.py"),
    End(
        "success of a shell script",
        {"train.sh": '#!/bin/sh\nexec python3 dump.py "$@"\n', "dump.py": DUMP},
        {"x": '"a b; $(y) *"', "empty": '""', "q": '"it\'s"'},
        program="train.sh",
    ),
    End("source in a folder", {**script(""), "lib/x.py": ""}, submit="folder"),
    End("source in an archive", {**script(""), "lib/x.py": ""}, submit="archive"),
    End("source in a file", script(""), submit="file"),
    End(
        "no such source folder",
        {},
        submit="nothing",
        differs={
            "exit": "the reference fails in tarfile, with the errno",
            "class": "what the job names is the client's, not the framework's",
            "text": TEXT,
        },
    ),
    End("exit code 1", script("sys.exit(1)"), differs=SPAWNED),
    End("exit code 42", script("sys.exit(42)"), {"lr": "0.1"}, differs=SPAWNED),
    End("exit code by a text", script("sys.exit('no data')"), differs=SPAWNED),
    End("an exception", script("raise ValueError('odd')"), differs=SPAWNED),
    End("SIGSEGV", script("os.kill(os.getpid(), 11)"), differs=SPAWNED),
    End("SIGKILL", script("os.kill(os.getpid(), 9)"), differs=SPAWNED),
    End(
        "exit code 137",
        script("sys.exit(137)"),
        differs={
            **SPAWNED,
            "ExtraInfo": "137 alone is no proof: the kernel knows whether memory was short",
        },
    ),
    End(
        "exit code of a shell script",
        {"train.sh": "#!/bin/sh\nexit 3\n"},
        program="train.sh",
        differs={
            "ErrorMessage": MESSAGE,
            "Command": "a shell script is started without another shell around it",
        },
    ),
    End(
        "a failure file of the script's own",
        script("open(os.environ['SM_OUTPUT_DIR'] + '/failure', 'w').write('mine'); sys.exit(3)"),
    ),
    End(
        "a failure file and success",
        script("open(os.environ['SM_OUTPUT_DIR'] + '/failure', 'w').write('mine')"),
    ),
    End("no such program", {"other.py": ""}, differs=NOT_STARTED),
    End(
        "no such shell script",
        {"other.py": ""},
        program="train.sh",
        differs={
            "exit": "the reference fails in chmod, with its number",
            "class": "the job's program is the client's, not the framework's",
            "text": TEXT,
        },
    ),
    End("a program that is a folder", {"train.py/x": ""}, differs=SPAWNED),
    End(
        "a program without extension", {"train": "#!/usr/bin/env python3\n" + DUMP}, program="train"
    ),
    End(
        "a shell script without its first line",
        {"train.sh": "python3 dump.py\n", "dump.py": DUMP},
        program="train.sh",
    ),
    End(
        "a shell script that is killed",
        {"train.sh": "#!/bin/sh\nkill -9 $$\n"},
        program="train.sh",
        differs={
            "ErrorMessage": MESSAGE,
            "ExitCode": "the signal itself, as for a Python program: no shell turns it into 137",
            "ExtraInfo": "137 alone is no proof: the kernel knows whether memory was short",
            "Command": "a shell script is started without another shell around it",
        },
    ),
    End("the program as a variable", {"other.py": DUMP}, env={"SAGEMAKER_PROGRAM": "other.py"}),
    End(
        "words of SageMaker's compiler",
        script("sys.exit('x/torch_xla/core.py')"),
        differs={
            **SPAWNED,
            "ExtraInfo": "the reference has it only where it kept the output",
        },
    ),
    End("log level by name", script(""), {"sagemaker_container_log_level": "INFO"}, differs=KINDER),
    End("log level 40", script(""), {"sagemaker_container_log_level": "40"}),
    End(
        "no inputdataconfig.json",
        script(""),
        without=("inputdataconfig.json",),
        differs={"text": TEXT},
    ),
    End("no program named", script(""), program=None, differs={"text": TEXT}),
    End("an empty program name", script(""), program="", differs={"text": TEXT}),
    End("a program name like an option", script(""), program="-c.py", differs={"text": TEXT}),
    End("a program outside", script(""), program="../train.py", differs={"text": TEXT}),
    End("a program with a space", {"a b.py": DUMP}, program="a b.py", differs={"text": TEXT}),
    End(
        "no hyperparameters.json",
        script(""),
        without=("hyperparameters.json",),
        differs={"text": TEXT},
    ),
    End(
        "no resourceconfig.json",
        script(""),
        without=("resourceconfig.json",),
        differs={"text": TEXT},
    ),
    End("broken hyperparameters.json", script(""), "{", differs={"text": TEXT}),
    End(
        "a value that no variable can carry",
        script(""),
        {"x": '"a\\u0000b"'},
        differs={
            "class": "the job's parameters are the client's, not the framework's",
            "text": TEXT,
        },
    ),
]
