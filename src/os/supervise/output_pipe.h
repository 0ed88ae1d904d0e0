#pragma once

#include <functional>

#include "base/fd.h"
#include "job/outcome/lines.h"
#include "net/loop/wait.h"
#include "os/supervise/last_words.h"
#include "os/supervise/line_cutter.h"

namespace muster::supervise {

/// Reads one output pipe of a process to its end and gives its lines to a sink. The sink is
/// awaited: a sink that waits holds the process up, and nothing is lost or kept in between.
/// Outlives its run().
class OutputReader {
 public:
  using Sink = std::function<loop::Task<>(job::Lines)>;

  OutputReader(loop::Loop& loop, Fd pipe, int rank, job::Stream stream);

  /// Ends when every writer of the pipe is gone and the last line has been taken. An unfinished
  /// line is given as a part after 200 ms in which nothing came.
  loop::Task<> run(Sink sink, LastWords& words);

 private:
  Fd pipe_;
  loop::Watch watch_;
  int rank_;
  job::Stream stream_;
  LineSplitter splitter_;
};

}  // namespace muster::supervise
