#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::container {

/// Puts the calling process into a new control group, which limits its memory and that of its child
/// processes. The destructor moves the process back and removes the group, with its empty parents.
class MemoryGroup {
 public:
  /// `path`: as in container/cgroup.h; no other process is in it. Errors: `unsupported` if the
  /// machine does not account memory in groups; `system` if it does not allow creating one.
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
