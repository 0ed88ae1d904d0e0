#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::container {

/// Membership of the calling process in a control group of its own, which limits its memory and
/// that of the programs that it starts. The destructor moves the process back to where it was and
/// removes the group, with those above it that are empty.
class MemoryGroup {
 public:
  /// `path`: as in container/cgroup.h; nobody else is in it. Errors: `unsupported` where the
  /// machine counts no memory in groups; `system` where it lets us make none.
  static Result<MemoryGroup> join(const std::string& path, std::int64_t bytes_max);
  MemoryGroup(MemoryGroup&& other) noexcept
      : path_(std::exchange(other.path_, {})), before_(std::move(other.before_)) {}
  MemoryGroup& operator=(MemoryGroup&&) = delete;
  ~MemoryGroup();

 private:
  MemoryGroup(std::string path, std::string before)
      : path_(std::move(path)), before_(std::move(before)) {}

  std::string path_;    ///< Empty: moved away.
  std::string before_;  ///< The group that we come from.
};

}  // namespace muster::container
