#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "net/loop/wait.h"

namespace muster::loop {

/// Reports that one of some files or folders changed, but not how (inotify(7)).
class Notices {
 public:
  /// Error: `system`.
  static Result<std::unique_ptr<Notices>> open(Loop& loop);

  /// Also watches `path` from now on; `events` as for inotify_add_watch(2). Error: `system` with
  /// the path.
  Result<void> add(const std::string& path, std::uint32_t events);
  /// Waits until something has happened since the last call. One waiter at a time. False after a
  /// cancel, and if changes can no longer be detected.
  Task<bool> happened();
  void cancel() { watch_.cancel(); }

 private:
  Notices(Loop& loop, Fd notifier);

  Fd notifier_;
  Watch watch_;
};

}  // namespace muster::loop
