#pragma once

#include <string>
#include <vector>

#include "job/wire/stacks.h"

namespace muster::platform {

/// One thread of a job, and its place.
struct Stander {
  /// Other threads and child processes of a rank have separate trees.
  enum class Kind { main_thread, other_thread, child };
  Kind kind = Kind::main_thread;
  int rank = -1;     ///< -1: none; then `name` says who.
  std::string name;  ///< "ps 1 on algo-2", "algo-2", "algo-2: python worker.py".
  std::string host;
  std::string task;  ///< As ProcessStacks.
  bool runs = false;
  bool stopped = false;  ///< As ProcessStacks.
  std::string waits_in;  ///< As ProcessStacks.
  /// The outermost first, as far as to a call that waits for others (job::calls_that_wait). Empty:
  /// `trouble` says why.
  std::vector<job::StackFrame> calls;
  std::string trouble;
};

/// The threads of all hosts' ranks and tasks, by rank; in a job without either of all its
/// processes.
std::vector<Stander> standers_of(const std::vector<job::HostStacks>& hosts);

/// Threads at one place.
struct StackGroup {
  std::vector<job::StackFrame> calls;  ///< The outermost first.
  std::vector<std::size_t> who;        ///< Places in what was grouped.
};
/// The threads of `kind`, grouped by place, the largest group first. Threads with the same calls
/// form one group, even if the lines of outer calls differ.
std::vector<StackGroup> group(const std::vector<Stander>& all, Stander::Kind kind);

/// Indices in `all` of main threads that differ from most. If some but not all processes are
/// stopped, these are the ones: the others wait for them forever. Otherwise, those elsewhere than
/// the majority; empty without a majority.
std::vector<std::size_t> odd_ones(const std::vector<Stander>& all);
/// "stopped by a signal", "stuck elsewhere than most".
const char* why_odd(const Stander& odd);

/// "ranks 0-2,5", "rank 3", "algo-1, algo-2": at most eight names.
std::string names_of(const std::vector<Stander>& all, const std::vector<std::size_t>& who);

/// "4 ranks on 2 hosts, at 2 places".
std::string stack_headline(const std::vector<job::HostStacks>& hosts);

/// The ranks that wait for their GPUs and, if NCCL says, for what: "ranks 0-3 wait for the GPU, in
/// a collective operation that not all ranks have started". Empty: none waits in such a call.
std::string gpu_wait_text(const std::vector<job::HostStacks>& hosts);

/// All stacks as one tree of calls for people, the outermost call first; `odd_ones` marked, and
/// what NCCL says. Lines end in a newline. What a job wrote is in it as it came.
std::string stack_text(const std::vector<job::HostStacks>& hosts);

}  // namespace muster::platform
