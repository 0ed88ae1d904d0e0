#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/fd.h"
#include "loop/wait.h"

namespace muster::machine {

/// Tells when something comes into a folder, or is renamed into it, or one of some files grows, by
/// whatever name it is written to (inotify).
class Growth {
 public:
  /// Error: `system` with the folder's name.
  static Result<std::unique_ptr<Growth>> open(loop::Loop& loop, const std::string& folder);

  /// From now on also this file, if it is there; asked again it does nothing.
  void watch(const std::string& file);
  /// Waits until something has happened since the last call. One waiter at a time. False where it
  /// cannot be known any more.
  loop::Task<bool> happened();

 private:
  Growth(loop::Loop& loop, Fd notifier);

  Fd notifier_;
  loop::Watch watch_;
  std::set<std::string> files_;
};

}  // namespace muster::machine
