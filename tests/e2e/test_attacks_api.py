"""Attacks on the API of `sm server`: whose a request is, and what it may say of a job."""

import dataclasses
import json
import re

import pytest
from attack_bench import BUCKET, REFUSED, SECONDS, Attacked, job_request, unchanged  # noqa: F401
from bad_api import ARN, TARGETS, form_request, json_request
from process import wait_until
from raw_http import Request, Scope, head_of, presigned, signed, stamp
from sm_server import SmServer


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield Attacked(server, "held")


def authorization(request: Request) -> str:
    return request.headers["Authorization"]


def with_authorization(request: Request, value: str) -> Request:
    return dataclasses.replace(request, headers={**request.headers, "Authorization": value})


def creation(name: str = "stolen") -> Request:
    return json_request("sagemaker", "CreateTrainingJob", job_request(name))


def caller() -> Request:
    return form_request("Action=GetCallerIdentity&Version=2011-06-15")


# --- whose a request is ---

DECOY = "a/b/c//d"
FULL_DECOY = "KEY/20200101/us-east-1/sagemaker/aws4_request"
SHA = "0" * 64

# What is made of an Authorization that is honest.
DECOYS = [
    ("an unknown part before it", lambda a: a.replace(" Cred", f" XCredential={DECOY}, Cred", 1)),
    ("a part whose name ends as Credential does, for the right service",
     lambda a: a.replace(" Cred", f" XCredential={FULL_DECOY}, Cred", 1)),
    ("a second Credential before it",
     lambda a: a.replace(" Cred", f" Credential={FULL_DECOY}, Cred", 1)),
    ("a second Credential behind it", lambda a: f"{a}, Credential={FULL_DECOY}"),
    ("an empty Credential before it", lambda a: a.replace(" Cred", " Credential=, Cred", 1)),
    ("a Credential in small letters",
     lambda a: a.replace(" Cred", f" credential={FULL_DECOY}, Cred", 1)),
    ("a second SignedHeaders", lambda a: f"{a}, SignedHeaders=host"),
    ("a second Signature", lambda a: f"{a}, Signature={SHA}"),
    ("an unknown part behind it", lambda a: f"{a}, Service=sagemaker"),
    ("an empty part", lambda a: f"{a},"),
    ("an empty part in front", lambda a: a.replace(" Cred", " , Cred", 1)),
    ("a tab in place of a space", lambda a: a.replace(", Signed", ",\tSigned", 1)),
    ("a space within a name", lambda a: a.replace("Credential=", "Credential =", 1)),
    ("quotes around it", lambda a: re.sub(r"Credential=([^,]*)", r'Credential="\1"', a)),
    ("a semicolon for a comma", lambda a: a.replace(", Signature", "; Signature", 1)),
    ("a longer algorithm", lambda a: a.replace("SHA256 ", "SHA256-X ", 1)),
    ("SHA-1", lambda a: a.replace("SHA256 ", "SHA1 ", 1)),
    ("an asymmetric algorithm", lambda a: a.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")),
    ("Version 2", lambda a: "AWS " + re.search("Credential=([^/]*)", a)[1] + ":c2ln"),
    ("a slash too many in the scope", lambda a: a.replace("/sts/", "/sts//", 1)),
    ("no service in the scope", lambda a: a.replace("/sts/", "//", 1)),
    ("two services in the scope", lambda a: a.replace("/sts/", "/sts/sagemaker/", 1)),
    ("the right service after signing", lambda a: a.replace("/sts/", "/sagemaker/", 1)),
]  # fmt: skip


@pytest.mark.parametrize("change", [d[1] for d in DECOYS], ids=[d[0] for d in DECOYS])
def test_no_authorization_makes_a_jobs_key_create_a_job(attacked, unchanged, change):
    request = signed(creation(), attacked.holder, "sts", attacked.host)
    value = change(authorization(request))
    assert value != authorization(request)
    answer = attacked.send(with_authorization(request, value))
    assert answer.status in REFUSED, answer.text


@pytest.mark.parametrize("change", [d[1] for d in DECOYS], ids=[d[0] for d in DECOYS])
def test_an_authorization_is_exactly_its_three_parts(attacked, change):
    """The key is a user's, for the right service, but extra parts are not ignored."""
    request = signed(caller(), attacked.user, "sts", attacked.host)
    assert attacked.send(request).status == 200
    answer = attacked.send(with_authorization(request, change(authorization(request))))
    assert answer.status in REFUSED, answer.text


SCOPES = ["sts", "iam", "ec2", "cloudformation", "ecr", "logs", "monitoring", "s3",
          "s3-object-lambda", "lambda",
          "SageMaker", "sagemaker2"]  # fmt: skip


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("who", ["user", "holder"])
def test_a_scope_of_another_service_creates_no_job(attacked, unchanged, who, scope):
    answer = attacked.send(signed(creation(), getattr(attacked, who), scope, attacked.host))
    assert answer.status in (*REFUSED, 501), answer.text  # 501: S3 knows no X-Amz-Target.


@pytest.mark.parametrize(
    ("service", "operation", "scope"),
    [("logs", "DescribeLogGroups", "sagemaker"), ("monitoring", "ListMetrics", "sagemaker"),
     ("ecr", "GetAuthorizationToken", "sts"), ("logs", "DescribeLogGroups", "sts"),
     ("monitoring", "ListMetrics", "logs")],
)  # fmt: skip
def test_a_users_signature_is_for_one_service(attacked, service, operation, scope):
    request = json_request(service, operation, {})
    answer = attacked.send(signed(request, attacked.user, scope, attacked.host))
    assert (answer.status, answer.code) == (400, "InvalidSignatureException")
    assert f"correct service: '{service}'" in answer.text


@pytest.mark.parametrize("scope", ["sts", "iam", "monitoring"])
def test_a_form_is_not_another_services(attacked, scope):
    """Query's operation is looked for in the scope's service alone."""
    action = {"sts": "GetRole", "iam": "GetCallerIdentity", "monitoring": "GetCallerIdentity"}
    request = form_request(f"Action={action[scope]}&Version=2011-06-15&RoleName=r")
    answer = attacked.send(signed(request, attacked.user, scope, attacked.host))
    assert answer.code == "InvalidAction"


def test_a_path_of_cbor_is_compared_with_the_scope(attacked):
    path = "/service/GraniteServiceVersion20100801/operation/ListMetrics"
    headers = {"Smithy-Protocol": "rpc-v2-cbor", "Content-Type": "application/cbor"}
    request = Request(path=path, headers=headers, body=b"\xa0")
    for keys, scope in ((attacked.holder, "sts"), (attacked.user, "sts"),
                        (attacked.holder, "monitoring")):  # fmt: skip
        answer = attacked.send(signed(request, keys, scope, attacked.host))
        assert answer.status in REFUSED, (scope, answer.body)
    assert attacked.send(signed(request, attacked.user, "monitoring", attacked.host)).status == 200


# What is done to a user's signed CreateTrainingJob on its way.
SWAPS = [
    ("the operation", lambda r: {"headers": {**r.headers, "X-Amz-Target": "SageMaker.Search"}}),
    ("the operation's service",
     lambda r: {"headers": {**r.headers, "X-Amz-Target": "Logs_20140328.DescribeLogGroups"}}),
    ("the body", lambda r: {"body": r.body.replace(b"stolen", b"st0len")}),
    ("the method", lambda r: {"method": "PUT"}),
    ("the path", lambda r: {"path": "/service/X/operation/Y"}),
    ("the query", lambda r: {"query": [("Action", "GetCallerIdentity")]}),
    ("the host", lambda r: {"headers": {**r.headers, "Host": "elsewhere:80"}}),
    ("the time", lambda r: {"headers": {**r.headers, "X-Amz-Date": stamp(7)}}),
    ("a header of Amazon's that was not signed",
     lambda r: {"headers": {**r.headers, "X-Amz-User-Agent": "me"}}),
    ("the key", lambda r: {"headers": {**r.headers, "Authorization": re.sub(
        "Credential=[^/]*", "Credential=AKIANOBODY", authorization(r))}}),
    ("no date", lambda r: {"headers": {k: v for k, v in r.headers.items() if k != "X-Amz-Date"}}),
]  # fmt: skip


@pytest.mark.parametrize("change", [s[1] for s in SWAPS], ids=[s[0] for s in SWAPS])
def test_a_signature_holds_for_one_request(attacked, unchanged, change):
    request = signed(creation(), attacked.user, "sagemaker", attacked.host)
    assert attacked.send(dataclasses.replace(request, **change(request))).status in REFUSED


DATES = [
    ("an hour old", {"time": stamp(-3600)}), ("an hour ahead", {"time": stamp(3600)}),
    ("a day old", {"time": stamp(-86400)}), ("the scope's day is another", {"day": "20200101"}),
    ("not a time", {"time": "now"}), ("another terminal", {"terminal": "aws5_request"}),
    ("no region", {"region": ""}),
]  # fmt: skip


@pytest.mark.parametrize("scope", [d[1] for d in DATES], ids=[d[0] for d in DATES])
def test_a_signature_is_of_now(attacked, unchanged, scope):
    scope = Scope("sagemaker", **scope)
    answer = attacked.send(signed(creation(), attacked.user, scope, attacked.host))
    assert answer.status in REFUSED


@pytest.mark.parametrize("left_out", [("host",), ("x-amz-target",), ("x-amz-date",)])
def test_what_has_to_be_signed_is_signed(attacked, unchanged, left_out):
    request = signed(creation(), attacked.user, "sagemaker", attacked.host, unsigned=left_out)
    answer = attacked.send(request)
    assert (answer.status, answer.code) == (400, "InvalidSignatureException")


@pytest.mark.parametrize("name", ["Authorization", "X-Amz-Target", "X-Amz-Date", "Host"])
@pytest.mark.parametrize("first", [True, False])
def test_a_header_that_decides_comes_once(attacked, unchanged, name, first):
    """A proxy may have read the other one."""
    request = signed(creation(), attacked.user, "sagemaker", attacked.host)
    another = {"Authorization": authorization(signed(caller(), attacked.holder, "sts",
                                                     attacked.host)),
               "X-Amz-Target": "SageMaker.ListTrainingJobs", "X-Amz-Date": stamp(1),
               "Host": "elsewhere"}  # fmt: skip
    line = f"{name}: {another[name]}\r\n".encode()
    head, end = head_of(request), b"\r\n\r\n"
    cut = head.index(b"\r\n") + 2 if first else len(head) - 2
    answer = attacked.send(head[:cut] + line + head[cut:] + request.body)
    assert head.endswith(end) and answer.status in REFUSED, answer.text


@pytest.mark.parametrize("name", ["X-Amz-Signature", "X-Amz-Credential", "X-Amz-Algorithm"])
def test_a_request_is_signed_in_one_place(attacked, unchanged, name):
    """In the header and in the query, both by the same user."""
    query = [(name, "AWS4-HMAC-SHA256")]
    request = dataclasses.replace(creation(), query=query)
    answer = attacked.send(signed(request, attacked.user, "sagemaker", attacked.host))
    assert answer.status in REFUSED and "signed twice" in answer.text


def test_a_presigned_url_does_not_make_a_call_of_another_operation(attacked, unchanged):
    """A presigned URL's headers are not signed, and X-Amz-Target has to be."""
    url = presigned(Request("POST"), attacked.user, Scope("sagemaker"), attacked.host, "60")
    asked = creation()
    request = dataclasses.replace(url, headers={**url.headers, **asked.headers}, body=asked.body)
    assert attacked.send(request).status in REFUSED


URLS = [
    ("for no time", "0", {}, 403), ("for less than none", "-60", {}, 403),
    ("longer than a week", "604801", {}, 403), ("for how long", "1e3", {}, 403),
    ("for a number too large", "9" * 30, {}, 403),
    ("which has passed", "60", {"time": stamp(-61)}, 403),
    ("which has not begun", "60", {"time": stamp(3600)}, 403),
    ("of another day's scope", "60", {"day": "20200101"}, 400),
    ("for STS", "60", {"service": "sts"}, 400), ("without a service", "60", {"service": ""}, 400),
]  # fmt: skip


@pytest.mark.parametrize(("expires", "scope", "status"), [u[1:] for u in URLS],
                         ids=[u[0] for u in URLS])  # fmt: skip
def test_a_presigned_url_has_its_time(attacked, expires, scope, status):
    got = Request("GET", f"/{BUCKET}/secret/a")
    scope = Scope(**{"service": "s3", **scope})
    answer = attacked.send(presigned(got, attacked.user, scope, attacked.host, expires))
    assert answer.status == status and b"there" not in answer.body, answer.text


def url_of(attacked) -> Request:
    got = Request("GET", f"/{BUCKET}/train/a")
    return presigned(got, attacked.user, Scope("s3"), attacked.host, "60")


ALTERED = [
    ("a longer time", lambda q: [(k, "3600" if k == "X-Amz-Expires" else v) for k, v in q]),
    ("a second time", lambda q: [*q, ("X-Amz-Expires", "604800")]),
    ("a second key in small letters", lambda q: [("x-amz-credential", "x"), *q]),
    ("a second signature", lambda q: [*q, ("X-Amz-Signature", SHA)]),
    ("another answer", lambda q: [*q, ("response-content-type", "text/html")]),
    ("the ACL", lambda q: [*q, ("acl", "")]),
    ("no signature", lambda q: q[:-1]),
    ("no signed headers", lambda q: [p for p in q if p[0] != "X-Amz-SignedHeaders"]),
    ("SHA-1", lambda q: [(k, "AWS4-HMAC-SHA1" if k == "X-Amz-Algorithm" else v) for k, v in q]),
    ("Version 2",
     lambda q: [("AWSAccessKeyId", "A"), ("Signature", "c2ln"), ("Expires", "9999999999")]),
]  # fmt: skip


@pytest.mark.parametrize("change", [a[1] for a in ALTERED], ids=[a[0] for a in ALTERED])
def test_a_presigned_url_is_as_it_was_made(attacked, change):
    request = url_of(attacked)
    assert attacked.send(request).body == b"there"
    answer = attacked.send(dataclasses.replace(request, query=change(request.query)))
    assert answer.status in REFUSED and b"there" not in answer.body


def test_a_presigned_url_to_read_writes_nothing(attacked, unchanged):
    request = url_of(attacked)
    for method in ("PUT", "DELETE", "POST"):
        other = dataclasses.replace(request, method=method, body=b"mine")
        assert attacked.send(other).status in REFUSED
    elsewhere = dataclasses.replace(request, path=f"/{BUCKET}/secret/a")
    assert attacked.send(elsewhere).status in REFUSED


def test_a_jobs_key_makes_no_url_of_version_2(attacked):
    """What others may, see test_server_s3_urls.py."""
    own = (attacked.holder.identity, attacked.holder.secret)
    old = attacked.server.client("s3", key=own, signature_version="s3")
    url = old.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "train/a"})
    path, query = url.split(attacked.host, 1)[1].split("?")
    answer = attacked.send(f"GET {path}?{query} HTTP/1.1\r\nHost: {attacked.host}\r\n\r\n".encode())
    assert (answer.status, answer.code) == (400, "InvalidRequest")
    assert "s3v4" in answer.text


# --- what a job's key may do ---

CALLS = {
    "sagemaker": [("CreateTrainingJob", job_request("stolen")), ("ListTrainingJobs", {}),
                  ("DescribeTrainingJob", {"TrainingJobName": "held"}),
                  ("StopTrainingJob", {"TrainingJobName": "held"}),
                  ("UpdateTrainingJob", {"TrainingJobName": "held"}),
                  ("DeleteTrainingJob", {"TrainingJobName": "held"}),
                  ("Search", {"Resource": "TrainingJob"}),
                  ("ListTags", {"ResourceArn": ARN}),
                  ("NoSuchOperation", {})],
    "logs": [("DescribeLogGroups", {}),
             ("GetLogEvents", {"logGroupName": "g", "logStreamName": "s"}),
             ("FilterLogEvents", {"logGroupName": "/aws/sagemaker/TrainingJobs"})],
    "monitoring": [("ListMetrics", {})],
    "ecr": [("CreateRepository", {"repositoryName": "stolen"}), ("DescribeRepositories", {}),
            ("DeleteRepository", {"repositoryName": "box", "force": True}),
            ("BatchDeleteImage", {"repositoryName": "box", "imageIds": [{"imageTag": "v1"}]}),
            ("ListImages", {"repositoryName": "box"})],
}  # fmt: skip


@pytest.mark.parametrize(
    ("service", "operation", "body"),
    [(service, *call) for service, calls in CALLS.items() for call in calls],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_jobs_key_makes_no_call(attacked, unchanged, service, operation, body):
    """Signed as it should be, for the right service."""
    assert service in TARGETS
    request = json_request(service, operation, body)
    answer = attacked.send(signed(request, attacked.holder, service, attacked.host))
    known = operation != "NoSuchOperation"
    assert (answer.status, answer.code) == (
        400, "AccessDeniedException" if known else "UnknownOperationException"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("service", "form"),
    [("iam", "Action=GetRole&RoleName=r"),
     ("iam", "Action=SimulatePrincipalPolicy&PolicySourceArn=a"),
     ("ec2", "Action=DescribeSubnets"), ("ec2", "Action=DescribeSecurityGroups"),
     ("ec2", "Action=DescribeVpcs"), ("cloudformation", "Action=DescribeStacks"),
     ("cloudformation", "Action=CreateStack&StackName=a&TemplateBody=a"),
     ("cloudformation", "Action=DeleteStack&StackName=a"),
     ("cloudformation", "Action=UpdateStack&StackName=a&TemplateBody=a"),
     ("cloudformation", "Action=CreateChangeSet&StackName=a&ChangeSetName=a&TemplateBody=a"),
     ("cloudformation", "Action=ExecuteChangeSet&StackName=a&ChangeSetName=a"),
     ("sts", "Action=AssumeRole&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=ab"),
     ("sts", "Action=GetSessionToken"),
     ("monitoring", "Action=ListMetrics")],
)  # fmt: skip
def test_a_jobs_key_sends_no_form(attacked, service, form):
    request = form_request(form + "&Version=2010-05-08")
    answer = attacked.send(signed(request, attacked.holder, service, attacked.host))
    assert (answer.status, answer.code) == (403, "AccessDenied")


def test_a_jobs_key_may_ask_who_it_is(attacked):
    request = signed(caller(), attacked.holder, "sts", attacked.host)
    answer = attacked.send(request)
    assert answer.status == 200 and attacked.holder.identity in answer.text
    other = form_request("Action=GetFederationToken&Version=2011-06-15&Name=ab")
    answer = attacked.send(signed(other, attacked.holder, "sts", attacked.host))
    assert answer.code == "InvalidAction"


def test_a_jobs_key_pushes_no_image(attacked):
    asked = json_request("ecr", "GetAuthorizationToken", {})
    answer = attacked.send(signed(asked, attacked.holder, "ecr", attacked.host))
    token = json.loads(answer.text)["authorizationData"][0]["authorizationToken"]
    for method, target in [
        ("POST", "/v2/team/box/blobs/uploads/"),
        ("PATCH", "/v2/team/box/blobs/uploads/" + "0" * 32),
        ("PUT", "/v2/team/box/manifests/v1"),
        ("DELETE", "/v2/team/box/manifests/v1"),
        ("GET", "/v2/_catalog"),
    ]:
        headers = {"Host": attacked.host, "Authorization": f"Basic {token}"}
        answer = attacked.send(Request(method, target, headers, b"{}"))
        assert answer.status == 403 and '"DENIED"' in answer.text


def test_a_jobs_key_ends_with_its_job(attacked):
    keys = attacked.started("short")
    request = signed(caller(), keys, "sts", attacked.host)
    assert attacked.send(request).status == 200
    attacked.ended("short")
    answer = attacked.send(request)
    assert (answer.status, answer.code) == (403, "InvalidClientTokenId")
    got = signed(Request("GET", f"/{BUCKET}/train/a"), keys, "s3", attacked.host)
    assert attacked.send(got).code == "InvalidAccessKeyId"


# --- what a request may say of a job ---

FORGED = {
    "code from the machine": {"Muster": {"SourceFolder": "/etc"}},
    "results into the machine": {"Muster": {"OutputFolder": "/etc/cron.d"}},
    "more of the machine to see": {"Muster": {"ReadOnlyBinds": ["/root", "/etc"]}},
    "nothing hidden": {"Muster": {"Hidden": []}},
    "another's credentials": {"Muster": {"S3": {"CredentialsFile": "/root/.aws/credentials"}}},
    "another S3 for the steward": {"Muster": {"S3": {"Endpoint": "http://127.0.0.1:1"}}},
    "an interpreter": {"Muster": {"Python": "/bin/sh", "Path": "/tmp"}},
    "all the memory": {"Muster": {"MemoryBytes": 1 << 60, "ShmBytes": 1 << 60}},
    "a day of grace": {"Muster": {"GraceMs": 86400000}},
    "a steward's own description": {"spec": {"Muster": {"SourceFolder": "/etc"}},
                                    "host_folder": "/etc", "key_file": "/etc/shadow"},
    "members below others": {"OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out",
                                                  "Muster": {"OutputFolder": "/etc"},
                                                  "Folder": "/etc"}},
}  # fmt: skip


def described(attacked, name: str) -> dict:
    """What the job's stewards run, without its name and its key."""
    path = attacked.server.data / "machine" / "jobs" / name / "job.json"
    found = json.loads(path.read_text().replace(name, "NAME"))
    del found["Environment"]["AWS_ACCESS_KEY_ID"], found["Environment"]["AWS_SECRET_ACCESS_KEY"]
    return found


def runs(attacked, name: str, body: dict) -> dict:
    answer = attacked.create(name, body)
    assert answer.status == 200, answer.text
    wait_until(f"{name} to train", lambda: attacked.status(name) == "Training", SECONDS)
    found = described(attacked, name)
    attacked.ended(name)
    return found


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_a_request_says_nothing_of_the_machine(attacked, forged):
    name = f"forged-{list(FORGED.values()).index(forged)}"
    assert runs(attacked, name, {**job_request(name), **forged}) == described(attacked, "held")
    for member in forged:  # DescribeTrainingJob returns it; it has no effect.
        assert member in describe(attacked, name)


def test_a_channel_names_no_folder_of_the_machine(attacked):
    body = job_request("channel")
    body["InputDataConfig"][0]["Folder"] = "/etc"
    body["InputDataConfig"][0]["DataSource"]["S3DataSource"]["Folder"] = "/etc"
    assert runs(attacked, "channel", body) == described(attacked, "held")
    del body["InputDataConfig"][0]["DataSource"]
    answer = attacked.create("folder", body)
    assert (answer.status, answer.code) == (400, "ValidationException")


def describe(attacked, name: str) -> dict:
    request = json_request("sagemaker", "DescribeTrainingJob", {"TrainingJobName": name})
    request = signed(request, attacked.user, "sagemaker", attacked.host)
    return json.loads(attacked.send(request).body)


UPDATES = [
    {"OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/secret"}},
    {"CheckpointConfig": {"S3Uri": f"s3://{BUCKET}/secret"}},
    {"ResourceConfig": {"KeepAlivePeriodInSeconds": 60, "InstanceCount": 100000}},
    {"AlgorithmSpecification": {"ContainerEntrypoint": ["sh"]}},
    {"HyperParameters": {"model_dir": f"s3://{BUCKET}/secret"}},
    {"InputDataConfig": []},
    {"StoppingCondition": None},
    {"RoleArn": "arn:aws:iam::000000000000:role/another"},
    {"Muster": {"OutputFolder": "/etc"}},
    {"TrainingJobStatus": "Completed"},
]


def words(told: dict) -> dict:
    """A description without what an update of its own members changes."""
    told = {key: value for key, value in told.items() if key != "LastModifiedTime"}
    told["ResourceConfig"] = {
        key: value for key, value in told["ResourceConfig"].items()
        if key != "KeepAlivePeriodInSeconds"
    }  # fmt: skip
    return told


@pytest.mark.parametrize("update", UPDATES, ids=[next(iter(u)) for u in UPDATES])
def test_an_update_changes_what_updates_may(attacked, update):
    before = words(describe(attacked, "held"))
    body = {"TrainingJobName": "held", **update}
    request = json_request("sagemaker", "UpdateTrainingJob", body)
    attacked.send(signed(request, attacked.user, "sagemaker", attacked.host))
    assert words(describe(attacked, "held")) == before


def test_a_job_that_was_to_grow_is_removed(attacked):
    """A job of 100,000 hosts, once, could not be."""
    attacked.started("grown")
    body = {"TrainingJobName": "grown",
            "ResourceConfig": {"KeepAlivePeriodInSeconds": 60,
                               "InstanceCount": 100000}}  # fmt: skip
    request = json_request("sagemaker", "UpdateTrainingJob", body)
    attacked.send(signed(request, attacked.user, "sagemaker", attacked.host))
    attacked.ended("grown")
    attacked.api.delete_training_job(TrainingJobName="grown")
    left = attacked.server.data / "machine" / "jobs" / "grown"
    wait_until("its folder to be gone", lambda: not left.exists(), SECONDS)
