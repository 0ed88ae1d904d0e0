#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"
#include "net/http/server.h"

namespace muster::server {

/// A line for each request: time, address, key, "METHOD path", status, bytes received and sent,
/// milliseconds. No query (it may be a signature), no header. Pure.
std::string access_line(const http::Served& served, UnixMillis now);

/// A file of such lines. Each line is one write at the file's end, so lines of different threads
/// never mix; a line that cannot be written is dropped. Thread-safe.
class AccessLog {
 public:
  /// Opens or creates the plain file at `path` (absolute; 0600). Errors: as walk_given(), open(2);
  /// `invalid_input`: not a plain file.
  static Result<std::unique_ptr<AccessLog>> open(std::string path);
  void add(const http::Served& served);
  /// Reopens the path after the file was renamed. Errors: as open(); then the old file stays in
  /// use.
  Result<void> reopen();

 private:
  AccessLog(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  std::mutex mutex_;
  Fd file_;
};

}  // namespace muster::server
