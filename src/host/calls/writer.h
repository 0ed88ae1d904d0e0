#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::calls {

/// Writes to a descriptor in the order posted, without ever blocking the loop. Producers notice a
/// slow reader through room(). Once the reader has closed its end, posted data is dropped: a
/// vanished reader of our output must not end the job. Destroying the writer drops unwritten data.
class Writer {
 public:
  /// `fd` stays the caller's. Its file status flags are left alone (others share them): if the
  /// kernel allows, a separate file description is opened through /proc.
  Writer(loop::Loop& loop, int fd);
  Writer(loop::Loop& loop, Fd fd);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void post(std::string_view bytes);
  /// Drops what is not written, and what is posted from now on.
  void give_up();
  bool is_terminal() const { return terminal_; }
  /// True while more than 1 MiB is queued.
  bool behind() const;
  /// Waits until the queue is not behind.
  loop::Task<> room();
  /// Waits until everything is written or dropped, or until `deadline`.
  loop::Task<> flushed(TimePoint deadline);

 private:
  enum class Kind { file, own_pipe, shared_pipe };
  void open();
  long write_some() const;
  loop::Task<> drain();

  loop::Loop& loop_;
  Fd given_;  ///< The descriptor, if the caller passed ownership.
  Fd own_;
  int fd_;
  Kind kind_ = Kind::file;
  bool terminal_ = false;
  std::string queue_;
  std::size_t written_ = 0;  ///< How much of it.
  bool gone_ = false;        ///< The reader has closed its end.
  loop::Event moved_;
  loop::Tasks tasks_;  ///< drain(), while there is something to write.
};

}  // namespace muster::calls
