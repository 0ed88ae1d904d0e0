#include "machine/sampler/native.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "machine/sampler/looks.h"
#include "machine/sampler/processes.h"
#include "os/unwind/process.h"

namespace muster::sampler {
namespace {

/// One that is kept from running by others stops when it runs next.
constexpr std::chrono::milliseconds stop_max{2000}, stop_again_max{100};
/// Who has not run enough by then is kept from it by others.
constexpr std::chrono::seconds looks_max{5};
/// A loop that waits goes round with few states of its registers; one that computes counts.
constexpr std::size_t states_of_an_empty_loop = 5;

/// A thread over several looks.
struct Trace {
  std::optional<std::vector<job::StackFrame>> common;  ///< The outer calls that it was always in.
  std::set<std::uint64_t> states;
};

std::uint64_t hash_of(std::vector<job::StackFrame>::const_iterator at,
                      std::vector<job::StackFrame>::const_iterator end) {
  std::uint64_t hash = 0;
  for (; at != end; ++at)
    hash = (hash ^ std::hash<std::string>()(at->function)) * 0x9e3779b97f4a7c15 + 1;
  return hash;
}

/// As job::ThreadStack has them: positive, and never 0.
std::int64_t as_number(std::uint64_t hash) {
  return static_cast<std::int64_t>(hash >> 1 | 1);
}

/// Keeps the common end of two lists.
void keep_common(std::vector<job::StackFrame>& common, const std::vector<job::StackFrame>& other) {
  std::size_t count = 0;
  while (count < std::min(common.size(), other.size()) &&
         common[common.size() - 1 - count] == other[other.size() - 1 - count])
    ++count;
  common.erase(common.begin(), common.end() - static_cast<std::ptrdiff_t>(count));
}

/// Frames outside of main(), which start a program, are left out. main() itself may be missing if
/// its last call was a jump.
std::vector<job::StackFrame> calls_of(std::vector<unwind::NamedCall> names) {
  std::vector<job::StackFrame> calls;
  for (unwind::NamedCall& each : names) {
    if (each.function.starts_with("__libc_start_") || each.function == "_start") break;
    calls.push_back({std::move(each.function), std::move(each.file)});
    if (calls.back().function == "main") break;
  }
  return calls;
}

}  // namespace

struct NativeLook::One {
  pid_t pid = 0;
  NativeProcess found;
  std::vector<FoundThread> threads;
  std::vector<Trace> traces;
  std::unique_ptr<unwind::Process> process;  ///< The state at this look.
  bool is_settled = false;
  bool is_due = true;  ///< To be looked at: it has run since the last look.
  int looks = 0;       ///< Before which it had run.
  int rounds = 0;
  std::chrono::nanoseconds ran{};

  void begin_look(unwind::Files& files) {
    process = std::make_unique<unwind::Process>(pid, files);
    threads = threads_of(pid);
    threads.resize(std::min(threads.size(), job::stack_threads_max));
  }
  unwind::ThreadId id(std::size_t at) const { return {pid, threads[at].id}; }

  void take_calls(std::size_t at, const unwind::Walk& walk) {
    found.threads[at].stack.calls = calls_of(process->names(walk));
  }
  void add_look(std::size_t at, const unwind::Snapshot& snapshot, const unwind::Walk& walk) {
    Trace& trace = traces[at];
    std::vector<job::StackFrame> calls = calls_of(process->names(walk));
    const std::size_t waiting = job::calls_that_wait(calls);
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(waiting));
    trace.states.insert(process->state(walk, waiting, snapshot) ^
                        hash_of(calls.begin(), calls.end()));
    if (trace.common)
      keep_common(*trace.common, calls);
    else
      trace.common = std::move(calls);
  }
  /// What several looks say of a process that has run between them.
  void settle() {
    is_settled = true;
    found.moves = looks < looks_again;
    for (std::size_t i = 0; i < traces.size(); ++i) {
      const Trace& trace = traces[i];
      if (trace.states.size() > states_of_an_empty_loop) found.moves = true;
      if (!trace.common || trace.common->empty()) continue;
      job::ThreadStack& stack = found.threads[i].stack;
      stack.place = as_number(hash_of(trace.common->begin(), trace.common->end()));
      stack.state = trace.states.size() == 1 ? as_number(*trace.states.begin()) : 0;
    }
  }
};

struct NativeLook::State {
  unwind::Files files;
  std::vector<One> all;
  TimePoint began = Clock::now();

  struct Wanted {
    One* one = nullptr;
    std::size_t at = 0;
  };

  /// Looks at all threads that are not settled yet, and passes on the calls of each.
  template <class Take>
  void look(bool is_first, const Take& take) {
    std::vector<Wanted> wanted;
    std::vector<unwind::ThreadId> running;
    for (One& one : all) {
      if (one.is_settled || !one.is_due) continue;
      for (std::size_t i = 0; i < one.threads.size(); ++i) {
        if (!one.threads[i].runs) {
          const std::optional<unwind::Snapshot> snapshot = unwind::look_at_sleeper(one.id(i));
          const unwind::Walk walk = snapshot ? one.process->walk(*snapshot) : unwind::Walk();
          if (snapshot && (!walk.needs_registers || !is_first)) {
            take(one, i, *snapshot, walk);
            continue;
          }
          if (snapshot) one.take_calls(i, walk);  // More, if it can be stopped.
        }
        wanted.push_back({&one, i});
        running.push_back(one.id(i));
      }
    }
    const std::vector<unwind::Stopped> stopped =
        unwind::stop_and_look(running, is_first ? stop_max : stop_again_max);
    for (std::size_t i = 0; i < stopped.size(); ++i) {
      One& one = *wanted[i].one;
      if (stopped[i].snapshot)
        take(one, wanted[i].at, *stopped[i].snapshot, one.process->walk(*stopped[i].snapshot));
      else if (is_first)
        one.found.trouble = stopped[i].trouble;
    }
  }
};

NativeLook::NativeLook(std::vector<pid_t> processes) : state_(std::make_unique<State>()) {
  for (const pid_t pid : processes) state_->all.emplace_back().pid = pid;
}

NativeLook::~NativeLook() = default;

void NativeLook::first() {
  for (One& one : state_->all) {
    one.begin_look(state_->files);
    for (const FoundThread& each : one.threads) {
      NativeThread& thread = one.found.threads.emplace_back();
      thread.number = each.number;
      thread.stack.name = each.name;
      thread.stack.runs = each.runs;
    }
    one.traces.resize(one.threads.size());
    one.ran = processor_time(one.pid);
  }
  state_->look(true, [](One& one, std::size_t at, const unwind::Snapshot& snapshot,
                        const unwind::Walk& walk) {
    one.take_calls(at, walk);
    one.add_look(at, snapshot, walk);
  });
  for (One& one : state_->all) {
    const auto has_calls = [](const NativeThread& each) { return !each.stack.calls.empty(); };
    const auto runs = [](const FoundThread& each) { return each.runs; };
    if (std::any_of(one.found.threads.begin(), one.found.threads.end(), has_calls))
      one.found.trouble.clear();
    else if (one.found.trouble.empty())
      one.found.trouble = "none of its calls could be read";
    // Threads that wait stay where they are.
    one.is_settled = std::none_of(one.threads.begin(), one.threads.end(), runs);
  }
}

void NativeLook::again() {
  for (One& one : state_->all) {
    if (one.is_settled) continue;
    const std::chrono::nanoseconds now = processor_time(one.pid);
    one.is_due = now - one.ran >= ran_between;
    if (!one.is_due) continue;
    one.ran = now;
    ++one.looks;
    const std::vector<FoundThread> before = std::move(one.threads);
    one.begin_look(state_->files);
    const bool alike =
        std::equal(before.begin(), before.end(), one.threads.begin(), one.threads.end(),
                   [](const FoundThread& a, const FoundThread& b) { return a.id == b.id; });
    if (!alike) one.found.moves = one.is_settled = true;
  }
  state_->look(false, [](One& one, std::size_t at, const unwind::Snapshot& snapshot,
                         const unwind::Walk& walk) { one.add_look(at, snapshot, walk); });
  for (One& one : state_->all) {
    if (one.is_settled) continue;
    const bool is_over =
        ++one.rounds == looks_again_most || Clock::now() - state_->began > looks_max;
    if (is_over || one.looks == looks_again) one.settle();
  }
}

bool NativeLook::is_settled() const {
  return std::all_of(state_->all.begin(), state_->all.end(),
                     [](const One& one) { return one.is_settled; });
}

std::vector<NativeProcess> NativeLook::found() const {
  std::vector<NativeProcess> found;
  for (const One& one : state_->all) found.push_back(one.found);
  return found;
}

}  // namespace muster::sampler
