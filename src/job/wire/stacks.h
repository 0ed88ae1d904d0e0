#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "job/wire/flight_record.h"
#include "job/wire/nccl_report.h"

namespace muster::job {

/// One function call on the stack of a thread.
struct StackFrame {
  std::string function;
  std::string file;  ///< The source file; of a native call the library; may be empty.
  int line = 0;      ///< 0: not known.

  bool operator==(const StackFrame&) const = default;
};

/// The stack of one thread.
struct ThreadStack {
  std::string name;
  bool runs = false;              ///< On a processor, or ready to be.
  std::vector<StackFrame> calls;  ///< The innermost first.
  /// With Calls::moves, of native calls: a number of the calls that it was in at each of several
  /// looks, but for what waits for others and what that calls; 0: not known.
  std::int64_t place = 0;
  std::int64_t state = 0;  ///< A number of what these calls hold; 0: not known, or it changes.

  bool operator==(const ThreadStack&) const = default;
};

/// One process of a host with the stacks of its threads.
struct ProcessStacks {
  std::int64_t pid = 0;     ///< As the host counts.
  std::int64_t parent = 0;  ///< As the host counts; 0: not among the listed ones.
  int rank = -1;            ///< As its environment says; -1: none.
  /// "ps 1", "scheduler": as its environment says, for a process without a rank; empty: none.
  std::string task;
  std::string command;       ///< The arguments, shortened.
  std::string waits_in;      ///< The kernel's function that its first thread waits in; empty: none.
  std::int64_t started = 0;  ///< Ticks since the machine's start: distinguishes reused pids.
  std::int64_t cpu_ms = 0;   ///< Used since its start, all threads.
  std::int64_t io_bytes = 0;         ///< Read and written since its start, by system calls.
  std::int64_t faults = 0;           ///< Pages of memory that it was given since its start.
  bool moves = false;                ///< Went on a moment later, by more than a line and back.
  bool stopped = false;              ///< By SIGSTOP or its like, until SIGCONT.
  std::string trouble;               ///< Why there are no calls; empty: there are.
  std::vector<ThreadStack> threads;  ///< The first one first, where that is known.

  bool operator==(const ProcessStacks&) const = default;
  /// A process that a launcher started, not one of those around it.
  bool is_member() const { return rank >= 0 || !task.empty(); }
};

/// True if a thread is in the same call as before, on any line of it. Outside of that call, lines
/// count. Native calls are compared by `place` and `state` if both are known.
bool same_place(const ThreadStack& before, const ThreadStack& after);

/// How many of a thread's native calls, innermost first, belong to a call that waits for other
/// ranks. A change within them is not progress of the thread. 0: the thread does not wait in such a
/// call.
std::size_t calls_that_wait(const std::vector<StackFrame>& calls);

/// The stacks of one host: all its processes except muster's own.
struct HostStacks {
  std::string host;
  std::vector<ProcessStacks> processes;
  std::int64_t net_bytes = -1;    ///< Sent and received by the host since its start; -1: not known.
  std::string trouble;            ///< Why there are no processes, or not all; empty: all is there.
  NcclReport nccl{};              ///< About all ranks of its communicators, also on other hosts.
  std::vector<Flight> flights{};  ///< The host's own ranks.

  bool operator==(const HostStacks&) const = default;
};

/// What is wanted of a host.
enum class Calls {
  python,  ///< Python's calls.
  native,  ///< Calls of other languages below them, too.
  moves,   ///< Python's calls, and of what runs, ProcessStacks::moves.
};
/// "python", "native", "moves"; in a message as {calls}.
const char* calls_name(Calls calls);
/// The message {calls}; an invalid value requests Python's calls.
std::string encode(Calls calls);
Calls calls_from(std::string_view payload);

// More than these are left out, and HostStacks::trouble says so.
constexpr std::size_t stack_processes_max = 256;  ///< A host's.
constexpr std::size_t stack_threads_max = 64;     ///< A process's.
constexpr std::size_t stack_calls_max = 100;      ///< A thread's innermost.
constexpr std::size_t stack_text_bytes_max = 200;
constexpr std::size_t host_stacks_bytes_max = 1u << 20;  ///< encode()'s answer.

/// docs/protocols/stacks.md. Processes that have no room are left out, the last first.
std::string encode(const HostStacks& stacks);
/// Error: `protocol`.
Result<HostStacks> host_stacks_from(std::string_view payload);

Json to_json(const HostStacks& stacks);
Result<HostStacks> host_stacks_from_json(const Json& json);

/// All hosts of a job: {job, hosts}. Beyond 3 MiB, hosts are listed without their processes.
Json to_json(const std::string& job, const std::vector<HostStacks>& hosts);
/// The hosts of such a job. Error: `protocol`.
Result<std::vector<HostStacks>> job_stacks_from_json(const Json& json);

}  // namespace muster::job
