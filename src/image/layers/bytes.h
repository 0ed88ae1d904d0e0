#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster::image {

/// Bytes that come piece by piece. Blocks.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  virtual ~Bytes() = default;

  /// The next ones, valid until the next call; empty at the end, and only there. Errors:
  /// `protocol`: they are damaged; `system`.
  virtual Result<std::string_view> next() = 0;
};

/// The bytes of a file, from its current position.
std::unique_ptr<Bytes> bytes_of(Fd file);
/// As they are; at their end they must have had this digest, else that is a `protocol` error.
std::unique_ptr<Bytes> checked(std::unique_ptr<Bytes> bytes, std::string digest);
/// "sha256:…" of all that a file holds. Error: `system`.
Result<std::string> digest_of_file(const std::string& path);
/// Who unpacks gzip's bytes, but for a few, which are sooner unpacked than a process starts.
enum class Gunzip { zlib, igzip };
/// Unpacks gzip (with any number of members) or zstd, detected by the first bytes; other data is
/// passed unchanged. Use igzip (see igzip.h) only if the caller checks the digest of the result.
std::unique_ptr<Bytes> unpacked(std::unique_ptr<Bytes> bytes, Gunzip by = Gunzip::zlib);
/// Reads on a separate thread, a few pieces ahead of the reader.
std::unique_ptr<Bytes> read_ahead(std::unique_ptr<Bytes> bytes);

}  // namespace muster::image
