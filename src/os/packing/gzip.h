#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace muster::packing {

/// Reads a file, unpacked if it is gzip (any number of members; zeros and other bytes behind the
/// last one are passed over, as gzip(1) does). libarchive's own gzip reader does not verify the
/// checksum. Blocks.
class GzipReader {
 public:
  /// Errors: `not_found`, `denied`, `system`; `invalid_input` if it is not a file.
  static Result<GzipReader> open(const std::string& path);
  /// The first `bytes` of `file`, from its current position. Error: `system`.
  static Result<GzipReader> from(Fd file, std::uint64_t bytes);
  GzipReader(GzipReader&&) noexcept;
  GzipReader& operator=(GzipReader&&) noexcept;
  ~GzipReader();

  /// The next bytes, valid until the next call; empty at the end. Errors: `invalid_input` (cut
  /// short, damaged), `system`.
  Result<std::string_view> next();
  std::uint64_t file_bytes() const;  ///< The size of the file.
  std::uint64_t bytes_out() const;   ///< Given out so far.

 private:
  struct State;
  explicit GzipReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::packing
