#pragma once

#include <sys/types.h>

#include <utility>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"
#include "os/supervise/spawn.h"

namespace muster::image {

/// A helper program for images. It leads its own process group; both end with this object, and with
/// the thread that started them.
class Child {
 public:
  /// Errors: those of supervise::spawn().
  static Result<Child> start(const Command& command, const supervise::Stdio& stdio);
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { static_cast<void>(reap()); }

  /// Readable when the program has ended.
  const Fd& pidfd() const { return pidfd_; }
  /// Kills what is left of the group; whether the program had ended with exit code 0 before.
  /// In a process with a supervise::Reaper, which may take the code, false says nothing.
  bool reap();

 private:
  Child(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_;
  Fd pidfd_;
};

}  // namespace muster::image
