"""The muster server that the AWS_* variables name, and boto3's way to it.

boto3 and sagemaker are imported only where they are needed: the wheel asks for neither.
"""

import importlib
import os

REGION = "us-east-1"  # The server's own, if its config names no other.


class ClientError(Exception):
    """What is missing to reach a server, in one line."""


def module(name):
    """The module of that name; ClientError with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != name.split(".")[0]:
            raise  # The module is there; what it needs is not.
        package = name.split(".")[0]
        raise ClientError("muster: no module %s; pip install %s" % (name, package)) from None


def region():
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION


def boto_session():
    """A boto3.Session whose every client speaks to the server, STS's too.

    SageMaker's SDKs give STS the address of AWS itself: here it is the server's like the others.
    """
    missing = [
        name
        for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        if not os.environ.get(name)
    ]
    if missing:
        raise ClientError(
            "muster: %s is not set; `sm key create` on the server's machine prints the lines"
            % missing[0]
        )
    boto3 = module("boto3")
    address = os.environ["AWS_ENDPOINT_URL"]
    elder = _is_elder(getattr(boto3, "__version__", ""))

    class Session(boto3.session.Session):
        """boto3's, with one address for all services."""

        def client(self, service_name, *args, **options):
            if service_name == "sts" or elder and not options.get("endpoint_url"):
                variable = "AWS_ENDPOINT_URL_" + service_name.upper().replace("-", "_")
                options["endpoint_url"] = os.environ.get(variable) or address
            return super().client(service_name, *args, **options)

    return Session(region_name=region())


def _is_elder(version):
    """Whether that boto3 does not read AWS_ENDPOINT_URL: before 1.28, as beside SDK 1.x."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return bool(numbers) and numbers < [1, 28]


def account(session):
    """The 12 digits that stand in the server's ARNs."""
    return session.client("sts").get_caller_identity()["Account"]


def default_bucket(session):
    """The name of the bucket that SageMaker's SDKs take where none is named."""
    return "sagemaker-%s-%s" % (session.region_name, account(session))


def role(session):
    """A role for requests that must have one; the server looks at keys, not at roles."""
    return "arn:aws:iam::%s:role/muster" % account(session)
