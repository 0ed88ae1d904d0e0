#!/usr/bin/env python3
"""What botocore puts on the wire for each operation of src/aws/api's model, and reads back.

usage: tools/api_vectors.py [--check]

Writes tests/data/api_requests.jsonl: one request a line, in every protocol in which botocore can
make it, beside the input that src/aws/api must read from it. `--check` writes nothing and fails
where this botocore makes another request, or reads another output from one of the answers of
src/aws/api that stand in tests/data/api_answers.jsonl.
"""

import datetime
import json
import pathlib
import sys
import urllib.parse

import botocore
import botocore.parsers
import botocore.serialize
import botocore.session

BOTOCORE = "1.44.5"  # As in service_model.py.
DATA = pathlib.Path(__file__).parent.parent / "tests" / "data"

ARN = "arn:aws:sagemaker:eu-west-1:000000000000:training-job/digits"
TRAINING = {
    "TrainingJobName": "digits-2026-11-21-13-00-00-123",
    "HyperParameters": {"sagemaker_program": '"train.py"', "epochs": "3", "name": "é 日"},
    "AlgorithmSpecification": {
        "TrainingImage": "host",
        "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": r"loss=([0-9\.]+)"}],
    },
    "RoleArn": "arn:aws:iam::000000000000:role/train",
    "InputDataConfig": [
        {"ChannelName": "train", "DataSource": {"S3DataSource": {
            "S3DataType": "S3Prefix", "S3Uri": "s3://data/train",
            "S3DataDistributionType": "ShardedByS3Key"}}},
    ],
    "OutputDataConfig": {"S3OutputPath": "s3://data/out/"},
    "ResourceConfig": {"InstanceType": "local", "InstanceCount": 3, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "EnableNetworkIsolation": False,
    "ProfilerConfig": {"S3OutputPath": "s3://data/out/", "DisableProfiler": False},
    "DebugHookConfig": {"S3OutputPath": "s3://data/out/", "CollectionConfigurations": []},
    "Environment": {"LEVEL": "debug & more"},
    "Tags": [{"Key": "team", "Value": "vision"}],
}  # fmt: skip
GROUP = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
ROLE = "arn:aws:iam::000000000000:role/train"
# Folder in botocore/data: operation: input. Times are whole epoch seconds.
INPUTS = {
    "sagemaker": {
        "CreateTrainingJob": TRAINING,
        "DescribeTrainingJob": {"TrainingJobName": "digits"},
        "StopTrainingJob": {"TrainingJobName": "digits"},
        "DeleteTrainingJob": {"TrainingJobName": "digits"},
        "UpdateTrainingJob": {"TrainingJobName": "digits",
                              "ResourceConfig": {"KeepAlivePeriodInSeconds": 60}},
        "ListTrainingJobs": {"CreationTimeAfter": 1795266000, "SortBy": "CreationTime",
                             "MaxResults": 100, "StatusEquals": "InProgress"},
        "AddTags": {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]},
        "ListTags": {"ResourceArn": ARN},
        "DeleteTags": {"ResourceArn": ARN, "TagKeys": ["a", "b"]},
        "Search": {"Resource": "TrainingJob", "SearchExpression": {"Filters": [
            {"Name": "TrainingJobName", "Operator": "Contains", "Value": "digits"}]}},
    },
    "logs": {
        "DescribeLogGroups": {},
        "DescribeLogStreams": GROUP | {"logStreamNamePrefix": "digits/", "limit": 3,
                                       "orderBy": "LogStreamName"},
        "GetLogEvents": GROUP | {"logStreamName": "digits/algo-1-1795266000000",
                                 "startTime": 1795266000123, "startFromHead": True},
        "FilterLogEvents": GROUP | {"interleaved": True, "filterPattern": '"a b" -c'},
    },
    "cloudwatch": {
        "GetMetricStatistics": {
            "Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "loss",
            "Dimensions": [{"Name": "TrainingJobName", "Value": "digits"}], "Period": 60,
            "StartTime": 1795266000, "EndTime": 1795269600, "Statistics": ["Average", "Maximum"]},
        "GetMetricData": {
            "StartTime": 1795266000, "EndTime": 1795269600, "MetricDataQueries": [
                {"Id": "a", "ReturnData": True, "MetricStat": {
                    "Metric": {"Namespace": "n", "MetricName": "m"}, "Period": 60, "Stat": "p99"}},
                {"Id": "b", "Expression": "a * 2 + 1"}]},
        "ListMetrics": {"Namespace": "/aws/sagemaker/TrainingJobs"},
    },
    "sts": {
        "AssumeRole": {"RoleArn": ROLE, "RoleSessionName": "night", "DurationSeconds": 900},
        "GetCallerIdentity": {},
        "GetSessionToken": {"DurationSeconds": 900},
    },
    "iam": {
        "GetRole": {"RoleName": "train"},
        "SimulatePrincipalPolicy": {
            "PolicySourceArn": ROLE, "ActionNames": ["s3:PutObject", "s3:GetObject"],
            "ResourceArns": ["arn:aws:s3:::data/*"], "MaxItems": 7, "ContextEntries": [
                {"ContextKeyName": "aws:x", "ContextKeyValues": ["v+w", "x y"],
                 "ContextKeyType": "stringList"}]},
    },
    "ec2": {
        "DescribeSubnets": {"SubnetIds": ["subnet-1", "subnet-2"], "DryRun": False, "Filters": [
            {"Name": "vpc-id", "Values": ["vpc-1", "vpc-2"]}]},
        "DescribeSecurityGroups": {"GroupIds": ["sg-1"], "GroupNames": ["default"],
                                   "MaxResults": 5},
        "DescribeVpcs": {"VpcIds": ["vpc-1"], "NextToken": "t"},
    },
    "cloudformation": {
        "CreateStack": {
            "StackName": "net", "TemplateBody": '{"Resources": {}}',
            "Parameters": [{"ParameterKey": "Zones", "ParameterValue": "2"}],
            "Capabilities": ["CAPABILITY_IAM"], "OnFailure": "DO_NOTHING",
            "TimeoutInMinutes": 5, "Tags": [{"Key": "team", "Value": "vision"}]},
        "CreateChangeSet": {
            "ChangeSetName": "one", "StackName": "net", "ChangeSetType": "UPDATE",
            "TemplateBody": '{"Resources": {}}', "Description": "d",
            "Parameters": [{"ParameterKey": "Zones", "UsePreviousValue": True}],
            "Tags": [{"Key": "team", "Value": "vision"}]},
        "DeleteChangeSet": {"ChangeSetName": "one", "StackName": "net"},
        "DeleteStack": {"StackName": "net"},
        "DescribeChangeSet": {"ChangeSetName": "one", "StackName": "net"},
        "DescribeStackEvents": {"StackName": "net"},
        "DescribeStackResources": {"StackName": "net", "LogicalResourceId": "Vpc"},
        "DescribeStacks": {"StackName": "net"},
        "ExecuteChangeSet": {
            "ChangeSetName": "one", "StackName": "net", "DisableRollback": False},
        "GetTemplate": {"StackName": "net", "TemplateStage": "Original"},
        "GetTemplateSummary": {"TemplateBody": '{"Resources": {}}'},
        "ListStackResources": {"StackName": "net"},
        "ListStacks": {"StackStatusFilter": ["CREATE_COMPLETE", "DELETE_COMPLETE"]},
        "UpdateStack": {
            "StackName": "net", "UsePreviousTemplate": True,
            "Parameters": [{"ParameterKey": "Zones", "ParameterValue": "3"}]},
        "ValidateTemplate": {"TemplateBody": '{"Resources": {}}'},
    },
    "ecr": {
        "BatchDeleteImage": {"repositoryName": "digits", "imageIds": [{"imageTag": "latest"}]},
        "BatchGetImage": {"repositoryName": "digits", "imageIds": [{"imageTag": "latest"}],
                          "acceptedMediaTypes": ["application/vnd.oci.image.manifest.v1+json"]},
        "CreateRepository": {"repositoryName": "team/digits", "imageTagMutability": "IMMUTABLE",
                             "tags": [{"Key": "a", "Value": "b"}],
                             "imageScanningConfiguration": {"scanOnPush": True},
                             "encryptionConfiguration": {"encryptionType": "AES256"}},
        "DeleteRepository": {"repositoryName": "digits", "force": True},
        "DescribeRepositories": {"repositoryNames": ["digits", "team/digits"]},
        "GetLifecyclePolicy": {"repositoryName": "digits"},
        "ListTagsForResource": {
            "resourceArn": "arn:aws:ecr:eu-west-1:000000000000:repository/digits"},
        "ListImages": {"repositoryName": "digits", "maxResults": 7,
                       "filter": {"tagStatus": "TAGGED"}},
        "DescribeImages": {"repositoryName": "digits", "imageIds": [{"imageTag": "latest"}]},
        "GetAuthorizationToken": {},
    },
}  # fmt: skip
SHORT = {"smithy-rpc-v2-cbor": "cbor"}


def request(model, name: str, protocol: str, given: dict) -> dict:
    serializer = botocore.serialize.create_serializer(protocol, include_validation=True)
    made = serializer.serialize_to_request(given, model.operation_model(name))
    headers = {key.lower(): value for key, value in made["headers"].items()}
    body = made["body"]
    if isinstance(body, dict):
        body = urllib.parse.urlencode(body, doseq=True)
        headers["content-type"] = "application/x-www-form-urlencoded; charset=utf-8"
    text = body.hex() if protocol not in ("query", "ec2", "json") else body
    return {
        "service": model.endpoint_prefix if model.signing_name is None else model.signing_name,
        "operation": name,
        "protocol": SHORT.get(protocol, protocol),
        "path": made["url_path"],
        "target": headers.get("x-amz-target", ""),
        "content_type": headers.get("content-type", ""),
        "smithy_protocol": headers.get("smithy-protocol", ""),
        "query_mode": headers.get("x-amzn-query-mode", ""),
        "body": text.decode() if isinstance(text, bytes) else text,
        "input": given,
    }


def requests() -> list[str]:
    session = botocore.session.get_session()
    lines = []
    for folder, operations in INPUTS.items():
        model = session.get_service_model(folder)
        for name, given in operations.items():
            for protocol in model.metadata["protocols"]:
                made = request(model, name, protocol, given)
                lines.append(json.dumps(made, ensure_ascii=False))
    return lines


def plain(value):
    """Parsed values as src/aws/api has them: times as epoch seconds."""
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def parsed(answer: dict):
    """What botocore reads from an answer of src/aws/api; of a refusal, the code and the message."""
    session = botocore.session.get_session()
    model = session.get_service_model(answer["folder"])
    protocol = next(p for p in model.metadata["protocols"]
                    if SHORT.get(p, p) == answer["protocol"])  # fmt: skip
    parser = botocore.parsers.create_parser(protocol)
    body = answer["body"]
    got = parser.parse(
        {
            "status_code": answer["status"],
            "headers": {key.lower(): value for key, value in answer["headers"].items()},
            "body": bytes.fromhex(body) if protocol.endswith("cbor") else body.encode(),
        },
        model.operation_model(answer["operation"]).output_shape,
    )
    if answer["status"] != 200:
        return {"code": got["Error"]["Code"], "message": got["Error"]["Message"]}
    got.pop("ResponseMetadata", None)
    return plain(got)


def main() -> int:
    if botocore.__version__ != BOTOCORE:
        sys.exit(f"needs botocore {BOTOCORE}, this Python has {botocore.__version__}")
    path = DATA / "api_requests.jsonl"
    text = "\n".join(requests()) + "\n"
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
        return 0
    failed = path.read_text() != text
    if failed:
        print(f"{path.name}: botocore makes other requests: run tools/api_vectors.py")
    for line in (DATA / "api_answers.jsonl").read_text().splitlines():
        answer = json.loads(line)
        wanted = answer["refusal"] if "refusal" in answer else answer["output"]
        if (got := parsed(answer)) != wanted:
            failed = True
            print(f"{answer['protocol']} {answer['operation']}: botocore reads {got}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
