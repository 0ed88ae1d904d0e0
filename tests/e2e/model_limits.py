"""One bad request for each limit in botocore's models, which exceeds the limit by the minimum.

This code reads the models independently of the code that generates muster's tables, so it finds
gaps in a table. It covers the operations that muster serves.
"""

import gzip
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import botocore
from bad_api import Bad, json_request

SERVED = {
    "sagemaker": "AddTags CreateTrainingJob DeleteTags DeleteTrainingJob DescribeTrainingJob "
    "ListTags ListTrainingJobs Search StopTrainingJob UpdateTrainingJob",
    "logs": "DescribeLogGroups DescribeLogStreams FilterLogEvents GetLogEvents",
    "cloudwatch": "GetMetricData GetMetricStatistics ListMetrics",
    "ecr": "BatchDeleteImage BatchGetImage CreateRepository DeleteRepository DescribeImages "
           "DescribeRepositories GetAuthorizationToken GetLifecyclePolicy ListImages "
           "ListTagsForResource",  # fmt: skip
}
SIGNED_AS = {"cloudwatch": "monitoring"}
CODES = {
    "sagemaker": "ValidationException",
    "logs": "InvalidParameterException",
    "ecr": "InvalidParameterException",
    "cloudwatch": "ValidationError",
}
# Any name that the config knows is an instance type.
OPEN_ENUMS = ("TrainingInstanceType", "ProcessingInstanceType")
LENGTH_MAX = 100_000  # The longest value that a row sends.
DEPTH_MAX = 12
NUMBERS = ("integer", "long", "float", "double")


class Model:
    def __init__(self, folder: str):
        data = pathlib.Path(botocore.__file__).parent / "data" / folder
        file = sorted(data.glob("*/service-2.json.gz"))[-1]
        with gzip.open(file) as opened:
            self.whole = json.load(opened)
        self.shapes = self.whole["shapes"]

    def input_of(self, operation: str) -> str | None:
        return self.whole["operations"][operation].get("input", {}).get("shape")

    def fine(self, name: str, depth: int = 0) -> Any:
        """A value of the shape that breaks none of its limits, but perhaps its pattern."""
        shape = self.shapes[name]
        kind, low = shape["type"], shape.get("min", 0)
        if kind == "string":
            return shape["enum"][0] if "enum" in shape else "a" * max(low, 1)
        if kind in NUMBERS:
            return max(low, 1)
        if kind == "timestamp":
            return 1_700_000_000
        if kind == "boolean":
            return False
        if kind == "list":
            return [self.fine(shape["member"]["shape"], depth + 1)] * low
        if kind == "map":
            return {}
        wanted = shape.get("required", []) if depth < DEPTH_MAX else []
        return {
            member: self.fine(shape["members"][member]["shape"], depth + 1) for member in wanted
        }

    def beyond(self, name: str) -> Iterator[tuple[str, Any]]:
        """(limit, a value that breaks it) of the shape itself."""
        shape = self.shapes[name]
        kind, low, high = shape["type"], shape.get("min"), shape.get("max")
        if kind == "string":
            if high is not None and high < LENGTH_MAX:
                yield "max", "a" * (high + 1)
            if low:
                yield "min", "a" * (low - 1)
            if "enum" in shape and name not in OPEN_ENUMS:
                yield "enum", "NoSuchWord"
            if "pattern" in shape and not matches(shape["pattern"], "\x01"):
                yield "pattern", "\x01" * max(low or 1, 1)
        elif kind in NUMBERS:
            if high is not None and (kind != "integer" or high < 2**31 - 1):
                yield "max", high + 1
            if low is not None:
                yield "min", low - 1
        elif kind == "list":
            each = self.fine(shape["member"]["shape"])
            if high is not None and high < 2000:
                yield "max", [each] * (high + 1)
            if low:
                yield "min", [each] * (low - 1)
        elif kind == "map":
            key = self.shapes[shape["key"]["shape"]]
            if high is not None and "enum" not in key:
                value = self.fine(shape["value"]["shape"])
                yield "max", {f"a{i}": value for i in range(high + 1)}

    def walk(self, name: str, path: tuple = (), seen: tuple = ()) -> Iterator[tuple]:
        """(path, limit, value) of the shape and all below it; what contains itself, once."""
        if name in seen:
            return
        seen = (*seen, name)
        shape = self.shapes[name]
        for limit, value in self.beyond(name):
            yield path, limit, value
        if shape["type"] == "structure":
            for member, target in shape["members"].items():
                yield from self.walk(target["shape"], (*path, member), seen)
            for member in shape.get("required", []):
                yield (*path, member), "required", None
        elif shape["type"] == "list":
            yield from self.walk(shape["member"]["shape"], (*path, 0), seen)
        elif shape["type"] == "map":
            yield from self.walk(shape["value"]["shape"], (*path, "a"), seen)

    def place(self, name: str, path: tuple, value: Any) -> Any:
        """A whole input with the value at the path; None: without it."""
        if not path:
            return value
        shape, (first, *rest) = self.shapes[name], path
        if shape["type"] == "list":
            return [self.place(shape["member"]["shape"], tuple(rest), value)]
        if shape["type"] == "map":
            return {first: self.place(shape["value"]["shape"], tuple(rest), value)}
        whole = self.fine(name)
        if not rest and value is None:
            whole.pop(first, None)
        else:
            whole[first] = self.place(shape["members"][first]["shape"], tuple(rest), value)
        return whole


def matches(pattern: str, text: str) -> bool:
    """Java's classes that Python lacks match no control character in the models."""
    pattern = re.sub(r"\\p\{\w+\}|\[:\w+:\]", "a", pattern)
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return True  # Then no row is made of it.


def shown(path: tuple) -> str:
    """As AWS writes it in messages: only of members, not of elements."""
    last = [step for step in path if isinstance(step, str)][-1]
    return last[0].lower() + last[1:]


def rows() -> list[Bad]:
    found, told = [], set()
    for folder, operations in SERVED.items():
        model = Model(folder)
        service = SIGNED_AS.get(folder, folder)
        for operation in operations.split():
            shape = model.input_of(operation)
            if shape is None:
                continue
            for path, limit, value in model.walk(shape):
                name = f"{operation} {'.'.join(map(str, path))} {limit}"
                if not path or name in told:
                    continue
                told.add(name)
                body = model.place(shape, path, value)
                request = json_request(service, operation, body)
                says = shown(path) if isinstance(path[-1], str) and "a" not in path else ""
                found.append(Bad(name, service, request, CODES[folder], 400, says))
    return found
