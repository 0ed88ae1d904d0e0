"""Bad requests to AWS's APIs, as data: what is wrong, and the status and code of the answer."""

import copy
import json
from dataclasses import dataclass
from typing import Any

from raw_http import Request

TARGETS = {
    "sagemaker": "SageMaker",
    "logs": "Logs_20140328",
    "monitoring": "GraniteServiceVersion20100801",
    "ecr": "AmazonEC2ContainerRegistry_V20150921",
}
JSON_1_1 = "application/x-amz-json-1.1"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
GROUP = "/aws/sagemaker/TrainingJobs"
ARN = "arn:aws:sagemaker:us-east-1:000000000000:training-job/none"
GONE = object()  # In place of a value: the member is left out.

VALIDATION = "ValidationException"
SERIALIZATION = "SerializationException"
PARAMETER = "InvalidParameterException"


@dataclass
class Bad:
    """One request, before it is signed, and what has to come back."""

    name: str
    service: str
    request: Request
    code: str
    status: int = 400
    says: str = ""  # A part of the answer's text.


def json_request(service: str, operation: str, body: Any, content_type: str = JSON_1_1) -> Request:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    target = f"{TARGETS[service]}.{operation}"
    return Request(headers={"X-Amz-Target": target, "Content-Type": content_type}, body=text)


def form_request(body: str) -> Request:
    return Request(headers={"Content-Type": FORM}, body=body.encode("utf-8", "surrogateescape"))


def good_job(name: str = "good") -> dict:
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::000000000000:role/training",
        "AlgorithmSpecification": {
            "TrainingImage": "host",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}],
        },
        "HyperParameters": {"a": "1"},
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/k"}},
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceType": "local", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }


def changed(good: dict, path: str, value: Any) -> dict:
    """`good` with another value at "A.B.0.C"."""
    whole = copy.deepcopy(good)
    here: Any = whole
    *before, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    for word in before:
        if isinstance(here, dict) and word not in here:
            here[word] = {}
        here = here[word]
    if value is GONE:
        del here[last]
    else:
        here[last] = value
    return whole


# --- CreateTrainingJob: the member, its value, the code, what the message names ---

LONG = "x" * 3000
CHANNEL = good_job()["InputDataConfig"][0]
SOURCE = "InputDataConfig.0.DataSource.S3DataSource"
CREATE = [
    ("TrainingJobName", GONE, VALIDATION, "trainingJobName"),
    ("TrainingJobName", None, VALIDATION, "trainingJobName"),
    ("TrainingJobName", "", VALIDATION, "trainingJobName"),
    ("TrainingJobName", "x" * 64, VALIDATION, "less than or equal to 63"),
    ("TrainingJobName", "-begins", VALIDATION, "regular expression"),
    ("TrainingJobName", "ends-", VALIDATION, "regular expression"),
    ("TrainingJobName", "under_score", VALIDATION, "regular expression"),
    ("TrainingJobName", "../../etc", VALIDATION, "regular expression"),
    ("TrainingJobName", "ends\n", VALIDATION, "regular expression"),
    ("TrainingJobName", "ü", VALIDATION, "regular expression"),
    ("TrainingJobName", "nul\0", VALIDATION, "regular expression"),
    ("TrainingJobName", 5, SERIALIZATION, "trainingJobName"),
    ("TrainingJobName", ["a"], SERIALIZATION, "trainingJobName"),
    ("TrainingJobName", {"a": 1}, SERIALIZATION, "trainingJobName"),
    ("TrainingJobName", True, SERIALIZATION, "trainingJobName"),
    ("RoleArn", GONE, VALIDATION, "roleArn"),
    ("RoleArn", "role", VALIDATION, "roleArn"),
    ("RoleArn", "arn:aws:iam::000000000000:user/training", VALIDATION, "roleArn"),
    ("RoleArn", "arn:aws:iam::000000000000:role/" + LONG, VALIDATION, "2048"),
    ("AlgorithmSpecification", GONE, VALIDATION, "algorithmSpecification"),
    ("AlgorithmSpecification", "host", SERIALIZATION, "algorithmSpecification"),
    ("AlgorithmSpecification", [], SERIALIZATION, "algorithmSpecification"),
    ("AlgorithmSpecification.TrainingInputMode", GONE, VALIDATION, "trainingInputMode"),
    ("AlgorithmSpecification.TrainingInputMode", "file", VALIDATION, "enum value set"),
    ("AlgorithmSpecification.TrainingInputMode", "Pipe", VALIDATION, "File"),
    ("AlgorithmSpecification.TrainingImage", GONE, VALIDATION, "TrainingImage"),
    ("AlgorithmSpecification.TrainingImage", "x" * 256, VALIDATION, "255"),
    ("AlgorithmSpecification.TrainingImage", "unknown:1", VALIDATION, "unknown:1"),
    ("AlgorithmSpecification.AlgorithmName", "both", VALIDATION, "AlgorithmName"),
    ("AlgorithmSpecification.MetricDefinitions", [{"Name": "a"}], VALIDATION, "regex"),
    ("AlgorithmSpecification.MetricDefinitions", [{"Name": "a", "Regex": "("}], VALIDATION, "a"),
    ("AlgorithmSpecification.MetricDefinitions", [{"Name": "a", "Regex": "x" * 501}], VALIDATION,
     "500"),
    ("AlgorithmSpecification.MetricDefinitions", [{"Name": "x", "Regex": "x"}] * 41, VALIDATION,
     "40"),
    ("AlgorithmSpecification.MetricDefinitions", {"Name": "a"}, SERIALIZATION, "list"),
    ("AlgorithmSpecification.ContainerEntrypoint", [], VALIDATION, "containerEntrypoint"),
    ("AlgorithmSpecification.ContainerEntrypoint", ["x"] * 101, VALIDATION, "100"),
    ("AlgorithmSpecification.ContainerArguments", ["x" * 257], VALIDATION, "256"),
    ("HyperParameters", {str(i): "x" for i in range(101)}, VALIDATION, "100"),
    ("HyperParameters", {"x" * 257: "1"}, VALIDATION, "Map keys"),
    ("HyperParameters", {"a": "x" * 2501}, VALIDATION, "Map value"),
    ("HyperParameters", {"a": 1}, SERIALIZATION, "hyperParameters"),
    ("HyperParameters", {"a": None}, VALIDATION, "hyperParameters"),
    ("HyperParameters", ["a"], SERIALIZATION, "map"),
    ("InputDataConfig", [], VALIDATION, "greater than or equal to 1"),
    ("InputDataConfig", [CHANNEL] * 2, VALIDATION, "train"),
    ("InputDataConfig", [{**CHANNEL, "ChannelName": f"c{i}"} for i in range(21)], VALIDATION, "20"),
    ("InputDataConfig", [None], VALIDATION, "inputDataConfig"),
    ("InputDataConfig", ["train"], SERIALIZATION, "inputDataConfig"),
    ("InputDataConfig.0.ChannelName", GONE, VALIDATION, "inputDataConfig.1.member.channelName"),
    ("InputDataConfig.0.ChannelName", "a/b", VALIDATION, "regular expression"),
    ("InputDataConfig.0.ChannelName", "x" * 65, VALIDATION, "64"),
    ("InputDataConfig.0.DataSource", GONE, VALIDATION, "dataSource"),
    ("InputDataConfig.0.DataSource", {}, VALIDATION, "exactly one"),
    ("InputDataConfig.0.CompressionType", "Zip", VALIDATION, "[None, Gzip]"),
    ("InputDataConfig.0.InputMode", "Pipe", VALIDATION, "File"),
    ("InputDataConfig.0.RecordWrapperType", "Avro", VALIDATION, "recordWrapperType"),
    ("InputDataConfig.0.ContentType", "x" * 257, VALIDATION, "256"),
    (f"{SOURCE}.S3DataType", "Folder", VALIDATION, "enum value set"),
    (f"{SOURCE}.S3DataType", GONE, VALIDATION, "s3DataType"),
    (f"{SOURCE}.S3DataType", "AugmentedManifestFile", VALIDATION, "AttributeNames"),
    (f"{SOURCE}.S3Uri", "http://b/k", VALIDATION, "regular expression"),
    (f"{SOURCE}.S3Uri", GONE, VALIDATION, "s3Uri"),
    (f"{SOURCE}.S3Uri", "s3://b/" + LONG, VALIDATION, "1024"),
    (f"{SOURCE}.S3DataDistributionType", "Some", VALIDATION, "enum value set"),
    (f"{SOURCE}.AttributeNames", ["a"], VALIDATION, "AugmentedManifestFile"),
    (f"{SOURCE}.InstanceGroupNames", ["nobody"], VALIDATION, "nobody"),
    ("OutputDataConfig", GONE, VALIDATION, "outputDataConfig"),
    ("OutputDataConfig.S3OutputPath", GONE, VALIDATION, "s3OutputPath"),
    ("OutputDataConfig.S3OutputPath", "/tmp/out", VALIDATION, "regular expression"),
    ("OutputDataConfig.CompressionType", "ZIP", VALIDATION, "[GZIP, NONE]"),
    ("OutputDataConfig.KmsKeyId", "x" * 2049, VALIDATION, "2048"),
    ("ResourceConfig", GONE, VALIDATION, "resourceConfig"),
    ("ResourceConfig.InstanceType", GONE, VALIDATION, "instanceType"),
    ("ResourceConfig.InstanceCount", GONE, VALIDATION, "instanceCount"),
    ("ResourceConfig.InstanceCount", -1, VALIDATION, "instanceCount"),
    ("ResourceConfig.InstanceCount", 0, VALIDATION, "InstanceCount"),
    ("ResourceConfig.InstanceCount", 1.5, SERIALIZATION, "Integer"),
    ("ResourceConfig.InstanceCount", "1", SERIALIZATION, "Integer"),
    ("ResourceConfig.InstanceCount", 1 << 40, SERIALIZATION, "Integer"),
    ("ResourceConfig.InstanceCount", True, SERIALIZATION, "Integer"),
    ("ResourceConfig.VolumeSizeInGB", -1, VALIDATION, "volumeSizeInGB"),
    ("ResourceConfig.KeepAlivePeriodInSeconds", 21601, VALIDATION, "21600"),
    ("ResourceConfig.InstanceGroups",
     [{"InstanceGroupName": "a", "InstanceType": "local", "InstanceCount": 1}], VALIDATION,
     "combined"),
    ("StoppingCondition.MaxRuntimeInSeconds", 0, VALIDATION, "greater than or equal to 1"),
    ("StoppingCondition.MaxRuntimeInSeconds", "60", SERIALIZATION, "maxRuntimeInSeconds"),
    ("StoppingCondition.MaxWaitTimeInSeconds", 60, VALIDATION, "EnableManagedSpotTraining"),
    ("EnableManagedSpotTraining", "true", SERIALIZATION, "Boolean"),
    ("EnableManagedSpotTraining", True, VALIDATION, "MaxWaitTimeInSeconds"),
    ("EnableNetworkIsolation", 1, SERIALIZATION, "Boolean"),
    ("CheckpointConfig", {}, VALIDATION, "checkpointConfig.s3Uri"),
    ("CheckpointConfig", {"S3Uri": "checkpoints"}, VALIDATION, "regular expression"),
    ("CheckpointConfig", {"S3Uri": "s3://b/c", "LocalPath": "x" * 4097}, VALIDATION, "4096"),
    ("VpcConfig", {"Subnets": ["s"]}, VALIDATION, "securityGroupIds"),
    ("VpcConfig", {"Subnets": [], "SecurityGroupIds": ["sg"]}, VALIDATION, "subnets"),
    ("Environment", {"a b": "x"}, VALIDATION, "Map keys"),
    ("Environment", {"A": "x" * 513}, VALIDATION, "Map value"),
    ("Environment", {f"A{i}": "" for i in range(101)}, VALIDATION, "100"),
    ("RetryStrategy", {"MaximumRetryAttempts": 31}, VALIDATION, "30"),
    ("Tags", [{"Key": "a", "Value": "1"}] * 2, VALIDATION, "a"),
    ("Tags", [{"Key": "aws:mine", "Value": "1"}], VALIDATION, "aws:"),
    ("Tags", [{"Key": str(i), "Value": ""} for i in range(51)], VALIDATION, "50"),
    ("Tags", [{"Key": "", "Value": ""}], VALIDATION, "key"),
    ("Tags", [{"Key": "a", "Value": "x" * 257}], VALIDATION, "256"),
    ("Tags", [{"Key": "a"}], VALIDATION, "value"),
]  # fmt: skip

# --- other operations ---

TIMES = {"StartTime": 1_700_000_000, "EndTime": 1_700_003_600}
STATISTICS = {"Namespace": "n", "MetricName": "m", "Period": 60, "Statistics": ["Sum"], **TIMES}
STREAM = {"logGroupName": GROUP, "logStreamName": "job/algo-1-1"}
OTHERS = [
    ("sagemaker", "DescribeTrainingJob", {}, VALIDATION, "trainingJobName"),
    ("sagemaker", "DescribeTrainingJob", {"TrainingJobName": "none"}, VALIDATION, "not found"),
    ("sagemaker", "DescribeTrainingJob", {"TrainingJobName": "a b"}, VALIDATION, "regular"),
    ("sagemaker", "DescribeTrainingJob", {"TrainingJobName": {}}, SERIALIZATION, ""),
    ("sagemaker", "ListTrainingJobs", {"MaxResults": 101}, VALIDATION, "100"),
    ("sagemaker", "ListTrainingJobs", {"MaxResults": 0}, VALIDATION, "greater"),
    ("sagemaker", "ListTrainingJobs", {"MaxResults": "10"}, SERIALIZATION, "maxResults"),
    ("sagemaker", "ListTrainingJobs", {"NextToken": "x" * 8193}, VALIDATION, "8192"),
    ("sagemaker", "ListTrainingJobs", {"NextToken": "made up"}, VALIDATION, "NextToken"),
    ("sagemaker", "ListTrainingJobs", {"NextToken": "7b7d"}, VALIDATION, "NextToken"),
    ("sagemaker", "ListTrainingJobs", {"NextToken": "5b5b5b"}, VALIDATION, "NextToken"),
    ("sagemaker", "ListTrainingJobs", {"NameContains": "x" * 64}, VALIDATION, "63"),
    ("sagemaker", "ListTrainingJobs", {"NameContains": "a;b"}, VALIDATION, "regular"),
    ("sagemaker", "ListTrainingJobs", {"StatusEquals": "Running"}, VALIDATION, "enum"),
    ("sagemaker", "ListTrainingJobs", {"SortBy": "Size"}, VALIDATION, "enum"),
    ("sagemaker", "ListTrainingJobs", {"SortOrder": "Up"}, VALIDATION, "enum"),
    ("sagemaker", "ListTrainingJobs", {"CreationTimeAfter": "now"}, SERIALIZATION, "epoch"),
    ("sagemaker", "ListTrainingJobs", {"CreationTimeAfter": 1e300}, SERIALIZATION, "epoch"),
    ("sagemaker", "ListTrainingJobs", {"WarmPoolStatusEquals": "Cold"}, VALIDATION, "enum"),
    ("sagemaker", "StopTrainingJob", {}, VALIDATION, "trainingJobName"),
    ("sagemaker", "StopTrainingJob", {"TrainingJobName": "none"}, VALIDATION, "not found"),
    ("sagemaker", "StopTrainingJob", {"TrainingJobName": "x" * 64}, VALIDATION, "63"),
    ("sagemaker", "UpdateTrainingJob", {}, VALIDATION, "trainingJobName"),
    ("sagemaker", "UpdateTrainingJob", {"TrainingJobName": "none"}, VALIDATION, "not found"),
    ("sagemaker", "UpdateTrainingJob", {"TrainingJobName": "a", "ProfilerConfig": 1}, SERIALIZATION,
     "profilerConfig"),
    ("sagemaker", "UpdateTrainingJob", {"TrainingJobName": "a", "ResourceConfig": {}}, VALIDATION,
     "keepAlivePeriodInSeconds"),
    ("sagemaker", "DeleteTrainingJob", {"TrainingJobName": "none"}, VALIDATION, "not found"),
    ("sagemaker", "DeleteTrainingJob", {}, VALIDATION, "trainingJobName"),
    ("sagemaker", "AddTags", {"ResourceArn": ARN}, VALIDATION, "tags"),
    ("sagemaker", "AddTags", {"Tags": []}, VALIDATION, "resourceArn"),
    ("sagemaker", "AddTags", {"ResourceArn": "none", "Tags": []}, VALIDATION, "regular"),
    ("sagemaker", "AddTags", {"ResourceArn": ARN, "Tags": []}, VALIDATION, "not found"),
    ("sagemaker", "AddTags", {"ResourceArn": ARN, "Tags": [{"Key": "aws:a", "Value": ""}]},
     VALIDATION, "aws:"),
    ("sagemaker", "AddTags", {"ResourceArn": ARN, "Tags": [{"Key": "x" * 129, "Value": ""}]},
     VALIDATION, "128"),
    ("sagemaker", "ListTags", {}, VALIDATION, "resourceArn"),
    ("sagemaker", "ListTags", {"ResourceArn": ARN}, VALIDATION, "not found"),
    ("sagemaker", "ListTags", {"ResourceArn": ARN, "MaxResults": 49}, VALIDATION, "50"),
    ("sagemaker", "DeleteTags", {"ResourceArn": ARN}, VALIDATION, "tagKeys"),
    ("sagemaker", "DeleteTags", {"ResourceArn": ARN, "TagKeys": []}, VALIDATION, "1"),
    ("sagemaker", "DeleteTags", {"ResourceArn": ARN, "TagKeys": ["?"] * 51}, VALIDATION, "50"),
    ("sagemaker", "Search", {}, VALIDATION, "resource"),
    ("sagemaker", "Search", {"Resource": "Everything"}, VALIDATION, "enum"),
    ("sagemaker", "Search", {"Resource": "TrainingJob", "MaxResults": 101}, VALIDATION, "100"),
    ("sagemaker", "CreateEndpoint", {}, "UnknownOperationException", "does not host them"),
    ("sagemaker", "MakeCoffee", {}, "UnknownOperationException", "MakeCoffee"),
    ("sagemaker", "", {}, "UnknownOperationException", ""),
    ("sagemaker", "describetrainingjob", {}, "UnknownOperationException", ""),
    ("logs", "GetLogEvents", {"logGroupName": GROUP}, PARAMETER, "logStreamName"),
    ("logs", "GetLogEvents", {"logStreamName": "a"}, PARAMETER, "logGroupName"),
    ("logs", "GetLogEvents", STREAM, "ResourceNotFoundException", "does not exist"),
    ("logs", "GetLogEvents", {**STREAM, "logStreamName": "a:b"}, PARAMETER, "regular"),
    ("logs", "GetLogEvents", {**STREAM, "limit": 0}, PARAMETER, "limit"),
    ("logs", "GetLogEvents", {**STREAM, "limit": 10_001}, PARAMETER, "10000"),
    ("logs", "GetLogEvents", {**STREAM, "startTime": -1}, PARAMETER, "startTime"),
    ("logs", "GetLogEvents", {**STREAM, "startFromHead": "yes"}, SERIALIZATION, "Boolean"),
    ("logs", "GetLogEvents", {**STREAM, "nextToken": ""}, PARAMETER, "nextToken"),
    ("logs", "DescribeLogStreams", {"logGroupName": GROUP, "limit": 51}, PARAMETER, "50"),
    ("logs", "DescribeLogStreams", {"logGroupName": "?"}, PARAMETER, "regular"),
    ("logs", "DescribeLogStreams", {"logGroupName": "other"}, "ResourceNotFoundException", ""),
    ("logs", "DescribeLogStreams", {"logGroupName": GROUP, "orderBy": "Size"}, PARAMETER, "enum"),
    ("logs", "DescribeLogStreams",
     {"logGroupName": GROUP, "orderBy": "LastEventTime", "logStreamNamePrefix": "a"}, PARAMETER,
     "LastEventTime"),
    ("logs", "FilterLogEvents", {}, PARAMETER, "logGroupName"),
    ("logs", "FilterLogEvents", {"logGroupName": GROUP, "filterPattern": "x" * 1025}, PARAMETER,
     "1024"),
    ("logs", "FilterLogEvents", {"logGroupName": GROUP, "logStreamNames": []}, PARAMETER, "1"),
    ("logs", "FilterLogEvents",
     {"logGroupName": GROUP, "logStreamNames": ["a"], "logStreamNamePrefix": "a"}, PARAMETER,
     "combined"),
    ("logs", "PutLogEvents", {}, "UnknownOperationException", "PutLogEvents"),
    ("monitoring", "GetMetricStatistics", {}, "ValidationError", "namespace"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Period": 0}, "ValidationError", "period"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Period": 61}, "InvalidParameterValue",
     "60"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Period": 1},
     "InvalidParameterCombination", "1,440"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "EndTime": 0},
     "InvalidParameterCombination", "StartTime"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Statistics": ["Median"]},
     "ValidationError", "enum"),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Namespace": ":"}, "ValidationError", ""),
    ("monitoring", "GetMetricStatistics", {**STATISTICS, "Dimensions": [{}] * 31},
     "ValidationError", "30"),
    ("monitoring", "GetMetricData", {"MetricDataQueries": [{"Id": "A"}], **TIMES},
     "ValidationError", ""),
    ("monitoring", "GetMetricData", {"MetricDataQueries": "a", **TIMES}, SERIALIZATION, "list"),
    ("monitoring", "PutMetricData", {}, "UnknownOperationException", "PutMetricData"),
    ("ecr", "DescribeImages", {}, PARAMETER, "repositoryName"),
    ("ecr", "DescribeImages", {"repositoryName": "UPPER"}, PARAMETER, "regular"),
    ("ecr", "DescribeImages", {"repositoryName": "aa"}, "RepositoryNotFoundException", "aa"),
]  # fmt: skip

# --- bodies that are none ---

NAMED = '{"TrainingJobName":'
BODIES = [
    ("cut short", b'{"TrainingJobName": "a'),
    ("no quotes", b"{TrainingJobName: a}"),
    ("a comma too many", b'{"TrainingJobName": "a",}'),
    ("two values", b'{"TrainingJobName": "a"} {}'),
    ("a list", b"[]"),
    ("a number", b"5"),
    ("null", b"null"),
    ("XML", b"<TrainingJobName>a</TrainingJobName>"),
    ("nested 100,000 deep", b"[" * 100_000),
    ("nested 100,000 deep in a member", NAMED.encode() + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ("objects nested 100,000 deep", b'{"a":' * 100_000),
    ("a lone high surrogate", NAMED.encode() + b'"\\ud800"}'),
    ("a lone low surrogate", NAMED.encode() + b'"\\udc00"}'),
    ("surrogates in the wrong order", NAMED.encode() + b'"\\udc00\\ud800"}'),
    ("a surrogate in UTF-8", NAMED.encode() + b'"\xed\xa0\x80"}'),
    ("an overlong form", NAMED.encode() + b'"\xc0\xaf"}'),
    ("Latin-1", NAMED.encode() + b'"\xfc"}'),
    ("a bare control character", NAMED.encode() + b'"a\nb"}'),
    ("UTF-16", '{"TrainingJobName": "a"}'.encode("utf-16")),
    ("not a number", NAMED.encode() + b" NaN}"),
    ("infinity", NAMED.encode() + b" 1e999}"),
    ("a comment", b'{/**/"TrainingJobName": "a"}'),
    ("nul bytes", b"\0" * 100),
]

QUERIES = [
    ("sts", "no action", "", "InvalidAction", 400),
    ("sts", "unknown action", "Action=DecodeAuthorizationMessage", "InvalidAction", 400),
    ("sts", "no role", "Action=AssumeRole&RoleSessionName=ab", "ValidationError", 400),
    ("sts", "another account's role", "Action=AssumeRole&RoleSessionName=ab&RoleArn="
     "arn:aws:iam::111111111111:role/train", "AccessDenied", 403),
    ("sts", "a policy", "Action=AssumeRole&RoleSessionName=ab&Policy=%7B%7D&RoleArn="
     "arn:aws:iam::000000000000:role/train", "ValidationError", 400),
    ("sts", "too short", "Action=GetSessionToken&DurationSeconds=899", "ValidationError", 400),
    ("sts", "broken escape", "Action=GetCallerIdentity&a=%zz", "MalformedInput", 400),
    ("sts", "no UTF-8", "Action=GetCallerIdentity&a=%ff", "MalformedInput", 400),
    ("sts", "fields without number", "Action=GetCallerIdentity&" + "a=1&" * 10_001,
     "MalformedInput", 400),
    ("sts", "a name too deep", "Action=GetCallerIdentity&" + "a." * 40 + "b=1", "MalformedInput",
     400),
    ("iam", "no role", "Action=GetRole&Version=2010-05-08", "ValidationError", 400),
    ("iam", "a role's name too long", "Action=GetRole&RoleName=" + "x" * 65, "ValidationError",
     400),
    ("iam", "a role's name with a slash", "Action=GetRole&RoleName=a/b", "ValidationError", 400),
    ("iam", "a list for a text", "Action=GetRole&RoleName.member.1=a", "MalformedInput", 400),
    ("iam", "a text for a list",
     "Action=SimulatePrincipalPolicy&PolicySourceArn=arn:aws:iam::1:role/a&ActionNames=a",
     "MalformedInput", 400),
    ("iam", "a list without numbers",
     "Action=SimulatePrincipalPolicy&PolicySourceArn=arn:aws:iam::1:role/a&ActionNames.member.x=a",
     "MalformedInput", 400),
    ("iam", "no number",
     "Action=SimulatePrincipalPolicy&PolicySourceArn=arn:aws:iam::1:role/aaaaaaaa"
     "&ActionNames.member.1=s3:Get&MaxItems=many", "MalformedInput", 400),
    ("iam", "an action's name too short",
     "Action=SimulatePrincipalPolicy&PolicySourceArn=arn:aws:iam::1:role/aaaaaaaa"
     "&ActionNames.member.1=a", "ValidationError", 400),
    ("iam", "unknown action", "Action=DeleteRole&RoleName=a", "InvalidAction", 400),
    ("monitoring", "no namespace", "Action=GetMetricStatistics", "ValidationError", 400),
    ("monitoring", "no time",
     "Action=GetMetricStatistics&Namespace=n&MetricName=m&Period=60&StartTime=soon&EndTime=later",
     "MalformedInput", 400),
    ("ec2", "no number", "Action=DescribeSubnets&MaxResults=x", "MalformedInput", 400),
    ("ec2", "too small", "Action=DescribeSubnets&MaxResults=4", "InvalidParameterValue", 400),
    ("ec2", "unknown action", "Action=RunInstances", "InvalidAction", 400),
    ("ec2", "no such subnet", "Action=DescribeSubnets&SubnetId.1=subnet-9",
     "InvalidSubnetID.NotFound", 400),
    ("cloudformation", "no name", "Action=CreateStack&TemplateBody=a", "ValidationError", 400),
    ("cloudformation", "a template of 600 KiB",
     "Action=CreateStack&StackName=a&TemplateBody=" + "a" * 600_000, "ValidationError", 400),
    ("cloudformation", "a template nested 300 deep",
     "Action=CreateStack&StackName=a&TemplateBody=" + '{"a":' * 300, "ValidationError", 400),
    ("cloudformation", "no such stack", "Action=DescribeStacks&StackName=gone", "ValidationError",
     400),
    ("cloudformation", "unknown action", "Action=ListExports", "InvalidAction", 400),
    ("cloudformation", "a change of no stack",
     "Action=CreateChangeSet&StackName=gone&ChangeSetName=a&TemplateBody=a", "ValidationError",
     400),
    ("cloudformation", "a change set of no name", "Action=CreateChangeSet&StackName=a",
     "ValidationError", 400),
    ("cloudformation", "a change set that is not there",
     "Action=ExecuteChangeSet&ChangeSetName=arn:aws:cloudformation:us-east-1:000000000000:changeSet"
     "/a/1", "ChangeSetNotFound", 404),
]  # fmt: skip

CBORS = [
    ("cut short", b"\xa1"),
    ("a text longer than the body", b"\xa1\x61a\x7b\xff\xff\xff\xff\xff\xff\xff\xff"),
    ("a list as long as memory", b"\xa1\x61a\x9b\x00\x00\x00\x7f\xff\xff\xff\xff"),
    ("a map as long as memory", b"\xbb\x00\x00\x00\x7f\xff\xff\xff\xff"),
    ("nested 100,000 deep", b"\x81" * 100_000),
    ("indefinite lists nested 100,000 deep", b"\x9f" * 100_000),
    ("tags nested 100,000 deep", b"\xc1" * 100_000),
    ("a byte string", b"\xa1\x61a\x41x"),
    ("a number for a key", b"\xa1\x01\x02"),
    ("no UTF-8", b"\xa1\x61\xff\x01"),
    ("not a number", b"\xa1\x61a\xf9\x7e\x00"),
    ("a break alone", b"\xff"),
    ("bytes behind the end", b"\xa0\xa0"),
    ("a list", b"\x80"),
    ("a number has more than 64 bits", b"\xa1\x61a\x3b\xff\xff\xff\xff\xff\xff\xff\xff"),
    ("a reserved head", b"\xa1\x61a\x1c"),
    ("JSON", b"{}"),
]


def cbor_request(operation: str, body: bytes, service: str = "GraniteServiceVersion20100801"):
    return Request(
        path=f"/service/{service}/operation/{operation}",
        headers={"Smithy-Protocol": "rpc-v2-cbor", "Content-Type": "application/cbor"},
        body=body,
    )


def rows() -> list[Bad]:
    found = []
    for path, value, code, says in CREATE:
        request = json_request("sagemaker", "CreateTrainingJob", changed(good_job(), path, value))
        shown = "gone" if value is GONE else repr(value)[:30]
        found.append(Bad(f"create {path} {shown}", "sagemaker", request, code, 400, says))
    for service, operation, body, code, says in OTHERS:
        name = f"{operation} {json.dumps(body)[:60]}"
        request = json_request(service, operation, body)
        found.append(Bad(name, service, request, code, 400, says))
    for name, body in BODIES:
        request = json_request("sagemaker", "DescribeTrainingJob", body)
        found.append(Bad(f"JSON: {name}", "sagemaker", request, SERIALIZATION))
    for service, name, form, code, status in QUERIES:
        found.append(Bad(f"form: {service}: {name}", service, form_request(form), code, status))
    for name, body in CBORS:
        request = cbor_request("GetMetricStatistics", body)
        found.append(Bad(f"CBOR: {name}", "monitoring", request, SERIALIZATION))
    return found + odd_rows()


def odd_rows() -> list[Bad]:
    unknown = "UnknownOperationException"
    describe = {"TrainingJobName": "a"}
    huge = b'{"TrainingJobName": "' + b"x" * (5 << 20) + b'"}'
    as_form = json_request("sagemaker", "DescribeTrainingJob", b"TrainingJobName=a", FORM)
    no_target = Request(headers={"Content-Type": JSON_1_1}, body=b"{}")
    other_target = json_request("sagemaker", "DescribeTrainingJob", describe)
    other_target.headers["X-Amz-Target"] = "Frobnicator_2020.Describe"
    return [
        Bad("a form for JSON", "sagemaker", as_form, SERIALIZATION),
        Bad("no target", "sagemaker", no_target, unknown),
        Bad("a service that is not here", "sagemaker", other_target, unknown),
        Bad("a scope that is not here", "lambda", copy.deepcopy(other_target), unknown),
        Bad("CBOR of no operation", "monitoring", cbor_request("", b"\xa0"), unknown),
        Bad("CBOR of another operation", "monitoring", cbor_request("Fly", b"\xa0"), unknown),
        Bad("5 MiB of JSON", "sagemaker", json_request("sagemaker", "DescribeTrainingJob", huge),
            "RequestEntityTooLargeException", 413),
        Bad("5 MiB of a form", "sts", form_request("Action=" + "x" * (5 << 20)),
            "RequestEntityTooLargeException", 413),
    ]  # fmt: skip
