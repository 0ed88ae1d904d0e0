"""The muster server in the AWS_* variables, and boto3 sessions for it.

boto3 and sagemaker are imported only when they are needed: the wheel does not depend on them.
"""

import importlib
import os

REGION = "us-east-1"  # The server's default.


class ClientError(Exception):
    """A variable, package or file is missing. The message is one line."""


def module(name):
    """Imports a module. Raises ClientError with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != name.split(".")[0]:
            raise  # The module exists, but one of its own imports is missing.
        package = name.split(".")[0]
        raise ClientError("muster: no module %s; pip install %s" % (name, package)) from None


def region():
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION


def boto_session():
    """Returns a boto3.Session whose clients all use the server, including STS.

    SageMaker's SDKs set the endpoint of STS to AWS; this session replaces it.
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
        """boto3's Session with one endpoint for all services."""

        def client(self, service_name, *args, **options):
            if service_name == "sts" or elder and not options.get("endpoint_url"):
                variable = "AWS_ENDPOINT_URL_" + service_name.upper().replace("-", "_")
                options["endpoint_url"] = os.environ.get(variable) or address
            return super().client(service_name, *args, **options)

    return Session(region_name=region())


def _is_elder(version):
    """Whether this boto3 ignores AWS_ENDPOINT_URL: before 1.28, for example with SDK 1.x."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return bool(numbers) and numbers < [1, 28]


def account(session):
    """Returns the 12 digits of the account in the server's ARNs."""
    return session.client("sts").get_caller_identity()["Account"]


def default_bucket(session):
    """Returns the name of the bucket that SageMaker's SDKs use by default."""
    return "sagemaker-%s-%s" % (session.region_name, account(session))


def role(session):
    """Returns a role for requests that require one. The server checks keys and ignores roles."""
    return "arn:aws:iam::%s:role/muster" % account(session)
