// What S3's clients send: the head of a request (its signature, then its meaning), or an XML body.
// The first byte says which. Lines of a head: "METHOD TARGET", then "name: value".
#include "aws/s3wire/s3_request.h"

#include <string_view>

#include "aws/access/verify.h"
#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_document.h"
#include "aws/s3wire/s3_listing.h"
#include "aws/xml.h"
#include "base/text.h"
#include "fuzz.h"
#include "head.h"

namespace muster {

namespace {

void check_refusal(const aws::Refusal& refusal) {
  CHECK_THAT(!refusal.code.empty() && !refusal.message.empty(), "a refusal says something");
  CHECK_THAT(refusal.status >= 400 && refusal.status < 600, "a refusal has a status");
  const std::string xml = s3wire::error_xml(refusal, "/", "");
  CHECK_THAT(is_utf8(xml), "an answer is UTF-8");
  CHECK_THAT(aws::s3_failure(xml).code == refusal.code, "a client can read the answer");
}

void request(std::string_view text) {
  const Head head = head_of(text);
  const aws::RequestHead view = head.view();

  access::AccessKey key;
  key.id = "AKIDEXAMPLE";
  key.secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  access::KeyRing ring;
  CHECK_THAT(ring.add(key), "a key");
  access::Verifier verifier(ring);
  const auto verified = verifier.verify(view, {.now = UnixMillis(1440938160000), .service = "s3"});
  if (!verified)
    for (const access::Dialect dialect :
         {access::Dialect::s3, access::Dialect::json, access::Dialect::query})
      check_refusal(answer_to(verified.error(), dialect));
  static_cast<void>(access::claimed_service(view));

  const auto read = s3wire::read_s3_request(view, {});
  if (!read) return check_refusal(read.error());
  const s3wire::S3Operation& operation = *read;
  CHECK_THAT(!operation.name.empty(), "an operation has a name");
  CHECK_THAT(operation.bucket.empty() || s3wire::is_bucket_name(operation.bucket), "a bucket");
  CHECK_THAT(operation.key.size() <= 1024 && is_utf8(operation.key), "a key");
  CHECK_THAT(operation.key.find('\0') == std::string::npos, "no NUL in a key");
  const std::uint64_t page_max = operation.op == s3wire::S3Op::list_buckets ? 10'000 : 1000;
  CHECK_THAT(operation.list.max <= page_max, "a page is bounded");
  if (operation.range) {
    const std::optional<s3wire::ByteSpan> span = resolved(*operation.range, 100);
    CHECK_THAT(!span || (span->bytes > 0 && span->offset + span->bytes <= 100), "within");
  }
  for (const auto& [name, value] : metadata_headers(operation.metadata, operation.response_headers))
    CHECK_THAT(value.find('\n') == std::string::npos, "a header is one line");
  CHECK_THAT(is_utf8(listing_xml(operation, {})), "an answer is UTF-8");
}

template <class T>
void document(const s3wire::Document<T>& read) {
  if (!read) check_refusal(read.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'h':
      request(text);
      break;
    case 'd':
      document(s3wire::read_delete(text));
      break;
    case 'c':
      document(s3wire::read_complete(text));
      break;
    case 'b':
      document(s3wire::read_create_bucket(text));
      break;
    case 't':
      document(s3wire::read_tagging(text));
      document(s3wire::read_tagging_header(text));
      break;
    default:
      break;
  }
  return 0;
}

}  // namespace muster
