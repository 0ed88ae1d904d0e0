#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/access/verify.h"
#include "aws/refusal.h"

namespace muster::access {

/// Undoes "Content-Encoding: aws-chunked": frames of data within the body, signed or not, with
/// trailing headers or without.
///
/// Pure: bytes in, bytes out, in pieces of any sizes; keeps at most one line. Source: Amazon S3 API
/// Reference, "Signature calculations for the Authorization header: transferring a payload in
/// multiple chunks", and "… including trailing headers". Two ways of minio-go are taken, as S3
/// takes them: an empty line before x-amz-trailer-signature, and one more behind an unsigned
/// trailer.
class AwsChunked {
 public:
  struct Options {
    bool is_signed = false;           ///< Chunks (and a trailer) carry signatures.
    bool has_trailer = false;         ///< Header lines follow the last chunk.
    std::uint64_t decoded_bytes = 0;  ///< x-amz-decoded-content-length; the data has to match it.
    std::string trailer{};            ///< The x-amz-trailer header: the one name that may follow.
    ChunkSigning signing{};           ///< Where is_signed.
  };
  /// What a request's signature says, and the headers. None if the body is not chunked. A signature
  /// that says nothing of the body leaves it to `framed`: S3Operation::aws_chunked.
  static std::optional<Options> options_for(const Verified& verified, std::uint64_t decoded_bytes,
                                            std::string_view trailer, bool framed = false);

  explicit AwsChunked(Options options);
  ~AwsChunked();
  AwsChunked(AwsChunked&&) noexcept;
  AwsChunked& operator=(AwsChunked&&) noexcept;

  /// Appends to `data` the object's bytes in `bytes`, as views into it. They come before their
  /// chunk's signature is checked: publish nothing until done(). A refusal is for good:
  /// IncompleteBody, InvalidChunkSizeError, SignatureDoesNotMatch, MalformedTrailerError,
  /// InvalidRequest.
  Result<void, aws::Refusal> feed(std::string_view bytes, std::vector<std::string_view>& data);
  /// The body has ended: a refusal if that is not where it may.
  Result<void, aws::Refusal> finish() const;
  /// The last line has come, and nothing behind it.
  bool done() const;
  /// Trailing headers, names in lower case. Complete when done().
  const aws::Pairs& trailers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::access
