"""Calls give the results, or the exceptions, that they give with the reference."""

import pytest

PACKAGE = "sagemaker_training."

MAPPINGS = [
    {},
    {"batch_size": 25, "model_dir": "/opt/ml/model"},
    {"n": 1, "nn": 2, "": 3},
    {"flag": True, "off": False, "nothing": None, "text": "", "spaces": "a b  c"},
    {"list": [1, 2, "a"], "nested": {"b": 1, "a": [1, {"c": None}]}, "empty": {}},
    {"float": 1e5, "small": 1e-7, "big": 1e16, "int": 10**30, "minus": -0.0},
    {"umlaut": "größer", "emoji": "🦀", "quote": 'it\'s "so"', "newline": "a\nb", "tab": "\t"},
    {"shell": "$(id); `id` | cat > /x && y", "dash": "--x", "colon": ":", "equals": "a=b"},
    {"Mixed-Case_1.2": "x", "UPPER": "y", "ß": "z"},
    {"dict": {"z": "1", "y": True, "x": None, "w": [1]}},
    {"json": '{"a": 1}', "number as text": "1.10", "inf": float("inf")},
]

SPLITS = [
    ({"a": 1, "b": 2, "sagemaker_x": 3}, ["a"], None),
    ({"a": 1, "b": 2, "sagemaker_x": 3}, None, "sagemaker_"),
    ({"a": 1, "b": 2, "sagemaker_x": 3}, ["b", "absent"], "sagemaker_"),
    ({"a": 1}, [], ""),
    ({}, ["a"], "b"),
]

ERRORS = [
    ("ClientError", ["bad"], {}),
    ("ImportModuleError", ["no module"], {}),
    ("ExecuteUserScriptError", ["python t.py"], {}),
    ("ExecuteUserScriptError", ["python t.py", 42, "boom"], {}),
    ("ExecuteUserScriptError", [], {"cmd": "c", "return_code": 137, "output": "o", "info": "OOM"}),
    ("ExecuteUserScriptError", [], {"cmd": "c", "output": "ü\n\nlines \n"}),
    ("InstallModuleError", ["pip install .", 1, None], {}),
    ("InstallRequirementsError", [], {"cmd": "pip", "return_code": "1", "info": ""}),
    ("ChannelDoesNotExistError", ["train"], {}),
    ("UnsupportedFormatError", ["text/html"], {}),
    ("SMTrainingCompilerConfigurationError", ["x"], {}),
]

ENTRY_POINTS = [
    "train.py",
    "bin/train.sh",
    "a+b_c-d.e",
    "pkg",
    ".hidden/x.py",
    "",
    None,
    "-c",
    "/etc/passwd",
    "../x.py",
    "a/../b.py",
    "a/./b.py",
    "a//b.py",
    "a b.py",
    "a;b.py",
    "$(id).py",
    "tab\t.py",
    "ü.py",
    "a/",
    "train.py\n",
]


def calls() -> list:
    made = []
    for mapping in MAPPINGS:
        made.append(["mapping", "to_cmd_args", [mapping], {}])
        made.append(["mapping", "to_env_vars", [mapping], {}])
    made += [["mapping", "split_by_criteria", list(split), {}] for split in SPLITS]
    made += [["errors", name, args, keywords] for name, args, keywords in ERRORS]
    made += [["process", "validate_entry_point", [name], {}] for name in ENTRY_POINTS]
    for classes in (None, [], "A", ["A", "B"], ["ValueError"]):
        made.append(["process", "process_error_classes", [classes], {}])
    made += [
        ["environment", "channel_path", ["train"], {}],
        ["environment", "num_cpus", [], {}],
        ["environment", "num_gpus", [], {}],
        ["environment", "num_neurons", ["ml.trn2.48xlarge"], {}],
        ["environment", "num_neurons", ["ml.p3.2xlarge"], {}],
        ["environment", "validate_smddprun", [], {}],
        ["environment", "read_hyperparameters", [], {}],
        ["environment", "read_resource_config", [], {}],
        ["modules", "exists", ["json"], {}],
        ["modules", "exists", ["no_such_module"], {}],
        ["modules", "has_requirements", ["/"], {}],
        ["runner", "get", ["nonsense"], {}],
        ["files", "read_file", ["/nonexistent"], {}],
        ["files", "s3_download", ["http://x/y", "/tmp/never"], {}],
        ["files", "download_and_extract", ["/nonexistent", "/proc/self/fdinfo/none"], {}],
        ["encoders", "encode", [[1, 2, 3], "application/json"], {}],
        ["encoders", "encode", [[1, 2, 3], "text/csv"], {}],
        ["encoders", "encode", [[[1, 2], [3, 4]], "text/csv"], {}],
        ["encoders", "encode", [[1], "text/html"], {}],
        ["encoders", "decode", ["x", "text/html"], {}],
        ["_entry_point_type", "get", ["/", "x.sh"], {}],
        ["_entry_point_type", "get", ["/", "x.py"], {}],
        ["_entry_point_type", "get", ["/", "x"], {}],
        ["_entry_point_type", "get", ["/nonexistent", "x.py"], {}],
        ["functions", "error_wrapper", [None, None], {"nonsense": 1}],
    ]
    return [[PACKAGE + module, *rest] for module, *rest in made]


# An index into calls() is no name: what is otherwise is told by module, function and argument.
OTHERWISE = {
    "process.validate_entry_point('train.py\\n')": "a name may not end in a line break",
}


def name_of(call) -> str:
    module, function, args, _ = call
    return f"{module[len(PACKAGE):]}.{function}({', '.join(map(repr, args))})"


def test_calls_give_the_same_results(ask_both):
    asked = calls()
    theirs, ours = ask_both("call", asked)
    differing = {
        name_of(call): (their, our)
        for call, their, our in zip(asked, theirs, ours, strict=True)
        if their != our and name_of(call) not in OTHERWISE
    }
    assert differing == {}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_otherwise_is_so(ask_both, name):
    asked = [call for call in calls() if name_of(call) == name]
    theirs, ours = ask_both("call", asked)
    assert len(asked) == 1 and theirs != ours, "no difference any more: take it off the list"


def test_arrays_become_the_same_records(ask_both):
    rows = [[1, 0, 300], [0, -7, 0]]
    asked = [
        [rows, kind, sparse, labels]
        for kind in ("int64", "float64", "float32", "int16")
        for sparse in (False, True)
        for labels in (None, [1, 0], [0.5, -2.0], [1, 2, 3, 4])
    ]
    asked += [
        [[1.5, 2.5], "float64", False, None],
        [[[0.0] * 3], "float32", True, None],
        [[[2**31 - 1, -(2**31)]], "int64", False, None],
        [[[2**31]], "int64", False, None],
    ]
    theirs, ours = ask_both("recordio", asked)
    for question, their, our in zip(asked, theirs, ours, strict=True):
        if "raises" in their:  # protobuf's own words are not ours.
            assert our.get("raises") == their["raises"], question
        else:
            assert our == their, question
