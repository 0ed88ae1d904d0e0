#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "net/loop/notices.h"

namespace muster::places {

/// Reports when an entry is created in a folder or renamed into it, or one of some files grows,
/// under any name (inotify).
class Growth {
 public:
  /// Error: `system` with the folder's name.
  static Result<std::unique_ptr<Growth>> open(loop::Loop& loop, const std::string& folder);

  /// From now on also this file, if it is there; asked again it does nothing.
  void watch(const std::string& file);
  /// Waits until something has happened since the last call. One waiter at a time. False where it
  /// cannot be known any more.
  loop::Task<bool> happened() { return notices_->happened(); }

 private:
  explicit Growth(std::unique_ptr<loop::Notices> notices) : notices_(std::move(notices)) {}

  std::unique_ptr<loop::Notices> notices_;
  std::set<std::string> files_;
};

}  // namespace muster::places
