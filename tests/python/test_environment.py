"""Environment says of a job what the reference says, property by property."""

import json
import re

import pytest

GROUPS = [
    {"instance_group_name": "cpu", "instance_type": "ml.c5.xlarge", "hosts": ["algo-1"]},
    {"instance_group_name": "gpu", "instance_type": "ml.p3.2xlarge", "hosts": ["algo-2", "algo-3"]},
]
HETERO = {
    "current_host": "algo-2",
    "hosts": ["algo-1", "algo-2", "algo-3"],
    "current_instance_type": "ml.p3.2xlarge",
    "current_group_name": "gpu",
    "current_instance_group": "gpu",
    "instance_groups": GROUPS,
    "network_interface_name": "ethwe",
}
ONE = {"current_host": "algo-1", "hosts": ["algo-1"]}
TWO = {"current_host": "algo-2", "hosts": ["algo-1", "algo-2"], "network_interface_name": "eth1"}
TOPOLOGY = {**ONE, "topology": [{"hostName": "algo-1", "capacityUnitId": "u-1"}]}


def sdk(**values) -> dict[str, str]:
    """Hyperparameters as the SDK sends them."""
    return {name: json.dumps(value) for name, value in values.items()}


# name -> (resource config, channels, hyperparameters, variables, arguments of Environment)
JOBS = {
    "one host": (ONE, {}, {}, {}, {}),
    "two hosts, channels": (TWO, {"train": {"TrainingInputMode": "File"}, "a-b": {}}, {}, {}, {}),
    "values": (
        ONE,
        {},
        sdk(lr=0.1, n=3, flag=True, none=None, text="a b", d={"b": 1, "a": [1]}),
        {},
        {},
    ),
    "raw values": (
        ONE,
        {},
        {"a": "1e5", "b": "1.10", "c": "true", "d": "null", "e": "x y"},
        {},
        {},
    ),
    "the toolkit's own": (
        ONE,
        {},
        sdk(
            sagemaker_program="train.py",
            sagemaker_submit_directory="s3://bucket/code.tar.gz",
            sagemaker_job_name="job-1",
            sagemaker_region="eu-west-1",
            sagemaker_container_log_level=10,
            sagemaker_enable_cloudwatch_metrics=False,
            sagemaker_s3_output="s3://bucket/out",
            _tuning_objective_metric="loss",
            default_user_module_name="m",
        ),
        {},
        {},
    ),
    "mpi": (
        TWO,
        {},
        sdk(sagemaker_mpi_enabled=True, sagemaker_mpi_num_of_processes_per_host=2),
        {},
        {},
    ),
    "hetero": (HETERO, {}, sdk(sagemaker_torch_distributed_enabled=True), {}, {}),
    "hetero, groups named": (
        HETERO,
        {},
        sdk(sagemaker_mpi_enabled=True, sagemaker_distribution_instance_groups=["cpu"]),
        {},
        {},
    ),
    "topology": (TOPOLOGY, {}, {}, {}, {}),
    "program by variable": (
        ONE,
        {},
        sdk(sagemaker_program="other.py"),
        {"SAGEMAKER_PROGRAM": "pkg/train.py"},
        {},
    ),
    "framework": (
        ONE,
        {},
        {},
        {
            "SAGEMAKER_TRAINING_MODULE": "m:main",
            "TRAINING_JOB_NAME": "j",
            "SM_HP_MP_PARAMETERS": "{}",
        },
        {},
    ),
    "region by variable": (ONE, {}, {}, {"AWS_DEFAULT_REGION": "us-west-2"}, {}),
    "model parallel": (ONE, {}, {}, {"SM_HP_MP_PARAMETERS": '{"a": 1}'}, {}),
    "given": (
        ONE,
        {"train": {}},
        sdk(lr=1),
        {},
        {
            "resource_config": TWO,
            "input_data_config": {"test": {}},
            "hyperparameters": {"x": [1, None], "sagemaker_program": "g.py", "big": 10**20},
        },
    ),
    "given empty": (ONE, {"train": {}}, sdk(lr=1), {}, {"hyperparameters": {}}),
    "umlauts": (ONE, {"größe": {}}, sdk(name="größer 🦀", path="C:\\x\n"), {}, {}),
    "no hosts": ({"current_host": "algo-1"}, {}, {}, {}, {}),
    "no current host": ({"hosts": ["algo-1"]}, {}, {}, {}, {}),
    "trn2": ({**ONE, "current_instance_type": "ml.trn2.48xlarge"}, {}, {}, {}, {}),
}


def lay(base, resources, channels, hyperparameters) -> None:
    config = base / "input" / "config"
    config.mkdir(parents=True)
    (config / "resourceconfig.json").write_text(json.dumps(resources))
    (config / "inputdataconfig.json").write_text(json.dumps(channels))
    (config / "hyperparameters.json").write_text(json.dumps(hyperparameters))


@pytest.fixture
def both(ask_both, tmp_path):
    asked = []
    for index, (resources, channels, parameters, variables, arguments) in enumerate(JOBS.values()):
        base = tmp_path / str(index)
        lay(base, resources, channels, parameters)
        asked.append([str(base), variables, arguments])
    asked.append([str(tmp_path / "nowhere"), {}, {}])
    return ask_both("environment", asked)


# The names that variables had before SM_, as the toolkit's guide has them; 5.1.4 has none of them.
ELDER = re.compile(r"SAGEMAKER_CHANNELS|SAGEMAKER_CHANNEL_.*|SAGEMAKER_MODEL_DIR|MODEL_DIR")


def test_every_job_has_the_same_environment(both):
    theirs, ours = both
    for our in ours:
        for part in ("variables", "variables_later"):
            elder = {name for name in our.get(part, {}) if ELDER.fullmatch(name)}
            channels = len(our["properties"]["channel_input_dirs"]) if elder else 0
            assert len(elder) == (3 + channels if part in our else 0)
            for name in elder:
                del our[part][name]
    for name, their, our in zip([*JOBS, "no files"], theirs, ours, strict=True):
        assert set(their) == set(our), f"{name}: {their if 'raises' in their else our}"
        for part, value in their.items():
            assert our[part] == value, f"{name}: {part}"


def test_the_variable_for_the_code_is_heeded(ask_both, tmp_path):
    """The reference reads SAGEMAKER_SUBMIT_DIRECTORY and then forgets it."""
    lay(tmp_path / "job", ONE, {}, {})
    asked = [[str(tmp_path / "job"), {"SAGEMAKER_SUBMIT_DIRECTORY": "/src"}, {}]]
    theirs, ours = ask_both("environment", asked)
    assert theirs[0]["properties"]["module_dir"] == str(tmp_path / "job" / "code")
    assert ours[0]["properties"]["module_dir"] == "/src"
