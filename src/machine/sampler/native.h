#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "job/wire/stacks.h"

namespace muster::sampler {

/// The native calls of a thread.
struct NativeThread {
  std::int64_t number = 0;  ///< As its process's namespace counts.
  job::ThreadStack stack;   ///< Without calls: they could not be read.
};

/// The native calls of a process.
struct NativeProcess {
  std::vector<NativeThread> threads;  ///< The first one first; those beyond 64 are left out.
  std::string trouble;                ///< Why no thread has calls; empty: one has.
  bool moves = false;                 ///< As job::ProcessStacks, after several looks.
};

/// Finds the native calls of processes. Threads that wait are looked at as they are; those that
/// run, or whose registers are needed, are stopped, each for a moment
/// (docs/decisions/0058-native-stacks.md).
class NativeLook {
 public:
  explicit NativeLook(std::vector<pid_t> processes);
  ~NativeLook();
  NativeLook(const NativeLook&) = delete;
  NativeLook& operator=(const NativeLook&) = delete;

  /// Each blocks; no child of this process may be waited for meanwhile. `again()` is for `moves`:
  /// to be called every 20 ms or so until `is_settled()`.
  void first();
  void again();
  bool is_settled() const;
  /// In the order of the processes.
  std::vector<NativeProcess> found() const;

 private:
  struct One;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::sampler
