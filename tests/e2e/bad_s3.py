"""Bad requests to S3, as data. Those with a good signature; the others: bad_signatures.py."""

import base64
import hashlib
import zlib
from dataclasses import dataclass

from raw_http import Request

BUCKET = "bad"
UPLOAD = "UPLOAD"  # In a query: the upload that the test has begun, with parts 1 and 2.
NOBODYS = "0" * 32
MD5_OF_NOTHING = "1B2M2Y8AsgTpgAmY7PhCfg=="


@dataclass
class BadS3:
    name: str
    request: Request
    code: str
    status: int = 400
    payload: str = ""  # What the signature says of the body, if not its hash.


def put(key="key", body=b"body", query=(), path="", **headers) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("PUT", path or f"/{BUCKET}/{key}", named, body, list(query))


def get(key="there", query=(), path="", **headers) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("GET", path or f"/{BUCKET}/{key}", named, b"", list(query))


def post(path: str, query, body=b"", **headers) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", path, named, body, list(query))


NAMES = [
    ("AB", "InvalidBucketName"), ("ab", "InvalidBucketName"), ("Upper", "InvalidBucketName"),
    ("under_score", "InvalidBucketName"), ("-a-", "InvalidBucketName"),
    ("a..b", "InvalidBucketName"), ("a.-b", "InvalidBucketName"), ("192.168.0.1",
    "InvalidBucketName"), ("x" * 64, "InvalidBucketName"), ("..", "InvalidBucketName"),
    ("%2e%2e", "InvalidBucketName"), ("a%2fb", "InvalidBucketName"), ("a%00b", "InvalidBucketName"),
    ("%zz", "InvalidURI"),
]  # fmt: skip

KEYS = [
    ("1,025 bytes", "x" * 1025, "KeyTooLongError"),
    ("513 letters of two bytes", "%C3%BC" * 513, "KeyTooLongError"),
    ("no UTF-8", "a%ff", "InvalidURI"),
    ("nul", "a%00b", "InvalidURI"),
    ("half an escape", "a%2", "InvalidURI"),
]

DELETE = b"<Delete>%s</Delete>"
OBJECT = b"<Object><Key>%s</Key></Object>"
DELETES = [
    ("empty", b"", "MissingRequestBodyError"),
    ("no XML", b"delete it", "MalformedXML"),
    ("cut short", b"<Delete><Object>", "MalformedXML"),
    ("another root", b"<Remove/>", "MalformedXML"),
    ("nothing to delete", b"<Delete></Delete>", "MalformedXML"),
    ("no key", DELETE % b"<Object></Object>", "MalformedXML"),
    ("1,001 keys", DELETE % (OBJECT % b"a" * 1001), "MalformedXML"),
    ("a key too long", DELETE % (OBJECT % (b"x" * 1025)), "KeyTooLongError"),
    ("an entity", b'<!DOCTYPE a [<!ENTITY b "c">]><Delete><Object><Key>&b;</Key></Object></Delete>',
     "MalformedXML"),
    ("an instruction", b"<?do it?>" + DELETE % (OBJECT % b"a"), "MalformedXML"),
    ("nested 100,000 deep", b"<Delete>" + b"<Object>" * 100_000, "MalformedXML"),
    ("nested 100,000 deep, and closed",
     b"<Delete>" + b"<Object>" * 100_000 + b"</Object>" * 100_000 + b"</Delete>", "MalformedXML"),
    ("no UTF-8", DELETE % (OBJECT % b"\xff"), "MalformedXML"),
    ("nul", DELETE % (OBJECT % b"\0"), "MalformedXML"),
    ("UTF-16", "<Delete/>".encode("utf-16"), "MalformedXML"),
    ("5 MiB", DELETE % (b"x" * (5 << 20)), "MaxMessageLengthExceeded"),
]  # fmt: skip

PART = b"<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>"
ETAG = hashlib.md5(b"part").hexdigest().encode()  # Both parts have this one.
COMPLETE = b"<CompleteMultipartUpload>%s</CompleteMultipartUpload>"
COMPLETES = [
    ("empty", b"", "MalformedXML"),
    ("no XML", b"{}", "MalformedXML"),
    ("no parts", COMPLETE % b"", "MalformedXML"),
    ("parts in another order", COMPLETE % (PART % (2, ETAG) + PART % (1, ETAG)),
     "InvalidPartOrder"),
    ("a part twice", COMPLETE % (PART % (1, ETAG) * 2), "InvalidPartOrder"),
    ("a part that never came", COMPLETE % (PART % (3, ETAG)), "InvalidPart"),
    ("another ETag", COMPLETE % (PART % (1, b"0" * 32)), "InvalidPart"),
    ("a small part that is not the last", COMPLETE % (PART % (1, ETAG) + PART % (2, ETAG)),
     "EntityTooSmall"),
    ("part 0", COMPLETE % (PART % (0, ETAG)), "InvalidArgument"),
    ("part 10,001", COMPLETE % (PART % (10_001, ETAG)), "InvalidArgument"),
    ("no ETag", COMPLETE % b"<Part><PartNumber>1</PartNumber></Part>", "MalformedXML"),
    ("no number", COMPLETE % b"<Part><ETag>a</ETag></Part>", "MalformedXML"),
    ("a number in words",
     COMPLETE % b"<Part><PartNumber>one</PartNumber><ETag>a</ETag></Part>", "InvalidArgument"),
]  # fmt: skip

HEADERS = [
    ("a digest of another body", {"Content_MD5": MD5_OF_NOTHING}, "BadDigest"),
    ("a digest that is none", {"Content_MD5": "abc"}, "InvalidDigest"),
    ("a digest too short", {"Content_MD5": "YWJj"}, "InvalidDigest"),
    ("CRC32 of another body", {"x_amz_checksum_crc32": "AAAAAA=="}, "BadDigest"),
    ("CRC32C of another body", {"x_amz_checksum_crc32c": "AAAAAA=="}, "BadDigest"),
    ("CRC64NVME of another body", {"x_amz_checksum_crc64nvme": "AAAAAAAAAAA="}, "BadDigest"),
    ("SHA1 of another body", {"x_amz_checksum_sha1": "A" * 27 + "="}, "BadDigest"),
    ("SHA256 of another body", {"x_amz_checksum_sha256": "A" * 43 + "="}, "BadDigest"),
    ("a checksum too short", {"x_amz_checksum_crc32": "AAA="}, "InvalidRequest"),
    ("a checksum that is no base64", {"x_amz_checksum_sha256": "?"}, "InvalidRequest"),
    ("two checksums", {"x_amz_checksum_crc32": "AAAAAA==", "x_amz_checksum_crc32c": "AAAAAA=="},
     "InvalidRequest"),
    ("an unknown algorithm", {"x_amz_sdk_checksum_algorithm": "MD6"}, "InvalidRequest"),
    ("a trailer that is no checksum", {"x_amz_trailer": "x-amz-meta-a"}, "InvalidRequest"),
    ("metadata too large", {"x_amz_meta_a": "x" * 2049}, "MetadataTooLarge"),
    ("11 tags", {"x_amz_tagging": "&".join(f"t{i}=v" for i in range(11))}, "InvalidTag"),
    ("a tag twice", {"x_amz_tagging": "a=1&a=2"}, "InvalidTag"),
    ("a tag's key too long", {"x_amz_tagging": "x" * 129 + "=1"}, "InvalidTag"),
    ("a tag's value too long", {"x_amz_tagging": "a=" + "x" * 257}, "InvalidTag"),
    ("tags that are no query", {"x_amz_tagging": "a=%zz"}, "InvalidArgument"),
    ("a customer's encryption", {"x_amz_server_side_encryption_customer_algorithm": "AES256"},
     "NotImplemented 501"),
    ("a condition that fails", {"If_Match": '"0"'}, "NoSuchKey 404"),
    ("a copy of nothing", {"x_amz_copy_source": "bucket"}, "InvalidArgument"),
    ("a copy of a bad escape", {"x_amz_copy_source": "bad/%zz"}, "InvalidArgument"),
    ("a copy out of a bad bucket", {"x_amz_copy_source": "B_/k"}, "InvalidBucketName"),
    ("a copy out of no bucket", {"x_amz_copy_source": "nobody/k"}, "NoSuchBucket 404"),
    ("a copy of no object", {"x_amz_copy_source": "bad/none"}, "NoSuchKey 404"),
    ("a copy of a version", {"x_amz_copy_source": "bad/there?versionId=7"}, "NoSuchVersion 404"),
    ("a copy onto itself", {"x_amz_copy_source": "bad/key"}, "InvalidRequest"),
    ("a copy with another directive",
     {"x_amz_copy_source": "bad/there", "x_amz_metadata_directive": "MOVE"}, "InvalidArgument"),
]  # fmt: skip

QUERIES = [
    ("GET", "", [("list-type", "3")], "InvalidArgument"),
    ("GET", "", [("max-keys", "-1")], "InvalidArgument"),
    ("GET", "", [("max-keys", "many")], "InvalidArgument"),
    ("GET", "", [("max-keys", "99999999999999999999")], "InvalidArgument"),
    ("GET", "", [("encoding-type", "base64")], "InvalidArgument"),
    ("GET", "", [("list-type", "2"), ("continuation-token", "?")], "InvalidArgument"),
    ("GET", "", [("policy", "")], "NoSuchBucketPolicy 404"),
    ("PUT", "", [("website", "")], "NotImplemented 501"),
    ("POST", "", [], "NotImplemented 501"),
    ("PATCH", "", [], "MethodNotAllowed 405"),
    ("TRACE", "/there", [], "MethodNotAllowed 405"),
    ("POST", "/there", [], "MethodNotAllowed 405"),
    ("GET", "/there", [("versionId", "7")], "NoSuchVersion 404"),
    ("GET", "/there", [("partNumber", "0")], "InvalidArgument"),
    ("GET", "/there", [("partNumber", "2")], "InvalidPartNumber 416"),
    ("GET", "/there", [("response-content-type", "a\r\nb: c")], "InvalidArgument"),
    ("GET", "/there", [("torrent", "")], "NotImplemented 501"),
    ("GET", "/none", [], "NoSuchKey 404"),
    ("GET", "/there", [("attributes", "")], "InvalidArgument"),
    ("PUT", "/k", [("uploadId", UPLOAD)], "InvalidArgument"),
    ("PUT", "/k", [("uploadId", UPLOAD), ("partNumber", "0")], "InvalidArgument"),
    ("PUT", "/k", [("uploadId", UPLOAD), ("partNumber", "10001")], "InvalidArgument"),
    ("PUT", "/k", [("uploadId", UPLOAD), ("partNumber", "1.5")], "InvalidArgument"),
    ("PUT", "/k", [("uploadId", NOBODYS), ("partNumber", "1")], "NoSuchUpload 404"),
    ("PUT", "/k", [("uploadId", "../../muster.db"), ("partNumber", "1")], "NoSuchUpload 404"),
    ("PUT", "/other", [("uploadId", UPLOAD), ("partNumber", "1")], "NoSuchUpload 404"),
    ("GET", "/k", [("uploadId", NOBODYS)], "NoSuchUpload 404"),
    ("GET", "/k", [("uploadId", UPLOAD), ("max-parts", "x")], "InvalidArgument"),
    ("DELETE", "/k", [("uploadId", NOBODYS)], "NoSuchUpload 404"),
    ("DELETE", "/k", [("uploadId", "")], "NoSuchUpload 404"),
]  # fmt: skip

RANGES = [("bytes=4-", 416), ("bytes=999-1000", 416), ("bytes=-0", 416)]

CRC32_OF_BODY = base64.b64encode(zlib.crc32(b"body").to_bytes(4, "big"))
SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
TRAILED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
CHUNKS = [
    ("no length", TRAILED, b"0\r\n\r\n", {}, "MissingContentLength 411"),
    ("a length that is none", TRAILED, b"0\r\n\r\n", {"x_amz_decoded_content_length": "x"},
     "InvalidArgument"),
    ("no size", TRAILED, b"xyz\r\nbody\r\n0\r\n\r\n", {"x_amz_decoded_content_length": "4"},
     "InvalidRequest"),
    ("an endless size", TRAILED, b"f" * 2000, {"x_amz_decoded_content_length": "4"},
     "InvalidRequest"),
    ("a size beyond all", TRAILED, b"f" * 17 + b"\r\nbody", {"x_amz_decoded_content_length": "4"},
     "InvalidRequest"),
    ("more than was said", TRAILED, b"5\r\nbody!\r\n0\r\n\r\n",
     {"x_amz_decoded_content_length": "4"}, "IncompleteBody"),
    ("less than was said", TRAILED, b"3\r\nbod\r\n0\r\n\r\n", {"x_amz_decoded_content_length": "4"},
     "IncompleteBody"),
    ("no end", TRAILED, b"4\r\nbody\r\n", {"x_amz_decoded_content_length": "4"}, "IncompleteBody"),
    ("data beyond the size", TRAILED, b"3\r\nbody\r\n0\r\n\r\n",
     {"x_amz_decoded_content_length": "4"}, "InvalidRequest"),
    ("bytes behind the end", TRAILED, b"4\r\nbody\r\n0\r\n\r\nmore",
     {"x_amz_decoded_content_length": "4"}, "InvalidRequest"),
    ("a trailer that was not announced", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
     {"x_amz_decoded_content_length": "4"}, "MalformedTrailerError"),
    ("an announced trailer that does not come", TRAILED, b"4\r\nbody\r\n0\r\n\r\n",
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32"},
     "MalformedTrailerError"),
    ("another trailer than announced", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-sha1:AAAA\r\n\r\n",
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32"},
     "MalformedTrailerError"),
    ("a trailer of another body", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32"}, "BadDigest"),
    ("a trailer beside another checksum's header", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:%s\r\n\r\n" % CRC32_OF_BODY,
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32",
      "x_amz_checksum_crc32c": "AAAAAA=="}, "InvalidRequest"),
    ("a trailer of another kind than the SDK says", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:%s\r\n\r\n" % CRC32_OF_BODY,
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32",
      "x_amz_sdk_checksum_algorithm": "SHA256"}, "InvalidRequest"),
    ("a right header and a wrong trailer", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32",
      "x_amz_checksum_crc32": CRC32_OF_BODY.decode()}, "BadDigest"),
    ("a wrong header and a right trailer", TRAILED,
     b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:%s\r\n\r\n" % CRC32_OF_BODY,
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32",
      "x_amz_checksum_crc32": "AAAAAA=="}, "BadDigest"),
    ("an empty trailer", TRAILED, b"4\r\nbody\r\n0\r\nx-amz-checksum-crc32:\r\n\r\n",
     {"x_amz_decoded_content_length": "4", "x_amz_trailer": "x-amz-checksum-crc32"},
     "InvalidRequest"),
    ("a trailer of a plain body", "", b"body", {"x_amz_trailer": "x-amz-checksum-crc32"},
     "MalformedTrailerError"),
    ("a trailer of chunks that have none", SIGNED_CHUNKS, b"0\r\n\r\n",
     {"x_amz_decoded_content_length": "0", "x_amz_trailer": "x-amz-checksum-crc32"},
     "MalformedTrailerError"),
    ("chunks without signatures", SIGNED_CHUNKS, b"4\r\nbody\r\n0\r\n\r\n",
     {"x_amz_decoded_content_length": "4"}, "SignatureDoesNotMatch 403"),
    ("chunks with other signatures", SIGNED_CHUNKS,
     b"4;chunk-signature=%s\r\nbody\r\n0;chunk-signature=%s\r\n\r\n" % (b"0" * 64, b"0" * 64),
     {"x_amz_decoded_content_length": "4"}, "SignatureDoesNotMatch 403"),
]  # fmt: skip

TAGGINGS = [
    ("empty", b"", "MissingRequestBodyError"),
    ("no set", b"<Tagging/>", "MalformedXML"),
    ("a tag without a key", b"<Tagging><TagSet><Tag><Value/></Tag></TagSet></Tagging>",
     "MalformedXML"),
    ("a tag with an empty key",
     b"<Tagging><TagSet><Tag><Key/><Value/></Tag></TagSet></Tagging>", "InvalidTag"),
    ("12 tags", b"<Tagging><TagSet>%s</TagSet></Tagging>" % b"".join(
        b"<Tag><Key>%d</Key><Value/></Tag>" % i for i in range(12)), "InvalidTag"),
]  # fmt: skip


def row(name: str, request: Request, said: str, payload: str = "") -> BadS3:
    code, _, status = said.partition(" ")
    return BadS3(name, request, code, int(status or 400), payload)


def rows() -> list[BadS3]:
    found = []
    for name, said in NAMES:
        found.append(row(f"bucket {name[:20]}", put(path=f"/{name}", body=b""), said))
    for name, key, said in KEYS:
        found.append(row(f"key: {name}", put(key), said))
    for name, body, said in DELETES:
        found.append(row(f"delete: {name}", post(f"/{BUCKET}", [("delete", "")], body), said))
    for name, body, said in COMPLETES:
        request = post(f"/{BUCKET}/k", [("uploadId", UPLOAD)], body)
        found.append(row(f"complete: {name}", request, said))
    for name, headers, said in HEADERS:
        found.append(row(f"put: {name}", put(**headers), said))
    for method, path, query, said in QUERIES:
        request = Request(method, f"/{BUCKET}{path}", {}, b"", query)
        found.append(row(f"{method} {path} {query}", request, said))
    for span, status in RANGES:
        found.append(row(f"range {span}", get(Range=span), f"InvalidRange {status}"))
    for name, payload, body, headers, said in CHUNKS:
        found.append(row(f"chunks: {name}", put(body=body, **headers), said, payload))
    for name, body, said in TAGGINGS:
        found.append(row(f"tags: {name}", put("there", body, [("tagging", "")]), said))
    return found + odd_rows()


def odd_rows() -> list[BadS3]:
    nobody = "NoSuchBucket 404"
    location = b"<CreateBucketConfiguration><LocationConstraint><a/></LocationConstraint>"
    location += b"</CreateBucketConfiguration>"
    attributes = get("there", [("attributes", "")], x_amz_object_attributes="Colour")
    uploaded = post(f"/{BUCKET}/k", [("uploadId", NOBODYS)], COMPLETE % (PART % (1, ETAG)))
    sized = post(f"/{BUCKET}/k", [("uploadId", UPLOAD)], COMPLETE % (PART % (1, ETAG)),
                 x_amz_mp_object_size="5")  # fmt: skip
    part = [("uploadId", UPLOAD), ("partNumber", "1")]
    source = {"x_amz_copy_source": f"{BUCKET}/there"}
    copied = put("k", b"", part, **source, x_amz_copy_source_range="bytes=0-9")
    half = put("k", b"", part, **source, x_amz_copy_source_range="bytes=1-")
    return [
        row("a bucket that is not there", get(path="/nobody/k"), nobody),
        row("an object into no bucket", put(path="/nobody/k"), nobody),
        row("a listing of no bucket", get(path="/nobody"), nobody),
        row("removal of no bucket", Request("DELETE", "/nobody"), nobody),
        row("removal of a full bucket", Request("DELETE", f"/{BUCKET}"), "BucketNotEmpty 409"),
        row("a place that is none", put(path="/fresh", body=location), "MalformedXML"),
        row("XML that is none, for a bucket", put(path="/fresh", body=b"<a"), "MalformedXML"),
        row("an unknown attribute", attributes, "InvalidArgument"),
        row("an upload of nobody's", uploaded, "NoSuchUpload 404"),
        row("another size than the parts'", sized, "InvalidRequest"),
        row("a copied range beyond the end", copied, "InvalidRange 416"),
        row("a copied range without end", half, "InvalidArgument"),
        row("a write to no key", Request("PUT", "/", {}, b"x"), "MethodNotAllowed 405"),
        row("6 TiB", put(body=b"", Content_Length=str(6 << 40)), "EntityTooLarge"),
    ]
