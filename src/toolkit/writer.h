#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "loop/wait.h"

namespace muster::toolkit {

/// Writes to a descriptor without ever blocking the loop, in the order posted. A reader that does
/// not keep up is felt by producers through room(). When nobody reads any more, what is posted is
/// dropped: a vanished reader of our output must not end the job.
class Writer {
 public:
  /// `fd` stays the caller's. Its file status flags are left alone (others share them): where the
  /// kernel allows, a description of our own is opened through /proc.
  Writer(loop::Loop& loop, int fd);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void post(std::string_view bytes);
  /// True while more than 1 MiB is queued.
  bool behind() const;
  /// Waits until the queue is not behind.
  loop::Task<> room();
  /// Waits until all is written, or dropped, or `deadline` has come.
  loop::Task<> flushed(TimePoint deadline);

 private:
  enum class Kind { file, own_pipe, shared_pipe };
  loop::Task<> drain();
  /// Bytes written; 0 to wait; -1 when nobody reads.
  long write_some();

  loop::Loop& loop_;
  Fd own_;
  int fd_;
  Kind kind_ = Kind::file;
  std::string queue_;
  std::size_t written_ = 0;
  bool draining_ = false;
  bool gone_ = false;
  loop::Event moved_;
};

}  // namespace muster::toolkit
