"""CloudFormation as the AWS CLI uses it: `aws cloudformation deploy`, again and again."""

import json
import subprocess
import sys

import pytest

from sm_server import SmServer

SECONDS = 120
TEMPLATE = """
Parameters:
  Port: {Type: Number, Default: 22}
  Block: {Type: String, Default: 10.0.0.0/24}
Resources:
  Vpc: {Type: 'AWS::EC2::VPC', Properties: {CidrBlock: 10.0.0.0/16}}
  One: {Type: 'AWS::EC2::Subnet', Properties: {VpcId: !Ref Vpc, CidrBlock: !Ref Block}}
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: of a job
      VpcId: !Ref Vpc
      SecurityGroupIngress:
        - {IpProtocol: tcp, FromPort: !Ref Port, ToPort: !Ref Port, CidrIp: 0.0.0.0/0}
Outputs:
  One: {Value: !Ref One}
  Group: {Value: !Ref Group}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "net.yaml").write_text(TEMPLATE)
    with SmServer(folder) as started:
        yield started


def aws(server, *words, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "awscli", "cloudformation", *words], text=True,
                          env=server.env(), timeout=SECONDS, check=False, capture_output=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def deploy(server, stack, *words, code: int = 0) -> str:
    return aws(server, "deploy", "--stack-name", stack, "--template-file",
               server.data.parent / "net.yaml", *words, code=code)  # fmt: skip


def outputs(server, stack) -> dict:
    told = server.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    return {each["OutputKey"]: each["OutputValue"] for each in told["Outputs"]}


def test_deploy_makes_a_stack_finds_no_change_and_changes_a_rule(server):
    assert "Successfully created/updated stack - net" in deploy(
        server, "net", "--parameter-overrides", "Port=2222")
    made = outputs(server, "net")
    for code, words in ((255, []), (0, ["--no-fail-on-empty-changeset"])):
        said = deploy(server, "net", *words, code=code)
        assert "No changes to deploy. Stack net is up to date" in said
    assert "Successfully created/updated stack - net" in deploy(
        server, "net", "--parameter-overrides", "Port=8080", "--tags", "team=vision")
    assert outputs(server, "net") == made
    group = server.client("ec2").describe_security_groups(GroupIds=[made["Group"]])
    rule = group["SecurityGroups"][0]["IpPermissions"][0]
    assert (rule["FromPort"], rule["ToPort"]) == (8080, 8080)
    stack = server.client("cloudformation").describe_stacks(StackName="net")["Stacks"][0]
    assert stack["StackStatus"] == "UPDATE_COMPLETE"
    assert stack["Tags"] == [{"Key": "team", "Value": "vision"}]
    assert {"ParameterKey": "Port", "ParameterValue": "8080"} in stack["Parameters"]


def test_deploy_that_would_take_a_subnet_from_another_stack_fails_and_names_it(server):
    deploy(server, "base")
    made = outputs(server, "base")
    cloudformation = server.client("cloudformation")
    rule = {"Type": "AWS::EC2::SecurityGroup", "Properties": {
        "GroupDescription": "g", "VpcId": "unset", "SecurityGroupIngress": [
            {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2,
             "SourceSecurityGroupId": made["Group"]}]}}  # fmt: skip
    vpc = server.client("ec2").describe_subnets(SubnetIds=[made["One"]])["Subnets"][0]["VpcId"]
    rule["Properties"]["VpcId"] = vpc
    cloudformation.create_stack(StackName="above", TemplateBody=json.dumps(
        {"Resources": {"Own": rule}}))  # fmt: skip
    (server.data.parent / "less.yaml").write_text(
        TEMPLATE.replace("GroupDescription: of a job", "GroupDescription: of another job"))
    said = aws(server, "deploy", "--stack-name", "base", "--template-file",
               server.data.parent / "less.yaml", code=255)  # fmt: skip
    assert "Failed to create the changeset" in said
    assert f"Resource Group ({made['Group']}) cannot be replaced or deleted while stack above " \
        "is in its" in said  # fmt: skip
    assert outputs(server, "base") == made
    cloudformation.delete_stack(StackName="above")
    aws(server, "deploy", "--stack-name", "base", "--template-file",
        server.data.parent / "less.yaml")  # fmt: skip
    now = outputs(server, "base")
    assert now["One"] == made["One"] and now["Group"] != made["Group"]


def test_the_cli_validates_summarizes_and_updates(server):
    body = f"file://{server.data.parent / 'net.yaml'}"
    told = json.loads(aws(server, "validate-template", "--template-body", body))
    assert {each["ParameterKey"] for each in told["Parameters"]} == {"Port", "Block"}
    told = json.loads(aws(server, "get-template-summary", "--template-body", body))
    assert "AWS::EC2::Subnet" in told["ResourceTypes"]
    aws(server, "create-stack", "--stack-name", "by-hand", "--template-body", body)
    aws(server, "update-stack", "--stack-name", "by-hand", "--use-previous-template",
        "--parameters", "ParameterKey=Port,ParameterValue=80")  # fmt: skip
    aws(server, "wait", "stack-update-complete", "--stack-name", "by-hand")
    said = aws(server, "update-stack", "--stack-name", "by-hand", "--use-previous-template",
               "--parameters", "ParameterKey=Port,UsePreviousValue=true", code=255)  # fmt: skip
    assert "No updates are to be performed." in said
    resources = json.loads(aws(server, "list-stack-resources", "--stack-name", "by-hand"))
    assert len(resources["StackResourceSummaries"]) == 3
