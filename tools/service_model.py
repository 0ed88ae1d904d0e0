#!/usr/bin/env python3
"""Writes src/aws/api/model_table*.cc from the service models that botocore publishes.

usage: tools/service_model.py [--check]

Takes the models of the botocore that this Python has (BOTOCORE says which it must be) as data, and
of them the operations that muster serves. `--check` writes nothing and fails where files differ.
What is taken and what is left out: docs/decisions/0014-service-model.md.
"""

import gzip
import json
import pathlib
import re
import sys

import botocore

BOTOCORE = "1.44.5"
API = pathlib.Path(__file__).parent.parent / "src/aws/api"

# Folder in botocore/data: (name in the credential scope, operations).
SERVICES = {
    "sagemaker": (
        "sagemaker",
        "AddTags CreateTrainingJob DeleteTags DeleteTrainingJob DescribeTrainingJob ListTags "
        "ListTrainingJobs Search StopTrainingJob UpdateTrainingJob",
    ),
    "logs": ("logs", "DescribeLogGroups DescribeLogStreams FilterLogEvents GetLogEvents"),
    "cloudwatch": ("monitoring", "GetMetricData GetMetricStatistics ListMetrics"),
    "sts": ("sts", "AssumeRole GetCallerIdentity GetSessionToken"),
    "iam": ("iam", "GetRole SimulatePrincipalPolicy"),
    "ec2": ("ec2", "DescribeSecurityGroups DescribeSubnets DescribeVpcs"),
    "cloudformation": (
        "cloudformation",
        "CreateChangeSet CreateStack DeleteChangeSet DeleteStack DescribeChangeSet "
        "DescribeStackEvents DescribeStackResources DescribeStacks ExecuteChangeSet GetTemplate "
        "GetTemplateSummary ListStackResources ListStacks UpdateStack ValidateTemplate",
    ),
    "ecr": (
        "ecr",
        "BatchDeleteImage BatchGetImage CreateRepository DeleteRepository DescribeImages "
        "DescribeRepositories GetAuthorizationToken GetLifecyclePolicy ListImages "
        "ListTagsForResource",
    ),
}

KINDS = {
    "structure": "structure",
    "list": "list",
    "map": "map",
    "string": "string",
    "integer": "integer",
    "long": "long_integer",
    "float": "real",
    "double": "real",
    "boolean": "boolean",
    "timestamp": "timestamp",
}
# What a model may say; a word that is not here may be a rule that would get lost.
SHAPE_WORDS = {"type", "members", "required", "member", "key", "value", "min", "max", "pattern",
               "enum", "documentation", "box", "xmlOrder", "union", "sensitive"}  # fmt: skip
MEMBER_WORDS = {"shape", "documentation", "locationName", "box", "deprecated", "deprecatedMessage",
                "deprecatedSince"}  # fmt: skip

# Java's expressions that RE2 lacks, each with what matches the same texts.
REWRITTEN = {
    r"(arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:[a-z\-]*\/)?"
    r"([a-zA-Z0-9]([a-zA-Z0-9-]){0,62})(?<!-)": r"(arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:"
    r"[a-z\-]*\/)?[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?",
}
REPEAT_MAX = 1000  # RE2's.
WRITTEN = "// Written by tools/service_model.py from botocore's published service model."


def re2_pattern(pattern: str, length_max: int | None) -> str:
    if pattern in REWRITTEN:
        return REWRITTEN[pattern]
    if re.search(r"\(\?[^:]|\\[1-9]|[*+?}]\+", pattern):
        sys.exit(f"a pattern that RE2 may lack; say it otherwise in REWRITTEN: {pattern}")
    pattern = pattern.replace(r"\u10000-\u10FFFF", r"\x{10000}-\x{10FFFF}")  # What is meant.
    pattern = re.sub(r"\\u([0-9A-Fa-f]{4})", r"\\x{\1}", pattern).replace(r"\p{Alnum}", "[:alnum:]")

    def repeated(match):
        low, high = int(match[1]), int(match[2])
        if high <= REPEAT_MAX:
            return match[0]
        if low > 1 or length_max is None or length_max > high:
            sys.exit(f"a repeat that RE2 lacks and no length bounds: {pattern}")
        return "+" if low else "*"

    return re.sub(r"\{(\d+),(\d+)\}", repeated, pattern)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Table:
    """One service's shapes, in the order in which its operations reach them."""

    def __init__(self, folder: str, model: dict):
        self.model = model
        self.name, operations = SERVICES[folder]
        self.operations = operations.split()
        self.metadata = model["metadata"]
        protocols = self.metadata["protocols"]
        self.style = next(p for p in ("json", "query", "ec2") if p in protocols)
        self.indices, self.shapes, self.members, self.words, self.patterns = {}, [], [], [], []
        self.rows = [self.operation(name) for name in self.operations]

    def operation(self, name: str) -> str:
        entry = self.model["operations"][name]
        row = [quoted(name)]
        sides = ["input"] if self.metadata["protocols"] == ["json"] else ["input", "output"]
        for side in sides:
            shape = entry.get(side, {}).get("shape")
            if side == "output" and "resultWrapper" in entry.get(side, {}):
                assert entry[side]["resultWrapper"] == name + "Result", name
            row.append("no_shape" if shape is None else str(self.shape(shape, side)))
        return "{" + ", ".join(row) + "}"

    def shape(self, name: str, side: str) -> int:
        """The shape's index, after it and what it needs have theirs."""
        key = (name, side if self.style == "ec2" else "")
        if key in self.indices:
            return self.indices[key]
        shape = self.model["shapes"][name]
        unknown = set(shape) - SHAPE_WORDS
        if unknown:
            sys.exit(f"{self.name}: {name}: says what is not understood: {', '.join(unknown)}")
        index = self.indices[key] = len(self.shapes)
        self.shapes.append(None)
        kind = shape["type"]
        first, count = 0, 0
        if kind in ("structure", "list", "map"):
            rows = self.member_rows(shape, kind, side)
            first, count = len(self.members), len(rows)
            self.members += rows
            # Shapes of members come after: a structure's members must lie side by side.
            for at, (member, target, *rest) in enumerate(rows, first):
                self.members[at] = (member, self.shape(target, side), *rest)
        # Any name is an instance type here; the config knows which there are.
        elif "enum" in shape and not name.endswith("InstanceType"):
            first, count = len(self.words), len(shape["enum"])
            self.words += shape["enum"]
        self.shapes[index] = (kind, first, count, shape)
        return index

    def member_rows(self, shape: dict, kind: str, side: str) -> list:
        if kind == "structure":
            members, required = shape["members"], shape.get("required", [])
        else:
            names = ["member"] if kind == "list" else ["key", "value"]
            members, required = {name: shape[name] for name in names}, []
        rows = []
        for name, member in members.items():
            unknown = set(member) - MEMBER_WORDS
            if unknown:
                sys.exit(f"{self.name}: {name}: says what is not understood: {', '.join(unknown)}")
            wire = member.get("locationName", name)
            if self.style == "ec2" and side == "input":
                wire = wire[0].upper() + wire[1:]
            rows.append((name, member["shape"], name in required, "" if wire == name else wire))
        return rows

    def pattern(self, shape: dict) -> str:
        row = (shape["pattern"], re2_pattern(shape["pattern"], shape.get("max")))
        if row not in self.patterns:
            self.patterns.append(row)
        return str(self.patterns.index(row))

    def shape_text(self, kind: str, first: int, count: int, shape: dict) -> str:
        words = [f"Kind::{KINDS[kind]}", str(first), str(count)]
        words.append(str(shape["min"]) if "min" in shape else "no_min")
        words.append(str(shape["max"]) if "max" in shape else "no_max")
        words.append(self.pattern(shape) if "pattern" in shape else "no_shape")
        defaults = ["", "0", "0", "no_min", "no_max", "no_shape"]
        while words[-1] == defaults[len(words) - 1]:
            words.pop()
        return "{" + ", ".join(words) + "}"

    @staticmethod
    def member_text(name: str, shape: int, required: bool, wire: str) -> str:
        words = [quoted(name), str(shape)]
        if required or wire:
            words.append("true" if required else "false")
        if wire:
            words.append(quoted(wire))
        return "{" + ", ".join(words) + "}"

    def text(self) -> str:
        shapes = [self.shape_text(*shape) for shape in self.shapes]
        members = [self.member_text(*member) for member in self.members]
        words = [quoted(word) for word in self.words]
        patterns = [pattern_text(*pattern) for pattern in self.patterns]
        lines = [WRITTEN, '#include "aws/api/model_table.h"', "", "// clang-format off"]
        lines += ["namespace muster::api {", "", "namespace {", ""]
        fields = [
            (".operations", "Operation", "operations", self.rows),
            (".shapes", "Shape", "shapes", shapes),
            (".members", "Member", "members", members),
            (".words", "std::string_view", "words", words),
            (".patterns", "Pattern", "patterns", patterns),
        ]
        for _, kind, name, rows in fields:
            if rows:
                lines += [f"constexpr {kind} {name}[] = {{", *filled(rows), "};", ""]
        lines += ["}  // namespace", "", f"constinit const Service {self.name}_model = {{"]
        heads = {
            ".name": quoted(self.name),
            ".version": quoted(self.metadata["apiVersion"]),
            ".target": quoted(self.metadata.get("targetPrefix", "")),
            ".json_version": quoted(self.metadata.get("jsonVersion", "")),
            ".xml_namespace": quoted(self.metadata.get("xmlNamespace", "")),
            ".style": f"Style::{self.style}",
        }
        lines += [f"    {key} = {value}," for key, value in heads.items()]
        lines += [f"    {key} = {name if rows else '{}'}," for key, _, name, rows in fields]
        lines += ["};", "", "}  // namespace muster::api", ""]
        return "\n".join(lines)


def pattern_text(text: str, re2: str) -> str:
    return "{" + split_literal(text) + ",\n     " + split_literal(re2) + "}"


def split_literal(text: str) -> str:
    parts = [text[at : at + 70] for at in range(0, len(text), 70)] or [""]
    return "\n     ".join(quoted(part) for part in parts)


def filled(rows: list) -> list:
    """As many rows on a line as fit in 100 columns."""
    lines, line = [], "   "
    for row in rows:
        if "\n" in row:
            lines.append("    " + row + ",")
            continue
        if len(line) + len(row) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " " + row + ","
    return lines + ([line] if line.strip() else [])


def model_of(folder: str) -> dict:
    data = pathlib.Path(botocore.__file__).parent / "data" / folder
    latest = max(path for path in data.iterdir() if path.is_dir())
    with gzip.open(latest / "service-2.json.gz") as file:
        return json.load(file)


def main() -> int:
    if botocore.__version__ != BOTOCORE:
        sys.exit(f"needs botocore {BOTOCORE}, this Python has {botocore.__version__}")
    differ = []
    for folder in SERVICES:
        table = Table(folder, model_of(folder))
        path = API / f"model_table_{table.name}.cc"
        text = table.text()
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            differ.append(path.name)
    for name in differ:
        where = f"src/aws/api/{name}"
        print(f"{where} is not what botocore {BOTOCORE} says: run tools/service_model.py")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
