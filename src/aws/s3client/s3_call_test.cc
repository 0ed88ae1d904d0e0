#include "aws/s3client/s3_call.h"

#include <doctest/doctest.h>

#include "aws/s3client/s3_client.h"
#include "aws/xml.h"

using namespace muster;
using namespace muster::s3client;

TEST_CASE("s3 call: payloads are hashed for servers that bytes reach over a network without TLS") {
  struct {
    bool tls;
    const char* host;
    bool want;
  } const cases[] = {
      {false, "127.0.0.1", false},
      {false, "127.9.8.7", false},
      {false, "::1", false},
      {false, "localhost", false},
      {true, "s3.eu-west-1.amazonaws.com", false},
      {false, "10.0.0.1", true},
      {false, "0.0.0.0", true},
      {false, "127.0.0.1.example.com", true},
      {false, "localhost.example.com", true},
      {false, "minio", true},
      {false, "", true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.host);
    CHECK(in_the_clear({c.tls, c.host, 80}) == c.want);
  }
}

TEST_CASE("s3: a refusal of the server is one clear line") {
  struct {
    int status;
    aws::S3Failure failure;
    Errc code;
    const char* want;
  } const cases[] = {
      {404, {"NoSuchKey", "x", ""}, Errc::not_found, "no such key"},
      {404, {}, Errc::not_found, "no such key"},
      {404, {"NoSuchBucket", "x", ""}, Errc::not_found, "no such bucket"},
      {403,
       {"InvalidAccessKeyId", "It does not exist.", ""},
       Errc::denied,
       "access denied (InvalidAccessKeyId): check AWS_ACCESS_KEY_ID; the server says: It does not "
       "exist."},
      {403,
       {"SignatureDoesNotMatch", "", ""},
       Errc::denied,
       "access denied (SignatureDoesNotMatch): check AWS_SECRET_ACCESS_KEY"},
      {400,
       {"ExpiredToken", "", ""},
       Errc::denied,
       "access denied (ExpiredToken): check AWS_SESSION_TOKEN"},
      {403,
       {"RequestTimeTooSkewed", "", ""},
       Errc::denied,
       "access denied (RequestTimeTooSkewed): check this machine's clock"},
      {403,
       {"AccessDenied", "", ""},
       Errc::denied,
       "access denied (AccessDenied): the credentials of AWS_ACCESS_KEY_ID do not allow this "
       "operation"},
      {403,
       {},
       Errc::denied,
       "access denied (403): the credentials of AWS_ACCESS_KEY_ID do not allow this operation"},
      {503,
       {"SlowDown", "Please.", ""},
       Errc::closed,
       "the server returned 503 (SlowDown); the server says: Please."},
      {507,
       {"InsufficientStorage", "Full.", ""},
       Errc::closed,
       "the server returned 507 (InsufficientStorage); the server says: Full."},
      {403, {"QuotaExceeded", "Enough.", ""}, Errc::denied, "quota exceeded: Enough."},
      {400, {}, Errc::protocol, "the server returned 400"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Error error = s3_error(c.status, c.failure, "AWS_ACCESS_KEY_ID");
    CHECK(error.code == c.code);
    CHECK(error.text == c.want);
    CHECK(is_full(error) == (c.status == 507));
  }
  CHECK(s3_error(403, {"InvalidAccessKeyId", "", ""}, "/h/.aws/credentials [default]").text ==
        "access denied (InvalidAccessKeyId): check /h/.aws/credentials [default]");
}

TEST_CASE("s3: the idle limit comes from MUSTER_S3_IDLE") {
  CHECK(S3Client::options_from({})->idle_max == std::chrono::seconds(60));
  CHECK(S3Client::options_from({{"MUSTER_S3_IDLE", "1.5"}})->idle_max ==
        std::chrono::milliseconds(1500));
  for (const char* bad : {"0", "-1", "x", "1s", "nan", "inf", "1e9"}) {
    CAPTURE(bad);
    CHECK(!S3Client::options_from({{"MUSTER_S3_IDLE", bad}}));
  }
}
