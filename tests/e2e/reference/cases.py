"""Job directories that muster and the reference must read alike: variables, arguments, properties.

`differs` names what may not be equal, each part with its reason: "refused" (muster refuses a job
that the reference takes), "accepted" (the other way round), "properties.NAME", "env.NAME", "args",
"side.NAME". What is not named must be equal, and what is named must differ.
Run tools/reference_vectors.py after a change; src/host/env/reference_test.cc compares.
"""

import dataclasses
import json
import pathlib


@dataclasses.dataclass
class Case:
    name: str
    hyperparameters: object = dataclasses.field(default_factory=dict)  # str, bytes: as it is.
    resources: object = None  # None: one host.
    channels: object = dataclasses.field(default_factory=dict)
    env: dict = dataclasses.field(default_factory=dict)
    tools: dict = dataclasses.field(default_factory=dict)  # Programs first on PATH: name to script.
    given: dict = dataclasses.field(default_factory=dict)  # Arguments of Environment().
    without: tuple = ()  # Files that are not there.
    differs: dict = dataclasses.field(default_factory=dict)

    def config(self) -> dict[str, str | bytes]:
        """The files in input/config."""
        files = {
            "hyperparameters.json": self.hyperparameters,
            "resourceconfig.json": hosts("algo-1") if self.resources is None else self.resources,
            "inputdataconfig.json": self.channels,
        }
        return {
            name: value if isinstance(value, (str, bytes)) else json.dumps(value)
            for name, value in files.items()
            if name not in self.without
        }


def lay_out(case: Case, base: pathlib.Path) -> None:
    """Writes the files of a case."""
    config, tools = base / "input" / "config", base / "tools"
    for folder in (config, tools, base / "code"):
        folder.mkdir(parents=True)
    for name, text in case.config().items():
        (config / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, script in case.tools.items():
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)


def hosts(*names: str, current: str = "algo-1", **more) -> dict:
    return {"current_host": current, "hosts": list(names), **more}


def group(name: str, *names: str, instance_type: str = "ml.m5.large") -> dict:
    return {"instance_group_name": name, "instance_type": instance_type, "hosts": list(names)}


def sdk(**values) -> dict:
    """As the SDK sends hyperparameters: every value JSON text."""
    return {name: json.dumps(value) for name, value in values.items()}


NO_HOST_LIST = "ranks and daemons are started by these names"
NO_ROLL_CALL = "a host that the job does not list could not be told from a stranger"
KINDER = "nothing that the job needs depends on it"
NEURON_LS = """#!/bin/sh
[ "$1" = -j ] && echo '[{"nc_count": 2}, {"nc_count": 2}, {"other": 1}]'
"""
NVIDIA_SMI = """#!/bin/sh
[ "$1" = --list-gpus ] || exit 9
echo 'GPU 0: NVIDIA A100 (UUID: GPU-1)'
echo '  MIG 1g.5gb Device 0: (UUID: MIG-1)'
echo 'GPU 1: NVIDIA A100 (UUID: GPU-2)'
"""
TWO_GROUPS = hosts(
    "algo-1",
    "algo-2",
    "algo-3",
    current="algo-2",
    current_group_name="gpu",
    current_instance_type="ml.p4d.24xlarge",
    network_interface_name="eth1",
    instance_groups=[
        group("cpu", "algo-1"),
        group("gpu", "algo-2", "algo-3", instance_type="ml.p4d.24xlarge"),
    ],
)

NUMBERS = [
    Case("integers", {"a": "1", "b": "-7", "c": "0", "d": "-0", "e": "007", "f": "+1", "g": "1_0"}),
    Case("plain floats", {"a": "0.1", "b": "1.10", "c": "-0.0", "d": ".5", "e": "5.", "f": "1e5"}),
    Case("floats around 1e15", {"a": "1e15", "b": "1e16", "c": "123456789012345680.0"}),
    Case("floats around 9e15", {"a": "9007199254740993.0", "b": "9999999999999999.0"}),
    Case(
        "small floats", {"a": "0.0001", "b": "0.00001", "c": "1e-5", "d": "5e-324", "e": "1e-400"}
    ),
    Case("large floats", {"a": "1.7976931348623157e308", "b": "1e309", "c": "-1e999", "d": "1E22"}),
    Case(
        "digits that round", {"a": "0.1000000000000000055", "b": "2.675", "c": "1e23", "d": "4.35"}
    ),
    Case("not a number", {"a": "NaN", "b": "nan", "c": "[NaN]", "d": "-NaN"}),
    Case("infinity", {"a": "Infinity", "b": "-Infinity", "c": '{"x": Infinity}', "d": "inf"}),
    Case(
        "big integers", {"a": "123456789012345678901234567890", "b": str(-(2**63)), "c": str(2**64)}
    ),
    Case("an integer beyond Python's digits", {"a": "9" * 4300, "b": "9" * 4301}),
    Case("raw numbers", {"a": 1, "b": 1.5, "c": 1e16, "d": -0.0, "e": 12345678901234567890}),
]

TEXTS = [
    Case("quoted JSON strings", sdk(a="x", b="", c="1", d="null", e='say "hi"', f="a\nb\tc")),
    Case(
        "bare texts",
        {"a": "x y", "b": "a=b", "c": "--x", "d": "'q'", "e": '"', "f": "{", "g": "[1"},
    ),
    Case("empty and blank", {"a": "", "b": " ", "c": " 5 ", "d": "\n1\n", "e": "\u00a05"}),
    Case("null and booleans", {"a": "null", "b": "true", "c": "false", "d": "True", "e": "None"}),
    Case("raw null and booleans", {"a": None, "b": True, "c": False}),
    Case(
        "unicode",
        {"a": "é", "b": '"\\u00e9"', "c": "日本", "d": '["日本"]', "e": "😀", "f": '["😀"]'},
    ),
    Case(
        "controls", sdk(a="\x01\x7f", b="\u2028\u00ad\u200b", c=["\x01\x7f\u2028\u00ad"], d="\r\n")
    ),
    Case(
        "shell text",
        {"a": "$(reboot) `id` ; rm -rf /", "b": "a'b\"c\\d", "c": "*", "d": "~", "e": "!"},
    ),
    Case(
        "a lone surrogate inside a list", {"a": '["\\ud800"]', "b": '["\\udc80", "\\ud83d\\ude00"]'}
    ),
    Case("a lone surrogate", {"a": '"\\ud800x"'}),
    Case("NUL", sdk(a="x\0y", b=["x\0y"])),
    Case("trailing garbage", {"a": "1 2", "b": "{} x", "c": "[1,]", "d": '{"a":1,}', "e": "'a'"}),
    Case("a byte order mark in a value", {"a": "\ufeff1"}),
    Case("escapes", {"a": '"\\/\\b\\f\\u0041"', "b": '"\\x41"', "c": '"\\u12"', "d": '"raw\ttab"'}),
]

NESTED = [
    Case(
        "lists",
        {"a": "[]", "b": '[1,  2.0, true, null, "x"]', "c": "[[1], [2, [3]]]", "d": [1, "x"]},
    ),
    Case(
        "dicts",
        {"a": "{}", "b": '{"b": 1, "a": [1]}', "c": '{"x": {"z": 1, "y": null}}', "d": {"k": "v"}},
    ),
    Case(
        "a dict with odd keys",
        {"a": '{"": 1, "a b": 2, "é": 3, "a": "x=y,z"}', "b": '{"1": 2, "10": 3}'},
    ),
    Case(
        "keys twice", '{"a": "1", "b": "2", "a": "3", "c": "{\\"x\\": 1, \\"y\\": 2, \\"x\\": 3}"}'
    ),
    Case("quotes inside lists", {"a": '["a\'b", "a\\"b", "a\'b\\"c", "\\\\"]'}),
    Case("nested 200 deep", {"a": "[" * 200 + "]" * 200}),
    Case(
        "nested 300 deep",
        {"a": "[" * 300 + "]" * 300},
        differs={"refused": "more than 256 levels are nobody's parameter, and a parser's risk"},
    ),
    Case("nested beyond Python's recursion", {"a": "[" * 100000}),
    Case("a text of 64 KiB", sdk(a="x" * 65536)),
]

NAMES = [
    Case("one letter", {"a": "1", "é": "2", "日": "3", "-": "4", "1": "5"}),
    Case("dots, dashes and spaces", {"a.b": "1", "a-b": "2", "a b": "3", "--x": "4", "a=b": "5"}),
    Case("no name", {"": "1"}),
    Case("names that differ in case", {"lr": "1", "LR": "2", "Lr": "3"}),
    Case(
        "names in an order of their own",
        {"b": "1", "B": "2", "a": "3", "_": "4", "é": "5", "10": "6"},
    ),
    Case(
        "names of upper case beyond ASCII", {"straße": "1", "ñandú": "2", "ключ": "3", "ﬁne": "4"}
    ),
    Case(
        "names like the variables",
        {"hps": "1", "hosts": "2", "channel_train": "3", "user_args": "4"},
    ),
    Case("mp_parameters", {"mp_parameters": '{"a": 1}'}),
]

PLATFORM = [
    Case(
        "all parameters of the platform",
        sdk(
            sagemaker_program="train.py",
            sagemaker_submit_directory="s3://bucket/source.tar.gz",
            sagemaker_enable_cloudwatch_metrics=False,
            sagemaker_region="eu-west-1",
            sagemaker_container_log_level=10,
            sagemaker_job_name="job-1",
            default_user_module_name="m",
            _tuning_objective_metric="loss",
            sagemaker_s3_output="s3://bucket/out",
            epochs=3,
        ),
    ),
    Case(
        "parameters of frameworks",
        sdk(
            sagemaker_parameter_server_enabled=True,
            sagemaker_instance_type="ml.x",
            sagemaker_x=None,
            sagemaker_nested={"a": [1]},
            not_sagemaker_x=1,
            Sagemaker_y=2,
        ),
    ),
    Case("a program with folders", sdk(sagemaker_program="src/train.py")),
    Case("a shell program", sdk(sagemaker_program="train.sh")),
    Case("a program without extension", sdk(sagemaker_program="train")),
    Case("no program", {}),
    Case("an empty program", sdk(sagemaker_program="")),
    Case("a null program", sdk(sagemaker_program=None)),
    Case(
        "the program as a variable",
        sdk(sagemaker_program="a.py"),
        env={"SAGEMAKER_PROGRAM": "b.py"},
    ),
    Case("an empty program variable", sdk(sagemaker_program="a.py"), env={"SAGEMAKER_PROGRAM": ""}),
    Case("a program that is a number", {"sagemaker_program": "5"}),
    Case(
        "a submit directory as a variable",
        env={"SAGEMAKER_SUBMIT_DIRECTORY": "/opt/x"},
        differs=dict.fromkeys(
            ("properties.module_dir", "env.SM_MODULE_DIR", "env.SM_TRAINING_ENV"),
            "the reference reads the variable and then forgets it; an image that sets it means it",
        ),
    ),
    Case("a submit directory that is a folder", sdk(sagemaker_submit_directory="/opt/ml/code")),
    Case("a null submit directory", sdk(sagemaker_submit_directory=None)),
    Case("a submit directory that is a number", sdk(sagemaker_submit_directory=1.5)),
    Case("a region from the environment", env={"AWS_DEFAULT_REGION": "us-east-2"}),
    Case("AWS_REGION alone", env={"AWS_REGION": "us-east-2"}),
    Case("a null region", sdk(sagemaker_region=None), env={"AWS_DEFAULT_REGION": "us-east-2"}),
    Case("a region that is a number", sdk(sagemaker_region=1), differs={"accepted": KINDER}),
    Case("a null job name", sdk(sagemaker_job_name=None), differs={"accepted": KINDER}),
    Case(
        "a job name of digits",
        {"sagemaker_job_name": "20240229"},
        differs={
            "accepted": "a job may well be called by a date; there it is a number",
        },
    ),
    Case("TRAINING_JOB_NAME", env={"TRAINING_JOB_NAME": "job-x"}),
    Case("an empty TRAINING_JOB_NAME", env={"TRAINING_JOB_NAME": ""}),
    Case(
        "a framework module",
        env={"SAGEMAKER_TRAINING_MODULE": "sagemaker_pytorch_container.training:main"},
    ),
    Case("an empty framework module", env={"SAGEMAKER_TRAINING_MODULE": ""}),
    Case("log level text", sdk(sagemaker_container_log_level="INFO")),
    Case("log level null", sdk(sagemaker_container_log_level=None)),
    Case("log level float", sdk(sagemaker_container_log_level=20.0)),
    Case("log level bare", {"sagemaker_container_log_level": 30}),
    Case("log level as a variable", env={"SAGEMAKER_CONTAINER_LOG_LEVEL": "40"}),
    Case(
        "log level as a variable that is no number",
        env={"SAGEMAKER_CONTAINER_LOG_LEVEL": "INFO"},
        differs={"accepted": "the reference reads the variable, fails on it, and never uses it"},
    ),
    Case(
        "variables that look like muster's own results",
        env={
            "SM_HPS": "{}",
            "SM_HOSTS": "[]",
            "CURRENT_HOST": "algo-9",
            "SAGEMAKER_REGION": "x",
            "SAGEMAKER_JOB_NAME": "y",
            "SM_HP_MP_PARAMETERS": '{"a":1}',
        },
    ),
    Case("empty mp parameters", env={"SM_HP_MP_PARAMETERS": "{}"}),
    Case("blank mp parameters", env={"SM_HP_MP_PARAMETERS": ""}),
]

CHANNELS = [
    Case(
        "one channel",
        channels={
            "train": {
                "TrainingInputMode": "File",
                "S3DistributionType": "FullyReplicated",
                "RecordWrapperType": "None",
            }
        },
    ),
    Case(
        "several channels",
        channels={
            "validation": {"ContentType": "text/csv", "TrainingInputMode": "File"},
            "train": {"ContentType": "application/x-recordio", "RecordWrapperType": "RecordIO"},
            "Test": {},
            "code": {"TrainingInputMode": "FastFile"},
        },
    ),
    Case(
        "channels with special names",
        channels={"a-b": {}, "a.b": {}, "UPPER": {}, "日本": {}, "x y": {}},
    ),
    Case("channels that differ in case", channels={"train": {}, "TRAIN": {}}),
    Case("a channel without content", channels={"train": None, "test": "odd"}),
    Case(
        "a channel outside",
        channels={"../x": {}},
        differs={
            "refused": "its folder would be outside input/data",
        },
    ),
    Case("channels and parameters of one name", {"channel_train": "1"}, channels={"train": {}}),
]

CLUSTERS = [
    Case("three hosts", resources=hosts("algo-1", "algo-2", "algo-3", current="algo-2")),
    Case("hosts in an order of their own", resources=hosts("algo-3", "algo-1")),
    Case(
        "an interface and a type",
        resources=hosts(
            "algo-1",
            network_interface_name="ethwe",
            current_instance_type="ml.c5.xlarge",
            odd=[1, None],
        ),
    ),
    Case(
        "one group",
        resources=hosts(
            "algo-1",
            "algo-2",
            current_group_name="homogeneousCluster",
            instance_groups=[group("homogeneousCluster", "algo-1", "algo-2")],
        ),
    ),
    Case("two groups", resources=TWO_GROUPS),
    Case("two groups with MPI", sdk(sagemaker_mpi_enabled=True), TWO_GROUPS),
    Case(
        "two groups with a named distribution",
        sdk(
            sagemaker_mpi_enabled=True,
            sagemaker_distribution_instance_groups=["cpu", "gpu"],
        ),
        TWO_GROUPS,
    ),
    Case(
        "a distribution of another group",
        sdk(
            sagemaker_torch_distributed_enabled=True,
            sagemaker_distribution_instance_groups=["cpu"],
        ),
        TWO_GROUPS,
    ),
    Case(
        "a distribution of no group",
        sdk(
            sagemaker_parameter_server_enabled=True,
            sagemaker_distribution_instance_groups=[],
        ),
        TWO_GROUPS,
    ),
    Case(
        "a distribution named by a text",
        sdk(
            sagemaker_distribution_instance_groups="gpu-and-more",
        ),
        TWO_GROUPS,
    ),
    Case(
        "a distribution that is null",
        sdk(
            sagemaker_mpi_enabled=True,
            sagemaker_distribution_instance_groups=None,
        ),
        TWO_GROUPS,
        differs={"accepted": "null means none, as everywhere in hyperparameters"},
    ),
    Case(
        "MPI without groups",
        sdk(sagemaker_mpi_enabled=True),
        hosts("algo-1", "algo-2", current="algo-2"),
    ),
    Case("MPI switched off", sdk(sagemaker_mpi_enabled=False), hosts("algo-1", "algo-2")),
    Case("MPI by a text", sdk(sagemaker_mpi_enabled="false"), hosts("algo-1", "algo-2")),
    Case(
        "every kind of distribution",
        sdk(
            sagemaker_distributed_dataparallel_enabled=True,
            sagemaker_pytorch_ddp_enabled=True,
            sagemaker_pytorch_xla_multi_worker_enabled=True,
            sagemaker_multi_worker_mirrored_strategy_enabled=True,
        ),
        hosts(
            "algo-1",
            "algo-2",
            current_group_name="g",
            instance_groups=[group("g", "algo-1", "algo-2")],
        ),
    ),
    Case(
        "a group that lists no host of ours",
        resources=hosts(
            "algo-1",
            current_group_name="g",
            instance_groups=[group("other", "algo-1")],
        ),
    ),
    Case(
        "groups of one name",
        resources=hosts(
            "algo-1",
            "algo-2",
            current_group_name="g",
            instance_groups=[group("g", "algo-1"), group("g", "algo-2")],
        ),
    ),
    Case("an empty list of groups", resources=hosts("algo-1", instance_groups=[])),
    Case(
        "groups that are null",
        resources=hosts("algo-1", instance_groups=None),
        differs={"accepted": "null means none"},
    ),
    Case(
        "a topology",
        resources=hosts(
            "algo-1",
            "algo-2",
            topology=[{"hostName": "algo-1", "capacityUnitId": "u-1"}],
        ),
    ),
    Case("an empty topology", resources=hosts("algo-1", topology=[])),
    Case("a topology that is null", resources=hosts("algo-1", topology=None)),
    Case(
        "a null interface",
        resources=hosts("algo-1", network_interface_name=None),
        differs={
            "properties.network_interface_name": "null says none, and none is eth0",
            "env.SM_NETWORK_INTERFACE_NAME": "the same",
            "env.SM_TRAINING_ENV": "holds that property",
        },
    ),
    Case(
        "a null instance type",
        resources=hosts("algo-1", current_instance_type=None),
        differs={"accepted": "null says none, as a missing one does"},
    ),
    Case("trn2", resources=hosts("algo-1", current_instance_type="ml.trn2.48xlarge")),
    Case(
        "neuron cores",
        resources=hosts("algo-1", current_instance_type="ml.trn1.32xlarge"),
        tools={"neuron-ls": NEURON_LS},
    ),
    Case("a neuron-ls that fails", tools={"neuron-ls": "#!/bin/sh\necho error=broken\nexit 1\n"}),
    Case("GPUs", tools={"nvidia-smi": NVIDIA_SMI}),
    Case("an nvidia-smi that fails", tools={"nvidia-smi": "#!/bin/sh\necho 'GPU 0: x'\nexit 9\n"}),
    Case("smddprun and smddpmprun", tools={"smddprun": "#!/bin/sh\n", "smddpmprun": "#!/bin/sh\n"}),
]

BROKEN = [
    Case("no hyperparameters.json", without=("hyperparameters.json",)),
    Case("no resourceconfig.json", without=("resourceconfig.json",)),
    Case("no inputdataconfig.json", without=("inputdataconfig.json",)),
    Case("broken hyperparameters.json", '{"a": '),
    Case("an empty hyperparameters.json", ""),
    Case("hyperparameters.json in another encoding", b'{"a": "\xff"}'),
    Case("hyperparameters.json with a byte order mark", b'\xef\xbb\xbf{"a": "1"}'),
    Case("hyperparameters.json that is a list", "[]"),
    Case("broken resourceconfig.json", resources="x"),
    Case("no hosts", resources={"current_host": "algo-1"}),
    Case("no current host", resources={"hosts": ["algo-1"]}),
    Case("an empty list of hosts", resources=hosts()),
    Case("a null list of hosts", resources={"current_host": "algo-1", "hosts": None}),
    Case("a host twice", resources=hosts("algo-1", "algo-1"), differs={"refused": NO_HOST_LIST}),
    Case(
        "a host with a space",
        resources=hosts("algo 1", current="algo 1"),
        differs={"refused": NO_HOST_LIST},
    ),
    Case(
        "a current host that is not listed",
        resources=hosts("algo-1", current="algo-9"),
        differs={"refused": NO_ROLL_CALL},
    ),
    Case("broken inputdataconfig.json", channels="{"),
    Case(
        "inputdataconfig.json that is a list",
        channels=[],
        differs={
            "refused": "the SDK's local mode and the service write an object",
        },
    ),
]

GIVEN = [
    Case(
        "everything given",
        given={
            "hyperparameters": {
                "a": "1",
                "b": 2,
                "c": {"z": 1, "y": 2},
                "sagemaker_program": "t.py",
            },
            "resource_config": hosts("x", "y", current="y"),
            "input_data_config": {"test": {"ContentType": "x"}},
        },
        without=("hyperparameters.json", "resourceconfig.json", "inputdataconfig.json"),
    ),
    Case("nothing given where something could be", {"a": "1"}, given={"hyperparameters": {}}),
    Case("given parameters", {"a": "1"}, given={"hyperparameters": {"b": "null", "c": None}}),
]

CASES = NUMBERS + TEXTS + NESTED + NAMES + PLATFORM + CHANNELS + CLUSTERS + BROKEN + GIVEN
