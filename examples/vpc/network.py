"""Makes the network of network.yaml, waits for it, and says what a job's VpcConfig is.

usage: network.py [--stack NAME] [--delete]
"""

import argparse
import json
import pathlib
import time

import boto3

TEMPLATE = pathlib.Path(__file__).parent / "network.yaml"


def create(client, name: str) -> dict:
    """The stack's outputs. One that is there already stays as it is."""
    try:
        client.create_stack(StackName=name, TemplateBody=TEMPLATE.read_text())
    except client.exceptions.AlreadyExistsException:
        print(f"{name} is there already")
    stack = client.describe_stacks(StackName=name)["Stacks"][0]
    while stack["StackStatus"] == "CREATE_IN_PROGRESS":
        time.sleep(0.5)
        stack = client.describe_stacks(StackName=name)["Stacks"][0]
    if stack["StackStatus"] != "CREATE_COMPLETE":
        raise SystemExit(f"{name}: {stack['StackStatus']}")
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stack", default="training-network")
    parser.add_argument("--delete", action="store_true", help="delete it again")
    options = parser.parse_args()
    client = boto3.client("cloudformation")
    if options.delete:
        client.delete_stack(StackName=options.stack)
        client.get_waiter("stack_delete_complete").wait(StackName=options.stack)
        return
    made = create(client, options.stack)
    subnets = [made[key] for key in ("Subnet1Id", "Subnet2Id") if key in made]
    print(json.dumps({"SecurityGroupIds": [made["SecurityGroupId"]], "Subnets": subnets}))


if __name__ == "__main__":
    main()
