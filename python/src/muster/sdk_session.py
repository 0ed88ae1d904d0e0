"""A SageMaker SDK session for a muster server, without a configuration file or an AWS account."""

import inspect

from muster import server


def session(default_bucket=None):
    """Returns a session of the installed SageMaker SDK: 1.x, 2.x or 3.x.

    The session uses the server in the AWS_* variables, as printed by `sm server`. It creates
    `default_bucket` when it first needs it; the default is sagemaker-REGION-ACCOUNT. Telemetry is
    off, and `get_execution_role(session)` returns a role. An estimator with this session sends the
    instance types local and local_gpu to the server. Raises server.ClientError if a variable or
    package is missing.
    """
    boto = server.boto_session()
    bucket = default_bucket or server.default_bucket(boto)
    base = _session_class()
    options = {"boto_session": boto, "default_bucket": bucket, "sagemaker_config": _config(bucket)}
    # SDK 1.x has no configuration, and before 1.51 no default_bucket.
    known = inspect.signature(base.__init__).parameters
    return base(**{name: value for name, value in options.items() if name in known})


def _session_class():
    sagemaker = server.module("sagemaker")
    if not hasattr(sagemaker, "Session"):  # 3.x: a namespace of several packages.
        base = server.module("sagemaker.core.helper.session_helper").Session
        return type("Session", (base,), {"get_caller_identity_arn": _role})
    base = sagemaker.Session
    local = server.module("sagemaker.local").LocalSession
    # SDK 2 refuses an estimator with the instance type local if its session is not a LocalSession.
    # This class is one, but it behaves like Session.
    own = {
        name: inspect.getattr_static(base, name)
        for name in vars(local)
        if name == "__init__" or not name.startswith("__") and hasattr(base, name)
    }
    own["get_caller_identity_arn"] = _role
    return type("Session", (local,), own)


def _role(session):
    return server.role(session.boto_session)


def _config(bucket):
    """Returns the SDK configuration that `sm env --client --write` writes."""
    modules = {"Session": {"DefaultS3Bucket": bucket}, "TelemetryOptOut": True}
    return {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": modules}}}
