#include "aws/access/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "aws/sign.h"
#include "base/text.h"

using namespace muster;
using namespace muster::access;

namespace {

constexpr const char* secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr const char* doc_secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr UnixMillis then{1440938160000};  // 2015-08-30 12:36:00

AccessKey key_of(std::string id, std::string token = "") {
  return {.id = std::move(id),
          .secret = secret,
          .session_token = std::move(token),
          .expires = std::nullopt,
          .policy = {},
          .owner = ""};
}

/// A request that owns its texts.
struct Request {
  std::string method = "GET";
  std::string target = "/";
  aws::Pairs headers{};

  Result<Verified, AuthRefusal> verified_by(Verifier& verifier,
                                            const VerifyOptions& options) const {
    const std::vector<aws::HeaderView> views(headers.begin(), headers.end());
    return verifier.verify({method, target, views}, options);
  }
  void set(const std::string& name, const std::string& value) {
    for (auto& [key, old] : headers)
      if (same_letters(key, name)) old = value;
  }
  void drop(const std::string& name) {
    std::erase_if(headers, [&](const auto& pair) { return same_letters(pair.first, name); });
  }
};

/// Signed by the client's code, which botocore's signatures check.
Request signed_request(const std::string& service = "s3", const std::string& token = "") {
  aws::SignRequest request{
      "PUT",
      "/bucket/a%20b",
      {{"partNumber", "2"}, {"uploadId", "x/y"}},
      {{"host", "127.0.0.1:9000"}, {"x-amz-meta-a", "1"}, {"range", "bytes=1-2"}},
      aws::sha256_hex("hello")};
  if (service != "s3") request.payload_hash = aws::sha256_hex("hello");
  Request signed_one{"PUT", "/bucket/a%20b?uploadId=x%2Fy&partNumber=2", request.headers};
  const aws::Pairs added =
      aws::sign(request, {service, "us-east-1", then}, {"AKIDEXAMPLE", secret, token});
  signed_one.headers.insert(signed_one.headers.end(), added.begin(), added.end());
  return signed_one;
}

std::string code_of(const Result<Verified, AuthRefusal>& got, Dialect dialect = Dialect::s3) {
  if (got) return "";
  const aws::Refusal error = answer_to(got.error(), dialect);
  return error.code + " " + std::to_string(error.status);
}

}  // namespace

TEST_CASE("verify: a request that the client signed is its key's") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const Request request = signed_request();
  for (int round = 0; round < 2; ++round) {  // The second time with a kept signing key.
    const auto got = request.verified_by(verifier, {.now = then, .service = "s3"});
    REQUIRE(got);
    const Verified& verified = *got;
    CHECK(verified.key->id == "AKIDEXAMPLE");
    CHECK(verified.service == "s3");
    CHECK(verified.region == "us-east-1");
    CHECK(verified.payload == Payload::hash);
    CHECK(verified.payload_hash == aws::sha256_hex("hello"));
    CHECK(!verified.presigned);
  }
}

TEST_CASE("verify: whatever is altered in a request is refused") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const auto authorization = [](Request& r, const std::string& from, const std::string& to) {
    for (auto& [name, value] : r.headers)
      if (name == "Authorization") {
        const std::size_t at = value.find(from);
        REQUIRE(at != std::string::npos);
        value.replace(at, from.size(), to);
      }
  };
  struct {
    const char* name;
    std::function<void(Request&)> alter;
    const char* code;
  } const cases[] = {
      {"the method", [](Request& r) { r.method = "GET"; }, "SignatureDoesNotMatch 403"},
      {"the path", [](Request& r) { r.target = "/bucket/b?uploadId=x%2Fy&partNumber=2"; },
       "SignatureDoesNotMatch 403"},
      {"a parameter", [](Request& r) { r.target += "&a=b"; }, "SignatureDoesNotMatch 403"},
      {"a header", [](Request& r) { r.set("range", "bytes=1-3"); }, "SignatureDoesNotMatch 403"},
      {"the host", [](Request& r) { r.set("host", "127.0.0.1:9001"); },
       "SignatureDoesNotMatch 403"},
      {"the body's hash", [](Request& r) { r.set("x-amz-content-sha256", aws::sha256_hex("x")); },
       "SignatureDoesNotMatch 403"},
      {"no hash of the body", [](Request& r) { r.set("x-amz-content-sha256", "UNSIGNED-PAYLOAD"); },
       "SignatureDoesNotMatch 403"},
      {"a hash that is none", [](Request& r) { r.set("x-amz-content-sha256", "abc"); },
       "InvalidArgument 400"},
      {"the hash left out", [](Request& r) { r.drop("x-amz-content-sha256"); },
       "InvalidArgument 400"},
      {"one more header of S3's", [](Request& r) { r.headers.emplace_back("X-Amz-Acl", "p"); },
       "AccessDenied 403"},
      {"the date", [](Request& r) { r.set("x-amz-date", "20150830T123601Z"); },
       "SignatureDoesNotMatch 403"},
      {"the day", [](Request& r) { r.set("x-amz-date", "20150831T123600Z"); },
       "AuthorizationHeaderMalformed 400"},
      {"no date", [](Request& r) { r.drop("x-amz-date"); }, "AccessDenied 403"},
      {"a date that is none", [](Request& r) { r.set("x-amz-date", "yesterday"); },
       "AccessDenied 403"},
      {"the signature", [&](Request& r) { authorization(r, "Signature=", "Signature=0"); },
       "SignatureDoesNotMatch 403"},
      {"no signature", [&](Request& r) { authorization(r, ", Signature=", ", S="); },
       "AuthorizationHeaderMalformed 400"},
      {"two signatures", [&](Request& r) { authorization(r, ", Sig", ", Signature=0, Sig"); },
       "AuthorizationHeaderMalformed 400"},
      {"no credential", [&](Request& r) { authorization(r, "Credential=", "C="); },
       "AuthorizationHeaderMalformed 400"},
      {"a short credential", [&](Request& r) { authorization(r, "/us-east-1", ""); },
       "AuthorizationHeaderMalformed 400"},
      {"another terminal", [&](Request& r) { authorization(r, "aws4_request", "aws5_request"); },
       "AuthorizationHeaderMalformed 400"},
      {"another service", [&](Request& r) { authorization(r, "/s3/", "/sts/"); },
       "AuthorizationHeaderMalformed 400"},
      {"another region", [&](Request& r) { authorization(r, "us-east-1", "us-east-2"); },
       "SignatureDoesNotMatch 403"},
      {"another key", [&](Request& r) { authorization(r, "AKIDEXAMPLE", "AKIDEXAMPLF"); },
       "InvalidAccessKeyId 403"},
      {"the host not signed", [&](Request& r) { authorization(r, "=host;", "="); },
       "AccessDenied 403"},
      {"version 2 in the header", [](Request& r) { r.set("Authorization", "AWS AKID:abc="); },
       "InvalidRequest 400"},
      {"another scheme", [](Request& r) { r.set("Authorization", "Bearer x"); },
       "InvalidRequest 400"},
      {"nothing behind the scheme", [](Request& r) { r.set("Authorization", "AWS4-HMAC-SHA256"); },
       "AuthorizationHeaderMalformed 400"},
      {"an empty one", [](Request& r) { r.set("Authorization", ""); }, "AccessDenied 403"},
      {"none", [](Request& r) { r.drop("Authorization"); }, "AccessDenied 403"},
      {"a token that the key has not",
       [](Request& r) { r.headers.emplace_back("x-amz-security-token", "t"); }, "InvalidToken 400"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Request request = signed_request();
    REQUIRE(code_of(request.verified_by(verifier, {.now = then, .service = "s3"})) == "");
    c.alter(request);
    CHECK(code_of(request.verified_by(verifier, {.now = then, .service = "s3"})) == c.code);
  }
}

// A valid signature with extra text around it. It does not matter what another reader might find
// there: only exactly the three parts are a signature.
TEST_CASE("verify: Authorization has each of its parts once and no other") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const Request fine = signed_request();
  std::string parts;
  for (const auto& [name, value] : fine.headers)
    if (name == "Authorization") parts = value.substr(value.find(' ') + 1);
  const std::string algorithm = "AWS4-HMAC-SHA256";
  const std::string malformed = "AuthorizationHeaderMalformed 400";
  const std::string decoy = "Credential=AKIDEXAMPLE/20150830/us-east-1/sagemaker/aws4_request";
  const struct {
    std::string text;
    std::string code;
  } cases[] = {
      {algorithm + " " + parts, ""},
      {algorithm + "  " + parts + " ", ""},
      {algorithm + " X" + decoy + ", " + parts, malformed},
      {algorithm + " XCredential=a/b/c//d, " + parts, malformed},
      {algorithm + " " + decoy + ", " + parts, malformed},
      {algorithm + " " + parts + ", " + decoy, malformed},
      {algorithm + " Credential=, " + parts, malformed},
      {algorithm + " credential=a/b/c/d/e, " + parts, malformed},
      {algorithm + " " + parts + ", SignedHeaders=host", malformed},
      {algorithm + " " + parts + ", SignedHeaders=", malformed},
      {algorithm + " " + parts + ", Signature=" + std::string(64, '0'), malformed},
      {algorithm + " " + parts + ", Other=1", malformed},
      {algorithm + " " + parts + ", Signature", malformed},
      {algorithm + " ," + parts, malformed},
      {algorithm + " " + parts + ",", malformed},
      {algorithm + " " + parts + ", ", malformed},
      {algorithm + " \t" + parts, malformed},
      {algorithm + "\t" + parts, "InvalidRequest 400"},
      {algorithm + "," + parts, "InvalidRequest 400"},
      {algorithm + "-X " + parts, "InvalidRequest 400"},
      {"AWS4-HMAC-SHA1 " + parts, "InvalidRequest 400"},
      {"AWS4-ECDSA-P256-SHA256 " + parts, "InvalidRequest 400"},
      {"aws4-hmac-sha256 " + parts, "InvalidRequest 400"},
      {" " + algorithm + " " + parts, "InvalidRequest 400"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    Request request = fine;
    request.set("Authorization", c.text);
    CHECK(code_of(request.verified_by(verifier, {.now = then, .service = "s3"})) == c.code);
  }
}

TEST_CASE("verify: headers that the signature depends on may occur only once") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const auto code = [&](const Request& request) {
    return code_of(request.verified_by(verifier, {.now = then, .service = "s3"}));
  };
  for (const char* name :
       {"Authorization", "authorization", "Host", "X-Amz-Date", "X-Amz-Content-Sha256"}) {
    CAPTURE(name);
    Request request = signed_request();
    std::string value;
    for (const auto& [key, each] : request.headers)
      if (same_letters(key, name)) value = each;
    request.headers.emplace_back(name, value);
    CHECK(code(request) == "AuthorizationHeaderMalformed 400");
  }
  for (const char* more :
       {"X-Amz-Signature=0", "X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "x-amz-credential=AKIDEXAMPLE/20150830/us-east-1/sagemaker/aws4_request"}) {
    CAPTURE(more);
    Request request = signed_request();
    (request.target += '&') += more;
    CHECK(code(request) == "InvalidArgument 400");
  }
  const std::string url =
      "/bucket/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2F"
      "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20150830T123600Z&X-Amz-Expires=60&"
      "X-Amz-SignedHeaders=host&X-Amz-Signature=" +
      std::string(64, '0');
  CHECK(code({"GET", url, {{"Host", "h"}}}) == "SignatureDoesNotMatch 403");
  for (const char* more : {"X-Amz-Credential=x", "x-amz-credential=x", "X-Amz-Signature=",
                           "X-Amz-Expires=604800", "X-Amz-Date=x", "X-Amz-SignedHeaders="}) {
    CAPTURE(more);
    CHECK(code({"GET", url + "&" + more, {{"Host", "h"}}}) ==
          "AuthorizationQueryParametersError 400");
  }
}

TEST_CASE("verify: the head alone names the key, and a key revoked since then is unknown") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const Request request = signed_request("sagemaker");
  const std::vector<aws::HeaderView> views(request.headers.begin(), request.headers.end());
  const aws::RequestHead head{request.method, request.target, views};
  const auto refused = [&](UnixMillis now, std::string_view service) {
    const auto got = verifier.check_head(head, now, service);
    return got ? std::nullopt : std::optional(got.error().failure);
  };
  CHECK(!refused(then, "sagemaker"));
  CHECK(refused(then, "logs") == AuthFailure::wrong_service);
  CHECK(refused(then, "") == AuthFailure::wrong_service);
  CHECK(refused(then + std::chrono::hours(1), "sagemaker") == AuthFailure::skewed);
  const auto got = verifier.check_head(head, then, "sagemaker");
  const CheckedHead& checked = *got;
  CHECK(code_of(verifier.check_signature(head, checked, aws::sha256_hex("hello"))) == "");
  CHECK(code_of(verifier.check_signature(head, checked, aws::sha256_hex("jello"))) ==
        "SignatureDoesNotMatch 403");
  CHECK(ring.revoke("AKIDEXAMPLE"));
  CHECK(refused(then, "sagemaker") == AuthFailure::unknown_key);
  CHECK(code_of(verifier.check_signature(head, checked, aws::sha256_hex("hello"))) ==
        "InvalidAccessKeyId 403");
}

TEST_CASE("verify: clocks may be 15 minutes apart") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const Request request = signed_request();
  const auto at = [&](std::chrono::seconds off) {
    return code_of(request.verified_by(verifier, {.now = then + off, .service = "s3"}));
  };
  CHECK(at(std::chrono::seconds(900)) == "");
  CHECK(at(std::chrono::seconds(-900)) == "");
  CHECK(at(std::chrono::seconds(901)) == "RequestTimeTooSkewed 403");
  CHECK(at(std::chrono::seconds(-901)) == "RequestTimeTooSkewed 403");
}

TEST_CASE("verify: keys with a token, keys that expire, keys that are revoked or replaced") {
  KeyRing ring;
  AccessKey key = key_of("AKIDEXAMPLE", "to/ken+==");
  key.expires = then + std::chrono::seconds(60);
  REQUIRE(ring.add(key));
  Verifier verifier(ring);
  const Request request = signed_request("s3", "to/ken+==");
  const auto at = [&](const Request& r, std::chrono::seconds off) {
    return code_of(r.verified_by(verifier, {.now = then + off, .service = "s3"}));
  };
  CHECK(at(request, std::chrono::seconds(59)) == "");
  CHECK(at(request, std::chrono::seconds(60)) == "ExpiredToken 400");
  CHECK(at(signed_request(), {}) == "InvalidToken 400");
  CHECK(at(signed_request("s3", "to/ken+=="), {}) == "");
  AccessKey other = key;
  other.secret = "another-one-long-enough";
  REQUIRE(ring.add(other));
  CHECK(at(request, {}) == "SignatureDoesNotMatch 403");
  REQUIRE(ring.add(key));
  CHECK(at(request, {}) == "");
  CHECK(ring.revoke("AKIDEXAMPLE"));
  CHECK(at(request, {}) == "InvalidAccessKeyId 403");
}

// The services that sign their body without saying so. Their codes: botocore's models of them.
TEST_CASE("verify: a service other than S3 signs its whole body, and answers in its own words") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  Request request = signed_request("sagemaker");
  const std::string hash = aws::sha256_hex("hello");
  const auto got = [&](const Request& r, const std::string& body, std::string_view service) {
    return r.verified_by(verifier, {.now = then, .service = service, .body_sha256 = body});
  };
  // The client encoded the path twice, as all but S3 do.
  CHECK(code_of(got(request, hash, "sagemaker")) == "");
  CHECK(code_of(got(request, hash, ""), Dialect::json) == "InvalidSignatureException 400");
  CHECK(code_of(got(request, aws::sha256_hex("hellO"), "sagemaker"), Dialect::json) ==
        "InvalidSignatureException 400");
  CHECK(code_of(got(request, "", "sagemaker"), Dialect::query) == "SignatureDoesNotMatch 403");
  CHECK(code_of(got(request, hash, "logs"), Dialect::json) == "InvalidSignatureException 400");
  Request late = request;
  CHECK(code_of(late.verified_by(verifier, {.now = then + std::chrono::hours(1),
                                            .service = "sagemaker",
                                            .body_sha256 = hash}),
                Dialect::json) == "InvalidSignatureException 400");
  request.headers.emplace_back("X-Amz-Target", "SageMaker.DeleteTrainingJob");
  CHECK(code_of(got(request, hash, "sagemaker"), Dialect::json) == "InvalidSignatureException 400");
  request.drop("Authorization");
  CHECK(code_of(got(request, hash, "sagemaker"), Dialect::json) ==
        "MissingAuthenticationTokenException 400");
  CHECK(code_of(got(request, hash, "sts"), Dialect::query) == "MissingAuthenticationToken 403");
  request.headers.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=a/b/c/d/e");
  CHECK(code_of(got(request, hash, "sts"), Dialect::query) == "IncompleteSignature 400");
  CHECK(code_of(got(request, hash, "sts"), Dialect::json) == "IncompleteSignatureException 400");
}

TEST_CASE("verify: each failure has an answer in each dialect") {
  for (int i = 0; i <= static_cast<int>(AuthFailure::denied); ++i) {
    CAPTURE(i);
    const AuthRefusal refused{static_cast<AuthFailure>(i), "why.", {}};
    for (const Dialect dialect : {Dialect::s3, Dialect::json, Dialect::query}) {
      const aws::Refusal error = answer_to(refused, dialect);
      CHECK(!error.code.empty());
      CHECK(!error.message.empty());
      CHECK((error.status == 400 || error.status == 403));
    }
  }
  const aws::Refusal denied = answer_to({AuthFailure::denied, "", {}}, Dialect::s3);
  CHECK(denied.message == "Access Denied");
  const aws::Refusal expired = answer_to({AuthFailure::expired, "", {}}, Dialect::s3);
  CHECK(expired.code == "AccessDenied");
  CHECK(expired.message == "Request has expired");
}

// Source: Amazon S3 API Reference, "Examples: Signature calculations" and "Query parameters".
TEST_CASE("verify: the examples of S3's reference") {
  KeyRing ring;
  AccessKey key = key_of("AKIAIOSFODNN7EXAMPLE");
  key.secret = doc_secret;
  REQUIRE(ring.add(key));
  Verifier verifier(ring);
  const UnixMillis day{1369353600000};  // 2013-05-24
  const std::string credential = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
  const std::string host = "examplebucket.s3.amazonaws.com";
  const std::string empty = aws::sha256_hex("");
  const auto authorization = [&](const std::string& names, const std::string& signature) {
    return "AWS4-HMAC-SHA256 Credential=" + credential + ",SignedHeaders=" + names +
           ",Signature=" + signature;
  };
  const Request cases[] = {
      {"GET",
       "/test.txt",
       {{"Host", host},
        {"Range", "bytes=0-9"},
        {"x-amz-content-sha256", empty},
        {"x-amz-date", "20130524T000000Z"},
        {"Authorization",
         authorization("host;range;x-amz-content-sha256;x-amz-date",
                       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")}}},
      {"PUT",
       "/test$file.text",
       {{"Host", host},
        {"Date", "Fri, 24 May 2013 00:00:00 GMT"},
        {"x-amz-date", "20130524T000000Z"},
        {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
        {"x-amz-content-sha256",
         "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
        {"Authorization",
         authorization("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")}}},
      {"GET",
       "/?lifecycle",
       {{"Host", host},
        {"x-amz-date", "20130524T000000Z"},
        {"x-amz-content-sha256", empty},
        {"Authorization",
         authorization("host;x-amz-content-sha256;x-amz-date",
                       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")}}},
      {"GET",
       "/?max-keys=2&prefix=J",
       {{"Host", host},
        {"x-amz-date", "20130524T000000Z"},
        {"x-amz-content-sha256", empty},
        {"Authorization",
         authorization("host;x-amz-content-sha256;x-amz-date",
                       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")}}},
      {"GET",
       "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524"
       "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-"
       "SignedHeaders=host&X-Amz-Signature="
       "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
       {{"Host", host}}},
  };
  for (const Request& request : cases) {
    CAPTURE(request.target);
    CHECK(code_of(request.verified_by(verifier, {.now = day, .service = "s3"})) == "");
  }
}

// The URLs are botocore's (S3SigV4QueryAuth).
TEST_CASE("verify: presigned URLs that botocore made, until they expire") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  REQUIRE(ring.add({.id = "UNUSED",
                    .secret = secret,
                    .session_token = "",
                    .expires = {},
                    .policy = {},
                    .owner = ""}));
  KeyRing with_token;
  REQUIRE(with_token.add(key_of("AKIDEXAMPLE", "to/ken+==")));
  Verifier verifier(ring);
  Verifier of_token(with_token);
  const std::string v4 =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fs3"
      "%2Faws4_request&X-Amz-Date=20150830T123600Z&X-Amz-Expires=";
  const std::string host = "127.0.0.1:9000";
  struct {
    const char* name;
    Verifier& by;
    Request request;
    const char* after_an_hour;
  } const cases[] = {
      {"version 4",
       verifier,
       {"GET",
        "/bucket/a%20b%2Bc/%C3%A4.bin?response-content-type=text%2Fplain&" + v4 +
            "3600&X-Amz-SignedHeaders=host&X-Amz-Signature="
            "c4698c7fd17d66b71e9f18aea4150c3f98b5bd98302dfe082760136ad4ae88b5",
        {{"Host", host}}},
       "AccessDenied 403"},
      {"version 4, a token",
       of_token,
       {"PUT",
        "/bucket/k?" + v4 +
            "3600&X-Amz-SignedHeaders=host&X-Amz-Security-Token=to%2Fken%2B%3D%3D&X-Amz-Signature="
            "afeb96203bfd7162ec6b1fc6b386367981f0255637558f11658a6719c17f6ab1",
        {{"Host", host}}},
       "AccessDenied 403"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const auto at = [&](const Request& r, std::chrono::seconds off) {
      return code_of(r.verified_by(c.by, {.now = then + off, .service = "s3"}));
    };
    CHECK(at(c.request, {}) == "");
    CHECK(at(c.request, std::chrono::seconds(3600)) == "");
    CHECK(at(c.request, std::chrono::seconds(3601)) == c.after_an_hour);
    Request other = c.request;
    other.method = "HEAD";
    CHECK(at(other, {}) == "SignatureDoesNotMatch 403");
    other = c.request;
    other.target.insert(other.target.find('?'), "x");
    CHECK(at(other, {}) == "SignatureDoesNotMatch 403");
  }
  const auto expires = [&](const std::string& seconds, const std::string& signature) {
    const Request request{
        "GET",
        "/bucket/k?" + v4 + seconds + "&X-Amz-SignedHeaders=host&X-Amz-Signature=" + signature,
        {{"Host", host}}};
    return code_of(request.verified_by(verifier, {.now = then, .service = "s3"}));
  };
  CHECK(expires("0", "896e5da02e61025804d2eb8857671849e183cd6ae3891cc1f7efbdf82b11c8d4") ==
        "AccessDenied 403");
  CHECK(expires("609901", "e227a057b4f35ed08963a277d2524e069d810d7096912f845866771ff897e5d1") ==
        "AuthorizationQueryParametersError 403");
  CHECK(expires("-7", "28ceb5c87e9176d9a8cbe5cec0db2ce3791c035a2b2d9236d0ccaad59b605564") ==
        "AuthorizationQueryParametersError 403");
  CHECK(expires("x", std::string(64, '0')) == "AuthorizationQueryParametersError 403");
}

TEST_CASE("verify: presigned URLs that lack something") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const struct {
    const char* target;
    const char* code;
  } cases[] = {
      {"/b/k?X-Amz-Signature=0", "AuthorizationQueryParametersError 400"},
      {"/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256", "AuthorizationQueryParametersError 400"},
      {"/b/k?X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256", "InvalidRequest 400"},
      {"/b/k?Signature=0", "AuthorizationQueryParametersError 400"},
      // What botocore's HmacV1QueryAuth made with the key's own secret, within its time.
      {"/bucket/k?AWSAccessKeyId=AKIDEXAMPLE&Signature=jGNw8VpITM6bDp35vTV1KHmr780%3D"
       "&Expires=1440941760",
       ""},
      {"/j?AWSAccessKeyId=AKIDEXAMPLE&Signature=jGNw8VpITM6bDp35vTV1KHmr780%3D&Expires=1440941760",
       "SignatureDoesNotMatch 403"},
      {"/k?AWSAccessKeyId=AKIDEXAMPLE&Signature=jGNw8VpITM6bDp35vTV1KHmr780%3D&Expires=1440938160",
       "AccessDenied 403"},
      {"/k?AWSAccessKeyId=AKIDEXAMPLE&Signature=jGNw8VpITM6bDp35vTV1KHmr780%3D&Expires=1441542961",
       "AuthorizationQueryParametersError 403"},
      {"/b/k", "AccessDenied 403"},
      {"/b/k?%", "AccessDenied 403"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.target);
    const Request request{"GET", c.target, {{"Host", "h"}}};
    CHECK(code_of(request.verified_by(verifier, {.now = then, .service = "s3"})) == c.code);
  }
}

TEST_CASE("verify: a URL of Version 2 that names its bucket in the host") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  const Request request{"GET",
                        "/k?AWSAccessKeyId=AKIDEXAMPLE&Signature=jGNw8VpITM6bDp35vTV1KHmr780%3D"
                        "&Expires=1440941760",
                        {{"Host", "bucket.localhost"}}};
  const auto of_bucket = [&](std::string_view bucket) {
    return code_of(request.verified_by(verifier, {.now = then, .service = "s3", .bucket = bucket}));
  };
  CHECK(of_bucket("bucket") == "");
  CHECK(of_bucket("other") == "SignatureDoesNotMatch 403");
  CHECK(of_bucket("") == "SignatureDoesNotMatch 403");
}

TEST_CASE("verify: whom a request is for is read before it is believed") {
  const auto service = [](const Request& request) {
    const std::vector<aws::HeaderView> views(request.headers.begin(), request.headers.end());
    return claimed_service({request.method, request.target, views});
  };
  CHECK(service(signed_request("logs")) == "logs");
  CHECK(service({"GET", "/b/k?X-Amz-Credential=a%2Fb%2Fc%2Fsts%2Fd", {}}) == "");
  CHECK(service({"GET", "/b/k?AWSAccessKeyId=a", {}}) == "");
  CHECK(service({"GET", "/b/k", {}}) == "");
  CHECK(service({"GET", "/", {{"Authorization", "AWS4-HMAC-SHA256 Credential=a/b"}}}) == "");
}

TEST_CASE("verify: any number of threads") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDEXAMPLE")));
  Verifier verifier(ring);
  std::vector<std::jthread> threads;
  std::array<int, 4> good{};
  for (int& count : good)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        count +=
            code_of(signed_request().verified_by(verifier, {.now = then, .service = "s3"})).empty()
                ? 1
                : 0;
    });
  threads.clear();
  for (const int count : good) CHECK(count == 200);
}
