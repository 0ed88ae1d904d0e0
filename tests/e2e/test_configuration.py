"""docs/users/configuration.md and its example: whole, and taken by the server."""

import json
import re
import subprocess

import pytest

from lab import REPOSITORY, SM

PAGE = (REPOSITORY / "docs/users/configuration.md").read_text()
EXAMPLE = REPOSITORY / "docs/users/server.json"
NAMED = ("jobs.images", "jobs.instance_types", "jobs.credentials_providers")
# What the page calls each place that has keys: a config with one in it that no server knows.
PLACES = {
    "": {"x": 1},
    "jobs.": {"jobs": {"x": 1}},
    "jobs.images.NAME.": {"jobs": {"images": {"NAME": {"x": "1"}}}},
    "jobs.instance_types.NAME.": {"jobs": {"instance_types": {"NAME": {"x": 1}}}},
    "jobs.credentials_providers.NAME.": {
        "jobs": {"credentials_providers": {"arn:a": {"x": "1"}}}
    },
    "s3.": {"s3": {"x": "1"}},
    "keys[].": {"keys": [{"x": "1"}]},
}


def check(path) -> subprocess.CompletedProcess:
    words = [SM, "server", "--config", path, "--check"]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def known(config: dict, path) -> set[str]:
    """The keys that the parser knows in the place of an unknown one: it says them."""
    path.write_text(json.dumps(config))
    done = check(path)
    told = done.stderr.strip().partition(" (sm explain ")[0]
    said = re.search(r"(?:keys are|one of the keys|the key) (.*)$", told)
    assert done.returncode == 2 and said, done.stderr
    return set(re.findall(r"\w+", said[1])) - {"and", "or"}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.M))


def every_key(config, path: str = "") -> set[str]:
    """The keys of an example, as the page names them."""
    if isinstance(config, list):
        return {path}.union(*(every_key(each, path + "[]") for each in config))
    if not isinstance(config, dict):
        return {path}
    found = {path}
    for name, value in config.items():
        if path in ("jobs.capacity", "jobs.environment", "jobs.priority_max", "networks"):
            continue  # Names of types and of what is counted; of variables; of keys; EC2's.
        name = "NAME" if path in NAMED else name
        found |= every_key(value, f"{path}.{name}" if path else name)
    return found


def test_the_page_has_every_key_that_the_server_knows_and_no_other(tmp_path):
    path = tmp_path / "server.json"
    wanted = {place + key for place, config in PLACES.items() for key in known(config, path)}
    assert len(wanted) > 25
    assert documented() == wanted


def test_the_example_is_taken():
    done = check(EXAMPLE)
    assert (done.returncode, done.stdout) == (0, "the config is valid\n"), done.stderr


@pytest.fixture
def uncommented() -> dict:
    """The example with the lines that are only commented out."""
    text = re.sub(r'^( *)// (?="\S+": )', r"\1", EXAMPLE.read_text(), flags=re.M)
    lines = text.splitlines()
    return json.loads("\n".join(line for line in lines if not line.strip().startswith("//")))


def test_the_example_has_every_key_and_each_is_one(uncommented):
    found = every_key(uncommented)
    rest = {"", "keys[]", "page_names[]"}
    rest |= {"jobs.registries[]", "jobs.credentials_providers.NAME.registries[]"}
    rest |= {f"{place}.NAME" for place in NAMED}
    assert found - rest == documented()


def test_each_key_of_the_example_is_accepted_unchanged(uncommented, tmp_path):
    """But those whose files are not here."""
    path = tmp_path / "server.json"
    for name, value in uncommented.items():
        if name in ("tls_certificate", "tls_key", "tls_ca", "s3", "keys", "metrics_token_file"):
            continue
        if name == "jobs":
            value["instance_types"]["ml.p3.2xlarge"].pop("gpus")
            value.pop("registry_logins")
            value.pop("pip_conf")
            value.pop("credentials_providers")
            value.pop("image_policy")
        path.write_text(json.dumps({name: value}))
        done = check(path)
        assert done.returncode == 0, done.stderr


def test_a_comment_ends_with_its_line_and_a_text_may_hold_slashes(tmp_path):
    path = tmp_path / "server.json"
    path.write_text('{// "listen": 1,\n "data": "/a//b", // "x\n "region": "eu \\" // 1"}')
    assert check(path).returncode == 0
    path.write_text('{"region": /* no such */ "a"}')
    done = check(path)
    assert done.returncode == 2 and "not JSON at line 1, column 12" in done.stderr
