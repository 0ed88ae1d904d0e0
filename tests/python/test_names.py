"""Every public name of the reference is ours too, with the same parameters or value."""

import pytest

MODULES = (
    "_entry_point_type content_types encoders entry_point environment errors files functions "
    "intermediate_output logging_config mapping modules mpi params process pytorch_xla recordio "
    "runner smdataparallel timeout torch_distributed trainer cli.train"
).split()

# What we do not have, or have otherwise, and why.
MISSING = {
    "process.watch": "a coroutine inside the reference's way to run programs",
    "process.run_async": "a coroutine inside the reference's way to run programs",
}
# What takes more than the reference's does, as the toolkit's guide calls it.
WIDER = {
    "entry_point.run": "run(user_entry_point, args, env_vars), where the code is in place",
    "environment.Environment.to_cmd_args": "to_cmd_args(hyperparameters)",
}


def flat(answer: dict) -> dict[str, object]:
    return {
        f"{module.partition('.')[2]}.{name}".lstrip("."): value
        for module, names in answer.items()
        for name, value in names.items()
    }


@pytest.fixture
def both(ask_both):
    modules = ["sagemaker_training"] + ["sagemaker_training." + name for name in MODULES]
    theirs, ours = ask_both("names", modules)
    return flat(theirs), flat(ours)


def test_no_public_name_is_missing(both):
    theirs, ours = both
    assert len(theirs) > 150, "the probe finds too little"
    assert set(theirs) - set(ours) == set(MISSING)


def test_functions_take_the_same_arguments_and_constants_are_equal(both):
    theirs, ours = both
    differing = {
        name: (value, ours[name])
        for name, value in theirs.items()
        if name in ours and not isinstance(value, dict) and value != ours[name]
    }
    assert set(differing) == {"entry_point.run"} <= set(WIDER)
    theirs_of_run, ours_of_run = differing["entry_point.run"]
    assert ours_of_run == theirs_of_run.replace(" args,", " args=None,")


def test_classes_are_made_and_used_alike(both):
    theirs, ours = both
    for name, value in theirs.items():
        if name in MISSING or not isinstance(value, dict) or "methods" not in value:
            continue
        own = ours[name]
        assert value["members"] == own["members"], name
        assert value["properties"] == own["properties"], name
        assert set(value["parents"]) <= set(own["parents"]), name
        for method, signature in value["methods"].items():
            if f"{name}.{method}" in WIDER:
                assert own["methods"][method] == "(self, hyperparameters=None)" != signature
            elif method in own["methods"]:
                assert signature == own["methods"][method], f"{name}.{method}"
            else:  # Inherited; then it must take the same.
                parents = [ours.get(f"{name.rpartition('.')[0]}.{p}") for p in own["parents"]]
                assert parents, f"{name}.{method} is missing"
