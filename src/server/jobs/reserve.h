#pragma once

#include <string>

namespace muster::jobs {

/// Reserved disk space for a full disk: with it, the end of a job that filled the disk can still be
/// stored. It is a file without content, which may be removed at any time.
class Reserve final {
 public:
  explicit Reserve(std::string path) : path_(std::move(path)) {}

  /// Allocates the space if possible. Costs nothing if it is already allocated.
  void take() const;
  /// Frees it for the next writer; false if it was not allocated.
  bool give() const;

 private:
  std::string path_;
};

}  // namespace muster::jobs
