#include "aws/access/aws_chunked.h"

#include <doctest/doctest.h>

#include "aws/sign.h"
#include "base/text.h"

using namespace muster;
using namespace muster::access;

namespace {

/// What came of a body that was fed in pieces of `step` bytes: the data, or the error's code.
struct Got {
  std::string data;
  std::string code;
  aws::Pairs trailers;
};
Got decoded(const AwsChunked::Options& options, std::string_view body, std::size_t step) {
  AwsChunked chunked(options);
  Got got;
  while (!body.empty()) {
    std::vector<std::string_view> pieces;
    const Result<void, aws::Refusal> fed = chunked.feed(body.substr(0, step), pieces);
    for (const std::string_view piece : pieces) got.data += piece;
    if (!fed) {
      got.code = fed.error().code;
      CHECK(chunked.finish().error().code == got.code);
      return got;
    }
    body.remove_prefix(std::min(step, body.size()));
  }
  if (const auto finished = chunked.finish(); !finished) got.code = finished.error().code;
  CHECK(chunked.done() == got.code.empty());
  got.trailers = chunked.trailers();
  return got;
}

AwsChunked::Options unsigned_options(std::uint64_t bytes, const char* trailer = "") {
  return {.is_signed = false,
          .has_trailer = *trailer != '\0',
          .decoded_bytes = bytes,
          .trailer = trailer};
}

/// How the examples in S3's reference are signed.
ChunkSigning example_signing(const char* seed) {
  aws::Sha256Bytes key =
      aws::hmac_sha256("AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524");
  for (const char* part : {"us-east-1", "s3", "aws4_request"})
    key = aws::hmac_sha256(aws::view_of(key), part);
  return {key, "20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n", seed};
}

std::string signed_chunk(std::string_view size, std::string_view signature, std::string_view data) {
  std::string text(size);
  ((((text += ";chunk-signature=") += signature) += "\r\n") += data);
  return data.empty() ? text : text + "\r\n";
}

}  // namespace

TEST_CASE("aws_chunked: unsigned bodies, wherever they are cut") {
  const struct {
    const char* name;
    AwsChunked::Options options;
    std::string body;
    std::string data;
    std::string code;
    aws::Pairs trailers;
  } cases[] = {
      {"two chunks and a trailer",
       unsigned_options(8, "x-amz-checksum-crc32"),
       "5\r\nhello\r\n3\r\n\r\n!\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
       "hello\r\n!",
       "",
       {{"x-amz-checksum-crc32", "AAAAAA=="}}},
      {"spaces and capitals in the trailer",
       unsigned_options(1, "x-amz-checksum-crc32"),
       "1\r\na\r\n0\r\nX-Amz-Checksum-CRC32: AAAAAA== \r\n\r\n",
       "a",
       "",
       {{"x-amz-checksum-crc32", "AAAAAA=="}}},
      {"no trailer", unsigned_options(10), "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", "", {}},
      {"nothing", unsigned_options(0), "0\r\n\r\n", "", "", {}},
      {"an extension", unsigned_options(1), "1;a=b\r\nx\r\n0;a=b\r\n\r\n", "x", "", {}},
      {"less than announced",
       unsigned_options(2),
       "1\r\nx\r\n0\r\n\r\n",
       "x",
       "IncompleteBody",
       {}},
      {"more than announced",
       unsigned_options(1),
       "2\r\nxx\r\n0\r\n\r\n",
       "",
       "IncompleteBody",
       {}},
      {"cut in the data", unsigned_options(2), "2\r\nx", "x", "IncompleteBody", {}},
      {"cut before the last line",
       unsigned_options(1),
       "1\r\nx\r\n0\r\n",
       "x",
       "IncompleteBody",
       {}},
      {"no size", unsigned_options(1), "\r\nx\r\n0\r\n\r\n", "", "InvalidRequest", {}},
      {"a negative size", unsigned_options(1), "-1\r\nx\r\n0\r\n\r\n", "", "InvalidRequest", {}},
      {"a size that is none", unsigned_options(1), "0x1\r\nx\r\n", "", "InvalidRequest", {}},
      {"a size beyond 64 bits",
       unsigned_options(1),
       "11111111111111111\r\nx\r\n",
       "",
       "InvalidRequest",
       {}},
      {"a huge size", unsigned_options(1), "ffffffffffffffff\r\nx\r\n", "", "IncompleteBody", {}},
      {"data longer than its size", unsigned_options(4), "1\r\nabc\r\n", "a", "InvalidRequest", {}},
      {"bytes behind the end", unsigned_options(0), "0\r\n\r\nx", "", "InvalidRequest", {}},
      {"bytes behind the end of some",
       unsigned_options(1),
       "1\r\na\r\n0\r\n\r\nx",
       "a",
       "InvalidRequest",
       {}},
      {"an endless line", unsigned_options(1), std::string(5000, '1'), "", "InvalidRequest", {}},
      {"a trailer that was not announced",
       unsigned_options(0),
       "0\r\na:b\r\n\r\n",
       "",
       "MalformedTrailerError",
       {}},
      {"another trailer",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\nx-amz-checksum-sha1:a\r\n\r\n",
       "",
       "MalformedTrailerError",
       {}},
      {"the trailer twice",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\nx-amz-checksum-crc32:a\r\nx-amz-checksum-crc32:a\r\n\r\n",
       "",
       "MalformedTrailerError",
       {}},
      {"the trailer left out",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\n\r\n",
       "",
       "MalformedTrailerError",
       {}},
      {"as minio-go writes it",
       unsigned_options(5, "x-amz-checksum-crc32"),
       "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\n\r\n\r\n",
       "hello",
       "",
       {{"x-amz-checksum-crc32", "NhCmhg=="}}},
      {"two lines behind the end",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\nx-amz-checksum-crc32:a\r\n\r\n\r\n\r\n",
       "",
       "InvalidRequest",
       {}},
      {"half a line behind the end",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\nx-amz-checksum-crc32:a\r\n\r\n\r",
       "",
       "IncompleteBody",
       {}},
      {"a line behind the end without a trailer",
       unsigned_options(0),
       "0\r\n\r\n\r\n",
       "",
       "InvalidRequest",
       {}},
      {"a trailer without a colon",
       unsigned_options(0, "x-amz-checksum-crc32"),
       "0\r\nx-amz-checksum-crc32\r\n\r\n",
       "",
       "MalformedTrailerError",
       {}},
  };
  for (const auto& c : cases) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, c.body.size()}) {
      CAPTURE(c.name);
      CAPTURE(step);
      const Got got = decoded(c.options, c.body, step);
      CHECK(got.code == c.code);
      CHECK(got.data == c.data);
      if (c.code.empty()) CHECK(got.trailers == c.trailers);
    }
  }
}

// Source: Amazon S3 API Reference, the pages on chunked uploads, with and without trailing headers.
TEST_CASE("aws_chunked: the signed examples of S3's reference") {
  const std::string first(65536, 'a');
  const std::string second(1024, 'a');
  AwsChunked::Options plain{
      .is_signed = true,
      .has_trailer = false,
      .decoded_bytes = 66560,
      .signing =
          example_signing("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")};
  const std::string body =
      signed_chunk("10000", "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                   first) +
      signed_chunk("400", "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                   second) +
      signed_chunk("0", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9", "") +
      "\r\n";
  AwsChunked::Options trailing{
      .is_signed = true,
      .has_trailer = true,
      .decoded_bytes = 66560,
      .trailer = "x-amz-checksum-crc32c",
      .signing =
          example_signing("106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")};
  const std::string body_and_trailer =
      signed_chunk("10000", "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
                   first) +
      signed_chunk("400", "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
                   second) +
      signed_chunk("0", "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992", "") +
      "x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:"
      "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, body_and_trailer.size()}) {
    CAPTURE(step);
    Got got = decoded(plain, body, step);
    CHECK(got.code == "");
    CHECK(got.data == first + second);
    got = decoded(trailing, body_and_trailer, step);
    CHECK(got.code == "");
    CHECK(got.data == first + second);
    CHECK(got.trailers == aws::Pairs{{"x-amz-checksum-crc32c", "sOO8/Q=="}});
  }
  const std::size_t gap = body_and_trailer.find("x-amz-trailer-signature");
  std::string of_minio = body_and_trailer;
  of_minio.replace(gap - 2, 2, "\n\r\n");  // As minio-go writes it.
  CHECK(decoded(trailing, of_minio, 1).code == "");
  CHECK(decoded(trailing, of_minio, of_minio.size()).code == "");
  of_minio.insert(gap + 1, "\r\n");
  CHECK(decoded(trailing, of_minio, 999).code == "SignatureDoesNotMatch");
  CHECK(decoded(trailing, body_and_trailer.substr(0, gap) + "\r\n\r\n", 999).code ==
        "SignatureDoesNotMatch");
  CHECK(decoded(trailing, body_and_trailer.substr(0, gap) + "\r\n", 999).code == "IncompleteBody");
  CHECK(decoded(trailing, body_and_trailer + "\r\n", 999).code == "InvalidRequest");
  const auto altered = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(decoded(plain, altered(body, "aaa", "aba"), 999).code == "SignatureDoesNotMatch");
  CHECK(decoded(plain, altered(body, "0055", "0056"), 999).code == "SignatureDoesNotMatch");
  CHECK(decoded(plain, altered(body, ";chunk-signature=", ";"), 999).code ==
        "SignatureDoesNotMatch");
  CHECK(decoded(plain, altered(body, "b6c6", "b6c7"), 999).code == "SignatureDoesNotMatch");
  CHECK(decoded(trailing, altered(body_and_trailer, "sOO8", "sOO9"), 999).code ==
        "SignatureDoesNotMatch");
  CHECK(decoded(trailing, altered(body_and_trailer, "x-amz-trailer-sig", "x-amz-trailer-six"), 999)
            .code == "MalformedTrailerError");
  plain.signing.seed_signature[0] = '5';
  CHECK(decoded(plain, body, 999).code == "SignatureDoesNotMatch");
}

TEST_CASE("aws_chunked: how a body is read follows from what was signed") {
  Verified verified;
  verified.payload = Payload::hash;
  CHECK(!AwsChunked::options_for(verified, 1, ""));
  verified.payload = Payload::chunked_unsigned_trailer;
  const std::optional<AwsChunked::Options> options =
      AwsChunked::options_for(verified, 7, " X-Amz-Checksum-CRC32 ");
  REQUIRE(options);
  CHECK(options->has_trailer);
  CHECK(!options->is_signed);
  CHECK(options->decoded_bytes == 7);
  CHECK(options->trailer == "x-amz-checksum-crc32");
  verified.payload = Payload::chunked_signed;
  CHECK(AwsChunked::options_for(verified, 7, "")->is_signed);
  CHECK(!AwsChunked::options_for(verified, 7, "")->has_trailer);
  verified.payload = Payload::chunked_signed_trailer;
  CHECK(AwsChunked::options_for(verified, 7, "a")->has_trailer);
  verified.payload = Payload::unsigned_;
  CHECK(!AwsChunked::options_for(verified, 7, ""));
  CHECK(!AwsChunked::options_for(verified, 7, "", true)->has_trailer);
  CHECK(AwsChunked::options_for(verified, 7, "a", true)->has_trailer);
}
