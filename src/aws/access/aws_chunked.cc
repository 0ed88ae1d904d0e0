#include "aws/access/aws_chunked.h"

#include <algorithm>
#include <charconv>

#include "aws/sign.h"
#include "base/result.h"
#include "base/text.h"

namespace muster::access {
namespace {

constexpr std::size_t line_bytes_max = 1024;
constexpr std::size_t trailer_lines_max = 8;
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{5} << 40;  // An object is not larger.
constexpr std::string_view empty_sha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The position of the next byte in a body.
enum class At {
  size,      ///< In "1000;chunk-signature=…\r\n".
  data,      ///< In the data.
  data_end,  ///< In the "\r\n" behind it.
  trailer,   ///< In a header line behind the last chunk, or the empty line that ends all.
  end,
};

}  // namespace

struct AwsChunked::State {
  Options options;
  At at = At::size;
  std::string line;        ///< What came of it so far.
  std::uint64_t left = 0;  ///< Bytes of the chunk's data still to come.
  std::uint64_t decoded = 0;
  std::string chunk_signature;
  std::string signature_before;
  std::string trailer_text;  ///< As it is signed.
  std::string trailer_signature;
  bool gap = false;        ///< An empty line came before the trailer's signature.
  std::size_t behind = 0;  ///< Bytes of the "\r\n" that minio-go adds behind the end.
  aws::Pairs trailers;
  aws::Sha256 hash;
  Result<void, aws::Refusal> so_far;  ///< The first refusal is for good.

  Result<void, aws::Refusal> feed(std::string_view bytes, std::vector<std::string_view>& data);
  bool take_line(std::string_view& bytes);
  Result<void, aws::Refusal> take_behind(std::string_view& bytes);
  Result<void, aws::Refusal> on_line();
  Result<void, aws::Refusal> on_size();
  Result<void, aws::Refusal> on_data_end();
  Result<void, aws::Refusal> on_trailer();
  Result<void, aws::Refusal> on_chunk();
  Result<void, aws::Refusal> on_end();
  std::string signature_of(std::string_view kind, std::string_view hashes) const;
};

/// Moves bytes into `line` up to its end; true if it is whole, then without its "\r\n".
bool AwsChunked::State::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  line += bytes.substr(0, std::min(taken, line_bytes_max + 1));
  bytes.remove_prefix(taken);
  if (end == std::string_view::npos || line.size() > line_bytes_max) return false;
  line.pop_back();
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

/// minio-go writes one more "\r\n" behind a trailer that is not signed; else nothing follows.
Result<void, aws::Refusal> AwsChunked::State::take_behind(std::string_view& bytes) {
  constexpr std::string_view more = "\r\n";
  if (options.is_signed || trailers.empty() || behind == more.size() ||
      bytes.front() != more[behind])
    return aws::s3_refusal("InvalidRequest", "There is data after the end of the body.");
  ++behind;
  bytes.remove_prefix(1);
  return {};
}

std::string AwsChunked::State::signature_of(std::string_view kind, std::string_view hashes) const {
  std::string text = "AWS4-HMAC-SHA256-";
  ((text += kind) += '\n') += options.signing.prefix;
  ((text += signature_before) += '\n') += hashes;
  return hex(aws::view_of(aws::hmac_sha256(aws::view_of(options.signing.key), text)));
}

/// "<hex>" or "<hex>;chunk-signature=<64 hex>".
Result<void, aws::Refusal> AwsChunked::State::on_size() {
  constexpr std::string_view extension = "chunk-signature=";
  std::string_view text = line;
  const std::size_t semicolon = std::min(text.find(';'), text.size());
  const std::string_view size = text.substr(0, semicolon);
  text.remove_prefix(std::min(semicolon + 1, text.size()));
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), left, 16);
  if (size.empty() || error != std::errc() || end != size.data() + size.size())
    return aws::s3_refusal("InvalidRequest", "The size of a chunk is not a hexadecimal number.");
  if (left > chunk_bytes_max || left > options.decoded_bytes - decoded)
    return aws::s3_refusal(
        "IncompleteBody",
        "The chunks contain more data than the header x-amz-decoded-content-length specifies.");
  if (options.is_signed) {
    if (!text.starts_with(extension)) return aws::s3_refusal("SignatureDoesNotMatch");
    chunk_signature = text.substr(extension.size());
  }
  if (left > 0) {
    at = At::data;
    return {};
  }
  TRY(on_chunk());
  // Without a trailer an empty line ends it all; with one, header lines come before that.
  at = At::trailer;
  return {};
}

/// A chunk's data is complete, and its signature is checked.
Result<void, aws::Refusal> AwsChunked::State::on_chunk() {
  if (!options.is_signed) return {};
  const std::string hashes = std::string(empty_sha256) + "\n" + hex(aws::view_of(hash.finish()));
  std::string want = signature_of("PAYLOAD", hashes);
  if (!aws::same_bytes(want, chunk_signature)) return aws::s3_refusal("SignatureDoesNotMatch");
  signature_before = std::move(want);
  return {};
}

Result<void, aws::Refusal> AwsChunked::State::on_data_end() {
  if (!line.empty())
    return aws::s3_refusal("InvalidRequest", "A chunk's data does not match its size.");
  at = At::size;
  return on_chunk();
}

Result<void, aws::Refusal> AwsChunked::State::on_trailer() {
  // minio-go leaves a line empty before the trailer's signature.
  if (line.empty() && options.is_signed && !trailers.empty() && trailer_signature.empty() && !gap) {
    gap = true;
    return {};
  }
  if (line.empty()) return on_end();
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || trailers.size() >= trailer_lines_max || !options.has_trailer ||
      !trailer_signature.empty())
    return aws::s3_refusal("MalformedTrailerError");
  std::string name = lower_case(trim(std::string_view(line).substr(0, colon)));
  std::string value = trim(std::string_view(line).substr(colon + 1));
  if (name == "x-amz-trailer-signature") {
    trailer_signature = std::move(value);
    return {};
  }
  if (name != options.trailer || gap) return aws::s3_refusal("MalformedTrailerError");
  trailer_text += name + ":" + value + "\n";
  trailers.emplace_back(std::move(name), std::move(value));
  return {};
}

Result<void, aws::Refusal> AwsChunked::State::on_end() {
  if (decoded != options.decoded_bytes) return aws::s3_refusal("IncompleteBody");
  const bool announced = options.has_trailer && !options.trailer.empty();
  if (announced != (trailers.size() == 1)) return aws::s3_refusal("MalformedTrailerError");
  if (options.has_trailer && options.is_signed) {
    const std::string want = signature_of("TRAILER", hex(aws::view_of(aws::sha256(trailer_text))));
    if (!aws::same_bytes(want, trailer_signature)) return aws::s3_refusal("SignatureDoesNotMatch");
  }
  at = At::end;
  return {};
}

Result<void, aws::Refusal> AwsChunked::State::on_line() {
  Result<void, aws::Refusal> read;
  if (at == At::size)
    read = on_size();
  else if (at == At::data_end)
    read = on_data_end();
  else
    read = on_trailer();
  line.clear();
  return read;
}

Result<void, aws::Refusal> AwsChunked::State::feed(std::string_view bytes,
                                                   std::vector<std::string_view>& data) {
  while (!bytes.empty()) {
    if (at == At::end) {
      TRY(take_behind(bytes));
      continue;
    }
    if (at == At::data) {
      const std::string_view piece =
          bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left)));
      bytes.remove_prefix(piece.size());
      if (options.is_signed) hash.add(piece);
      data.push_back(piece);
      left -= piece.size();
      decoded += piece.size();
      if (left == 0) at = At::data_end;
      continue;
    }
    if (!take_line(bytes)) {
      if (line.size() <= line_bytes_max) continue;
      return aws::s3_refusal("InvalidRequest", "A line between chunks is too long.");
    }
    TRY(on_line());
  }
  return {};
}

std::optional<AwsChunked::Options> AwsChunked::options_for(const Verified& verified,
                                                           std::uint64_t decoded_bytes,
                                                           std::string_view trailer, bool framed) {
  const Payload payload = verified.payload;
  if (payload == Payload::hash || (payload == Payload::unsigned_ && !framed)) return std::nullopt;
  Options options;
  options.is_signed =
      payload == Payload::chunked_signed || payload == Payload::chunked_signed_trailer;
  options.has_trailer = payload == Payload::chunked_unsigned_trailer ||
                        payload == Payload::chunked_signed_trailer ||
                        (payload == Payload::unsigned_ && !trailer.empty());
  options.decoded_bytes = decoded_bytes;
  options.trailer = lower_case(trim(trailer));
  options.signing = verified.chunks;
  return options;
}

AwsChunked::AwsChunked(Options options) : state_(std::make_unique<State>()) {
  state_->signature_before = options.signing.seed_signature;
  state_->options = std::move(options);
}

AwsChunked::~AwsChunked() = default;
AwsChunked::AwsChunked(AwsChunked&&) noexcept = default;
AwsChunked& AwsChunked::operator=(AwsChunked&&) noexcept = default;

Result<void, aws::Refusal> AwsChunked::feed(std::string_view bytes,
                                            std::vector<std::string_view>& data) {
  if (state_->so_far) state_->so_far = state_->feed(bytes, data);
  return state_->so_far;
}

Result<void, aws::Refusal> AwsChunked::finish() const {
  if (!state_->so_far) return state_->so_far;
  if (done()) return {};
  return aws::s3_refusal("IncompleteBody");
}

bool AwsChunked::done() const {
  return state_->at == At::end && state_->behind != 1 && state_->so_far;
}

const aws::Pairs& AwsChunked::trailers() const {
  return state_->trailers;
}

}  // namespace muster::access
