// Bodies of requests: unframed, hashed, compared.

#include <algorithm>

#include "aws/access/aws_chunked.h"
#include "base/base64.h"
#include "base/text.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

/// What is made of the bytes as they come.
class Checks {
 public:
  Checks(const S3Call& call, bool with_md5, std::optional<s3wire::Checksum> also) : call_(call) {
    if (call.verified.payload == access::Payload::hash) sha256_.emplace();
    if (with_md5 || call.op.content_md5) md5_.emplace(s3wire::Checksum::md5);
    // What comes with Complete is the object's, not the document's, but for a trailer.
    if (call.op.op != s3wire::S3Op::complete_multipart_upload || !call.op.trailer.empty())
      said_ = call.op.checksum;
    kind_ = said_ ? std::optional(said_->kind) : also;
    if (kind_) digest_.emplace(*kind_);
  }
  void add(std::string_view bytes) {
    if (sha256_) sha256_->add(bytes);
    if (md5_) md5_->add(bytes);
    if (digest_) digest_->add(bytes);
  }
  Result<ReceivedBody, aws::Refusal> finish(const aws::Pairs* trailers);

 private:
  Result<void, aws::Refusal> compare_checksum(const std::string& made,
                                              const aws::Pairs* trailers) const;

  const S3Call& call_;
  std::optional<s3wire::GivenChecksum> said_;
  std::optional<aws::Sha256> sha256_;
  std::optional<s3wire::Digest> md5_;
  std::optional<s3wire::Checksum> kind_;
  std::optional<s3wire::Digest> digest_;
};

Result<void, aws::Refusal> Checks::compare_checksum(const std::string& made,
                                                    const aws::Pairs* trailers) const {
  if (!said_) return {};
  std::vector<std::string> said;
  if (!said_->value.empty()) said.push_back(said_->value);
  const std::string header(s3wire::checksum_header(*kind_));
  for (const auto& [name, value] : trailers != nullptr ? *trailers : aws::Pairs()) {
    if (name != header) continue;
    const std::optional<std::string> bytes = from_base64(trim(value));
    if (!bytes || bytes->size() != made.size())
      return aws::s3_refusal("InvalidRequest",
                             "Value for " + header + " trailing header is invalid.");
    said.push_back(*bytes);
  }
  if (std::all_of(said.begin(), said.end(), [&](const std::string& one) { return one == made; }))
    return {};
  return aws::s3_refusal("BadDigest", "The " + std::string(s3wire::checksum_name(*kind_)) +
                                          " you specified did not match the calculated checksum.");
}

Result<ReceivedBody, aws::Refusal> Checks::finish(const aws::Pairs* trailers) {
  ReceivedBody body;
  if (sha256_) {
    const aws::Sha256Bytes made = sha256_->finish();
    if (hex(aws::view_of(made)) != call_.verified.payload_hash)
      return access::answer_to({access::AuthFailure::payload_mismatch, {}, {}},
                               access::Dialect::s3);
  }
  if (md5_) body.md5 = md5_->finish();
  if (call_.op.content_md5 && *call_.op.content_md5 != body.md5)
    return aws::s3_refusal("BadDigest");
  if (!digest_) return body;
  const std::string made = digest_->finish();
  TRY(compare_checksum(made, trailers));
  body.checksum = s3wire::KeptChecksum{*kind_, base64(made), true};
  return body;
}

/// What a body that did not come whole is answered with.
aws::Refusal broken_body(const Error& error) {
  if (error.code == Errc::timeout) return aws::s3_refusal("RequestTimeout");
  return aws::s3_refusal("IncompleteBody");
}

}  // namespace

loop::Task<Result<ReceivedBody, aws::Refusal>> receive_body(
    S3Call& call, bool with_md5, std::optional<s3wire::Checksum> also,
    std::function<Result<void>(std::string_view)> sink) {
  Checks checks(call, with_md5, also);
  std::optional<access::AwsChunked> chunked;
  std::optional<access::AwsChunked::Options> framing = access::AwsChunked::options_for(
      call.verified, call.op.content_bytes.value_or(0), call.op.trailer, call.op.aws_chunked);
  // Nothing else brings what was announced.
  if (!call.op.trailer.empty() && !(framing && framing->has_trailer))
    co_return aws::s3_refusal("MalformedTrailerError");
  if (framing) chunked.emplace(*std::move(framing));
  std::vector<std::string_view> data;
  while (true) {
    Result<std::string_view> piece = co_await call.exchange.read();
    if (!piece) co_return broken_body(piece.error());
    if (piece->empty()) break;
    data.clear();
    if (chunked) {
      const Result<void, aws::Refusal> fed = chunked->feed(*piece, data);
      if (!fed) co_return fed.error();
    } else {
      data.push_back(*piece);
    }
    for (const std::string_view bytes : data) {
      checks.add(bytes);
      const Result<void> taken = sink(bytes);
      if (!taken) co_return bucket::disk_failure(taken.error());
    }
  }
  if (chunked) {
    const Result<void, aws::Refusal> finished = chunked->finish();
    if (!finished) co_return finished.error();
  }
  co_return checks.finish(chunked ? &chunked->trailers() : nullptr);
}

loop::Task<Result<std::string, aws::Refusal>> receive_text(S3Call& call, std::size_t bytes_max) {
  std::string text;
  bool too_long = false;
  std::function<Result<void>(std::string_view)> sink = [&](std::string_view bytes) -> Result<void> {
    too_long = too_long || bytes.size() > bytes_max - text.size();
    if (too_long) return fail(Errc::invalid_input, "too long");
    text.append(bytes);
    return {};
  };
  Result<ReceivedBody, aws::Refusal> body =
      co_await receive_body(call, false, std::nullopt, std::move(sink));
  if (too_long) co_return aws::s3_refusal("MaxMessageLengthExceeded");
  if (!body) co_return body.error();
  co_return text;
}

}  // namespace muster::s3server
