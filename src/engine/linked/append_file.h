#pragma once

// Inside cluster/ only.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster::cluster {

/// A file of mode 0600 that grows at its end only; how much of it there is is what the file system
/// says, also after a kill in the middle of a write.
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens or creates the file; bytes before `from` belong to others. Error: `system` with the
  /// path, also if it is not a regular file, or ends before `from`.
  static Result<AppendFile> open(const std::string& path, std::uint64_t from = 0);

  explicit operator bool() const { return static_cast<bool>(fd_); }
  /// From `from` on.
  std::uint64_t bytes() const { return bytes_; }
  /// Blocks for as long as the kernel takes the bytes. Error: `system`; a part of them may be
  /// there then, and bytes() says so.
  Result<void> append(std::string_view bytes);

 private:
  Result<void> measure();

  std::string path_;
  Fd fd_;
  std::uint64_t from_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace muster::cluster
