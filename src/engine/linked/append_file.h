#pragma once

// Inside cluster/ only.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster::cluster {

/// An append-only file with mode 0600. Its size in the file system is always correct, even if the
/// process was killed during a write.
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens or creates the file; the bytes before `from` were written by others. Error: `system`
  /// with the path, also if it is not a regular file, or ends before `from`.
  static Result<AppendFile> open(const std::string& path, std::uint64_t from = 0);

  explicit operator bool() const { return static_cast<bool>(fd_); }
  /// Without the bytes before `from`.
  std::uint64_t bytes() const { return bytes_; }
  /// Blocks until the kernel has accepted the bytes. Error: `system`; some of the bytes may then be
  /// in the file, and bytes() includes them.
  Result<void> append(std::string_view bytes);

 private:
  Result<void> measure();

  std::string path_;
  Fd fd_;
  std::uint64_t from_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace muster::cluster
