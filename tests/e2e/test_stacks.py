"""CloudFormation's stacks of `sm server`, with boto3, its waiters and the AWS CLI."""

import json
import subprocess
import sys

import pytest
from botocore.exceptions import ClientError
from lab import REPOSITORY, VENV
from sm_server import SmServer

AWS = VENV / "bin" / "aws"
EXAMPLE = REPOSITORY / "examples" / "vpc"
TEMPLATE = (EXAMPLE / "network.yaml").read_text()
VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
CONFIG = {
    "networks": {
        "Vpcs": [{"VpcId": "vpc-lab", "CidrBlock": "10.20.0.0/16"}],
        "Subnets": [
            {"SubnetId": "subnet-lab", "VpcId": "vpc-lab", "CidrBlock": "10.20.1.0/24"}
        ],
        "SecurityGroups": [{"GroupId": "sg-lab", "GroupName": "lab", "VpcId": "vpc-lab"}],
    }
}
WAIT = {"Delay": 1, "MaxAttempts": 5}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server"), config=CONFIG) as server:
        yield server


@pytest.fixture
def stacks(server):
    """A client; what a test leaves goes with it."""
    client = server.client("cloudformation")
    yield client
    for each in client.describe_stacks()["Stacks"]:
        client.delete_stack(StackName=each["StackName"])
    assert client.describe_stacks()["Stacks"] == []


@pytest.fixture
def ec2(server):
    return server.client("ec2")


def outputs(client, name: str) -> dict[str, str]:
    stack = client.describe_stacks(StackName=name)["Stacks"][0]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def refusal(call, **arguments) -> tuple[str, str]:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    error = raised.value.response["Error"]
    return error["Code"], error["Message"]


def test_a_template_like_the_guides_is_made_waited_for_and_deleted(stacks, ec2):
    arn = stacks.create_stack(
        StackName="net", TemplateBody=TEMPLATE, OnFailure="DELETE",
        Capabilities=["CAPABILITY_IAM"], Tags=[{"Key": "team", "Value": "vision"}],
    )["StackId"]  # fmt: skip
    stacks.get_waiter("stack_exists").wait(StackName="net", WaiterConfig=WAIT)
    stacks.get_waiter("stack_create_complete").wait(StackName="net", WaiterConfig=WAIT)
    made = outputs(stacks, "net")
    assert sorted(made) == ["SecurityGroupId", "Subnet1Id", "Subnet2Id"]
    found = ec2.describe_subnets(SubnetIds=[made["Subnet1Id"], made["Subnet2Id"]])["Subnets"]
    assert [each["CidrBlock"] for each in found] == ["10.0.0.0/24", "10.0.1.0/24"]
    assert [each["AvailabilityZone"] for each in found] == ["us-east-1a", "us-east-1b"]
    group = ec2.describe_security_groups(GroupIds=[made["SecurityGroupId"]])["SecurityGroups"][0]
    allowed = {
        (each["IpProtocol"], each.get("FromPort"), each.get("ToPort"),
         each["UserIdGroupPairs"][0]["GroupId"])
        for each in group["IpPermissions"]
    }  # fmt: skip
    own = made["SecurityGroupId"]
    assert allowed == {("tcp", 0, 65535, own), ("udp", 500, 500, own), ("50", None, None, own)}
    assert group["IpPermissionsEgress"][0]["IpRanges"] == [{"CidrIp": "0.0.0.0/0"}]
    named = [{"Name": "tag:Name", "Values": ["net-network"]}]
    vpc = ec2.describe_vpcs(Filters=named)["Vpcs"][0]
    assert vpc["VpcId"] == group["VpcId"] and {"Key": "team", "Value": "vision"} in vpc["Tags"]
    resources = stacks.describe_stack_resources(StackName="net")["StackResources"]
    assert {each["ResourceStatus"] for each in resources} == {"CREATE_COMPLETE"}
    assert "HostsByAll" not in {each["LogicalResourceId"] for each in resources}
    events = stacks.describe_stack_events(StackName="net")["StackEvents"]
    assert events[-1]["ResourceStatus"] == "CREATE_IN_PROGRESS"
    assert stacks.get_template(StackName="net")["TemplateBody"] == TEMPLATE
    stacks.delete_stack(StackName="net")
    stacks.get_waiter("stack_delete_complete").wait(StackName="net", WaiterConfig=WAIT)
    stacks.get_waiter("stack_delete_complete").wait(StackName=arn, WaiterConfig=WAIT)
    assert refusal(ec2.describe_subnets, SubnetIds=[made["Subnet1Id"]]) == (
        "InvalidSubnetID.NotFound", f"The subnet ID '{made['Subnet1Id']}' does not exist"
    )  # fmt: skip


def test_a_second_creation_is_passed_over_as_guides_do(stacks):
    stacks.create_stack(StackName="net", TemplateBody=TEMPLATE)
    with pytest.raises(stacks.exceptions.AlreadyExistsException, match=r"Stack \[net\] already"):
        stacks.create_stack(StackName="net", TemplateBody=TEMPLATE)
    first = stacks.create_stack(StackName="b", TemplateBody=TEMPLATE, ClientRequestToken="t")
    again = stacks.create_stack(StackName="b", TemplateBody=TEMPLATE, ClientRequestToken="t")
    assert again["StackId"] == first["StackId"]


def test_json_and_parameters(stacks, ec2):
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"Own": {"Type": "String", "Default": True, "AllowedValues": [True, False]},
                       "Vpc": {"Type": "String", "Default": ""}},
        "Conditions": {"New": {"Fn::And": [{"Fn::Equals": [{"Ref": "Own"}, "true"]},
                                           {"Fn::Equals": [{"Ref": "Vpc"}, ""]}]}},
        "Resources": {
            "Vpc1": {**VPC, "Condition": "New"},
            "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {
                "VpcId": {"Fn::If": ["New", {"Ref": "Vpc1"}, {"Ref": "Vpc"}]},
                "CidrBlock": {"Fn::If": ["New", "10.0.3.0/24", "10.20.3.0/24"]}}},
        },
        "Outputs": {"Subnet": {"Value": {"Ref": "Subnet"}}},
    }  # fmt: skip
    given = [{"ParameterKey": "Vpc", "ParameterValue": "vpc-lab"}]
    stacks.create_stack(StackName="own", TemplateBody=json.dumps(template))
    stacks.create_stack(StackName="in", TemplateBody=json.dumps(template), Parameters=given)
    found = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": ["vpc-lab"]}])["Subnets"]
    wanted = {"subnet-lab", outputs(stacks, "in")["Subnet"]}
    assert {each["SubnetId"] for each in found} == wanted
    assert stacks.get_template(StackName="own")["TemplateBody"] == template


BAD = [
    ("{", {}, "Template format error: JSON not well-formed. (line 1, column 2)"),
    ("a: [", {}, "Template format error: YAML not well-formed. (line 2"),
    ("text", {}, "Template format error: unsupported structure."),
    ("Resources: {}", {}, "Template format error: At least one Resources member must be defined."),
    ("Resources: {A: {Type: AWS::S3::Bucket}, B: {Type: 'Custom::X'}}", {},
     "Template format error: Unrecognized resource types: [AWS::S3::Bucket, Custom::X]"),
    ("Resources: {A: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/8}}}", {},
     "Vpcs[A].CidrBlock: expected a block of /16 to /28"),
    ("Resources: {A: {Type: AWS::EC2::VPC, Properties: {CidrBlock: !Ref B}}}", {},
     "Template format error: Unresolved resource dependencies [B] in the Resources block"),
    ("Resources: {A: {Type: AWS::EC2::VPC, Properties: {CidrBlock: !GetAtt A.VpcId}}}", {},
     "Circular dependency between resources: [A]"),
    (TEMPLATE, {"Zones": "3"}, "Parameter 'Zones' must be one of AllowedValues"),
    (TEMPLATE, {"Block": "10.0.0.0/8"},
     "Parameter Block failed to satisfy constraint: expected a block of /16 to /24"),
    (TEMPLATE, {"Gone": "1"}, "Parameters: [Gone] do not exist in the template"),
    (TEMPLATE + "\n" + "#" * 51200, {}, "1 validation error detected: Value at 'templateBody'"),
    ("a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n" + "".join(
        f"c{n}: &c{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
        for n, p in enumerate(["b", "c0", "c1", "c2", "c3", "c4", "c5", "c6"])), {},
     "Template format error: YAML not well-formed."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "parameters", "message"), BAD, ids=[each[2][:60] for each in BAD])
def test_a_bad_template_leaves_nothing(stacks, ec2, body, parameters, message):
    before = ec2.describe_vpcs()["Vpcs"]
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    code, said = refusal(
        stacks.create_stack, StackName="bad", TemplateBody=body, Parameters=given
    )
    assert code == "ValidationError" and said.startswith(message), said
    missing = "Stack with id bad does not exist"
    assert refusal(stacks.describe_stacks, StackName="bad") == ("ValidationError", missing)
    assert ec2.describe_vpcs()["Vpcs"] == before


def test_a_stack_outlives_its_server(server, stacks):
    stacks.create_stack(StackName="net", TemplateBody=TEMPLATE)
    made = outputs(stacks, "net")
    server.kill()
    server.start()
    assert outputs(server.client("cloudformation"), "net") == made
    found = server.client("ec2").describe_subnets(SubnetIds=[made["Subnet2Id"]])["Subnets"]
    assert len(found) == 1


def test_the_aws_cli_waits(server, stacks):
    if not AWS.exists():
        pytest.skip(f"{AWS} is missing: requirements-test.txt brings it")

    def aws(*words):
        done = subprocess.run(
            [AWS, *words], env=server.env(), capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    aws("cloudformation", "create-stack", "--stack-name", "cli",
        "--template-body", f"file://{EXAMPLE}/network.yaml",
        "--parameters", "ParameterKey=Zones,ParameterValue=1")  # fmt: skip
    aws("cloudformation", "wait", "stack-create-complete", "--stack-name", "cli")
    told = json.loads(aws("ec2", "describe-subnets", "--filters",
                          "Name=tag:aws:cloudformation:stack-name,Values=cli"))  # fmt: skip
    assert [each["CidrBlock"] for each in told["Subnets"]] == ["10.0.0.0/24"]
    aws("cloudformation", "delete-stack", "--stack-name", "cli")
    aws("cloudformation", "wait", "stack-delete-complete", "--stack-name", "cli")


def test_the_example_says_a_vpc_config(server, stacks, ec2):
    def example(*flags):
        done = subprocess.run(
            [sys.executable, EXAMPLE / "network.py", *flags], env=server.env(),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    config = json.loads(example())
    assert example().splitlines() == ["training-network is there already", json.dumps(config)]
    assert len(ec2.describe_subnets(SubnetIds=config["Subnets"])["Subnets"]) == 2
    example("--delete")
    assert refusal(ec2.describe_security_groups, GroupIds=config["SecurityGroupIds"])[0] == (
        "InvalidGroup.NotFound"
    )
