#pragma once

#include <functional>
#include <memory>

#include "base/fd.h"
#include "job/lines.h"
#include "loop/wait.h"
#include "supervise/lines.h"

namespace muster::supervise {

/// Reads one output pipe of a process to its end and gives its lines to a sink. The sink is
/// awaited: a sink that waits holds the process up, and nothing is lost or kept in between.
/// To be held by a shared_ptr.
class OutputReader : public std::enable_shared_from_this<OutputReader> {
 public:
  using Sink = std::function<loop::Task<>(job::Lines)>;

  OutputReader(loop::Loop& loop, Fd pipe, int rank, job::Stream stream);

  /// Ends when every writer of the pipe is gone and the last line has been taken. An unfinished
  /// line is given as a part after 200 ms in which nothing came.
  loop::Task<> run(Sink sink, LastWords& words);

 private:
  loop::Task<> watch_quiet();

  loop::Loop& loop_;
  Fd pipe_;
  loop::Watch watch_;
  loop::Timer quiet_timer_;
  int rank_;
  job::Stream stream_;
  LineSplitter splitter_;
  TimePoint quiet_at_;
  bool watching_quiet_ = false;
  bool waiting_ = false;
  bool quiet_ = false;
  bool ended_ = false;
};

}  // namespace muster::supervise
