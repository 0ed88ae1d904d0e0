"""Requests that are fine but for their signature, in each of the three dialects."""

import dataclasses
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from bad_api import form_request, json_request
from raw_http import Keys, Request, Scope, presigned, signed, stamp

HOUR = 3600
BUCKET = "bad"


@dataclass
class BadSignature:
    name: str
    make: Callable[[Keys, str], Request]  # From the right keys and the server's host.
    code: str
    status: int
    says: str = ""


def listing() -> Request:
    return json_request("sagemaker", "ListTrainingJobs", {})


def caller() -> Request:
    return form_request("Action=GetCallerIdentity&Version=2011-06-15")


def put() -> Request:
    return Request("PUT", f"/{BUCKET}/key", body=b"body")


def got() -> Request:
    return Request("GET", f"/{BUCKET}/key")


def edited(request: Request, pattern: str, by: str) -> Request:
    """Another Authorization."""
    headers = dict(request.headers)
    headers["Authorization"] = re.sub(pattern, by, headers["Authorization"])
    assert headers != request.headers, pattern
    return dataclasses.replace(request, headers=headers)


def with_header(request: Request, name: str, value: str | None) -> Request:
    headers = {key: each for key, each in request.headers.items() if key != name}
    if value is not None:
        headers[name] = value
    return dataclasses.replace(request, headers=headers)


# What is done to a request that one of the three makes: (name, how, the codes of JSON, Query, S3).
# Sources of the codes: docs/protocols/api.md; S3's error responses; common errors of each API.
INVALID = ("InvalidSignatureException 400", "SignatureDoesNotMatch 403")
INCOMPLETE = ("IncompleteSignatureException 400", "IncompleteSignature 400")
UNKNOWN = ("UnrecognizedClientException 400", "InvalidClientTokenId 403")
MALFORMED = "AuthorizationHeaderMalformed 400"
MISMATCH = "SignatureDoesNotMatch 403"
DENIED = "AccessDenied 403"
OTHER_SECRET = "x" * 40


def resigned(**scope) -> Callable:
    return lambda request, keys, service, host: signed(
        request, keys, Scope(**{"service": service, **scope}), host
    )


def then(change: Callable[[Request], Request]) -> Callable:
    """Signed well, then changed."""
    return lambda request, keys, service, host: change(signed(request, keys, service, host))


WAYS = [
    ("no signature", lambda request, keys, service, host: with_header(request, "Host", host),
     "MissingAuthenticationTokenException 400", "MissingAuthenticationToken 403", DENIED),
    ("an hour too late",
     lambda request, keys, service, host: resigned(time=stamp(-HOUR))(request, keys, service, host),
     *INVALID, "RequestTimeTooSkewed 403"),
    ("an hour too early",
     lambda request, keys, service, host: resigned(time=stamp(HOUR))(request, keys, service, host),
     *INVALID, "RequestTimeTooSkewed 403"),
    ("16 minutes too late",
     lambda request, keys, service, host: resigned(time=stamp(-960))(request, keys, service, host),
     *INVALID, "RequestTimeTooSkewed 403"),
    ("a time that is none", resigned(time="20200230T000000Z"), *INCOMPLETE, DENIED),
    ("another day in the scope", resigned(day="20200101"), *INVALID, MALFORMED),
    ("a day that is none", resigned(day="yesterday"), *INVALID, MALFORMED),
    ("another end of the scope", resigned(terminal="aws5_request"), *INVALID, MALFORMED),
    ("a scope with a part too many", resigned(terminal="aws4_request/more"), *INVALID, MALFORMED),
    ("another region after signing", then(lambda r: edited(r, "us-east-1", "eu-west-1")), *INVALID,
     MISMATCH),
    ("an unknown key",
     lambda request, keys, service, host: signed(request, Keys("AKIANOBODY", keys.secret), service,
                                                 host),
     *UNKNOWN, "InvalidAccessKeyId 403"),
    ("another secret",
     lambda request, keys, service, host: signed(request, Keys(keys.identity, OTHER_SECRET),
                                                 service, host),
     *INVALID, MISMATCH),
    ("a token that the key has not",
     lambda request, keys, service, host: signed(
         with_header(request, "X-Amz-Security-Token", "token"), keys, service, host),
     *UNKNOWN, "InvalidToken 400"),
    ("another signature",
     then(lambda r: edited(r, "Signature=.*", "Signature=" + "0" * 64)), *INVALID, MISMATCH),
    ("a signature cut short", then(lambda r: edited(r, "(Signature=.{10}).*", r"\1")), *INVALID,
     MISMATCH),
    ("a signature in capitals",
     then(lambda r: edited(r, "Signature=.*", "Signature=" + "A" * 64)), *INVALID, MISMATCH),
    ("an altered method", then(lambda r: dataclasses.replace(r, method="PATCH")), *INVALID,
     MISMATCH),
    ("an altered path", then(lambda r: dataclasses.replace(r, path="/bad/other")), *INVALID,
     MISMATCH),
    ("an altered query", then(lambda r: dataclasses.replace(r, query=[("a", "b")])), *INVALID,
     MISMATCH),
    ("an altered host", then(lambda r: with_header(r, "Host", "127.0.0.2:80")), *INVALID, MISMATCH),
    ("an altered time", then(lambda r: with_header(r, "X-Amz-Date", stamp(5))), *INVALID, MISMATCH),
    ("an altered header",
     then(lambda r: with_header(r, "Content-Type", r.headers.get("Content-Type", "") + " ;x")),
     *INVALID, None),
    ("a header that was not signed", then(lambda r: with_header(r, "X-Amz-Extra", "1")), *INVALID,
     DENIED),
    ("Host not signed",
     lambda request, keys, service, host: signed(request, keys, service, host, unsigned=("host",)),
     *INVALID, DENIED),
    ("a signed header that does not come",
     then(lambda r: edited(r, "SignedHeaders=", "SignedHeaders=a;")), *INVALID, MISMATCH),
    ("no Credential", then(lambda r: edited(r, "Credential=[^,]*, ", "")), *INCOMPLETE, MALFORMED),
    ("no SignedHeaders", then(lambda r: edited(r, "SignedHeaders=[^,]*, ", "")), *INCOMPLETE,
     MALFORMED),
    ("no Signature", then(lambda r: edited(r, ", Signature=.*", "")), *INCOMPLETE, MALFORMED),
    ("two Signatures", then(lambda r: edited(r, "$", ", Signature=a")), *INVALID, MALFORMED),
    ("a Credential without parts",
     then(lambda r: edited(r, "Credential=([^/]*)[^,]*", r"Credential=\1")), None, None, MALFORMED),
    ("nothing behind the algorithm",
     then(lambda r: with_header(r, "Authorization", "AWS4-HMAC-SHA256")), *INCOMPLETE, MALFORMED),
    ("another algorithm",
     then(lambda r: edited(r, "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")), *INCOMPLETE,
     "InvalidRequest 400"),
    ("a password", then(lambda r: with_header(r, "Authorization", "Basic YTpi")), None, None,
     "InvalidRequest 400"),
    ("no date",
     then(lambda r: with_header(r, "X-Amz-Date", None)), *INCOMPLETE, DENIED),
]  # fmt: skip

MAKERS = (("sagemaker", listing), ("sts", caller), ("s3", put))


def of_presigned() -> list[BadSignature]:
    def of(expires="60", change=lambda request: request, **scope):
        return lambda keys, host: change(
            presigned(got(), keys, Scope(**{"service": "s3", **scope}), host, expires)
        )

    def without(name: str):
        return lambda request: dataclasses.replace(
            request, query=[pair for pair in request.query if pair[0] != name]
        )

    query = "AuthorizationQueryParametersError"
    found = [
        BadSignature("presigned: expired", of(time=stamp(-61)), "AccessDenied", 403, "expired"),
        BadSignature("presigned: not yet", of(time=stamp(HOUR)), "AccessDenied", 403, "not yet"),
        BadSignature("presigned: longer than a week", of("604801"), query, 403, "week"),
        BadSignature("presigned: for less than no time", of("-1"), query, 403, "non-negative"),
        BadSignature("presigned: for how long", of("soon"), query, 403, "number"),
        BadSignature("presigned: a day that is none", of(day="x"), query, 400, "date format"),
        BadSignature("presigned: another service", of(service="sqs"), "InvalidAction", 400),
        BadSignature("presigned: another key",
                     of(change=lambda r: dataclasses.replace(r, path="/bad/b")),
                     "SignatureDoesNotMatch", 403),
        BadSignature("presigned: more parameters",
                     of(change=lambda r: dataclasses.replace(r, query=[*r.query, ("acl", "")])),
                     "SignatureDoesNotMatch", 403),
        BadSignature("presigned: with a header of Amazon's",
                     of(change=lambda r: with_header(r, "X-Amz-Acl", "public-read")),
                     "AccessDenied", 403, "not signed"),
    ]  # fmt: skip
    for name in ("X-Amz-Signature", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders"):
        found.append(BadSignature(f"presigned: no {name}", of(change=without(name)), query, 400))
    ahead = str(int(time.time()) + HOUR)
    old = [("AWSAccessKeyId", "AKIANOBODY"), ("Signature", "a"), ("Expires", ahead)]
    for name, pairs, code, status in (
        ("of nobody", old, "InvalidAccessKeyId", 403),
        ("a signature alone", old[1:2], query, 400),
        ("for ever", [*old[:2], ("Expires", "9999999999")], "InvalidAccessKeyId", 403),
        ("with more than it signs", [*old, ("x-id", "GetObject")], "InvalidRequest", 400),
        ("twice", [*old, ("Expires", "1")], query, 400),
    ):
        found.append(BadSignature(f"version 2: {name}", with_query(pairs), code, status))
    return found


def with_query(pairs: list) -> Callable:
    return lambda keys, host: dataclasses.replace(got(), query=pairs, headers={"Host": host})


def of_scopes() -> list[BadSignature]:
    """Fine signatures, for another service."""
    wrong = (
        (listing, "logs", "InvalidSignatureException", 400),
        (caller, "iam", "InvalidAction", 400),  # IAM has no such action.
        (put, "s3-object-lambda", "AuthorizationHeaderMalformed", 400),
    )
    return [
        BadSignature(f"{make.__name__} in the scope of {service}",
                     lambda keys, host, make=make, service=service: signed(make(), keys, service,
                                                                           host),
                     code, status)
        for make, service, code, status in wrong
    ]  # fmt: skip


def of_bodies() -> list[BadSignature]:
    def body_after(make: Callable, service: str, payload: str = "") -> Callable:
        return lambda keys, host: dataclasses.replace(
            signed(make(), keys, service, host, payload), body=b"xxxx"
        )

    return [
        BadSignature("JSON with another body", body_after(listing, "sagemaker"),
                     "InvalidSignatureException", 400),
        BadSignature("a form with another body", body_after(caller, "sts"),
                     "SignatureDoesNotMatch", 403),
        BadSignature("an object with another body", body_after(put, "s3"),
                     "XAmzContentSHA256Mismatch", 400),
        BadSignature("a hash that is none", body_after(put, "s3", "abc"), "InvalidArgument", 400),
    ]  # fmt: skip


def rows() -> list[BadSignature]:
    found = []
    for name, how, *codes in WAYS:
        for (service, make), said in zip(MAKERS, codes, strict=True):
            if said is None:
                continue
            code, status = said.split()
            found.append(
                BadSignature(
                    f"{service}: {name}",
                    lambda keys, host, how=how, make=make, service=service: how(
                        make(), keys, service, host
                    ),
                    code,
                    int(status),
                )
            )
    return found + of_presigned() + of_scopes() + of_bodies()
