#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/unwind/memory.h"
#include "os/unwind/registers.h"

namespace muster::unwind {

/// The memory of a running process, which continues meanwhile. Caches pages that were read, at most
/// 256.
class ProcessMemory final : public Memory {
 public:
  explicit ProcessMemory(pid_t pid);
  ~ProcessMemory() override;
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override;

 private:
  struct Pages;
  std::unique_ptr<Pages> pages_;
};

/// A thread's registers and stack at one moment.
struct Snapshot {
  Registers registers;
  std::uint64_t stack_at = 0;
  std::vector<std::uint8_t> stack;  ///< From a little below the stack pointer on.
  std::uint64_t vectors = 0;        ///< A number of what vector registers hold; 0: not known.
};

/// The memory of a process with a thread's stack as it was.
class SnapshotMemory final : public Memory {
 public:
  SnapshotMemory(const Snapshot& snapshot, Memory& process)
      : snapshot_(snapshot), process_(process) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override;

 private:
  const Snapshot& snapshot_;
  Memory& process_;
};

struct ThreadId {
  pid_t process = 0;
  pid_t thread = 0;
  bool operator==(const ThreadId&) const = default;
};

/// Looks at a thread that waits in the kernel, without stopping it: the kernel reports its stack
/// pointer and program counter, but no other registers. None: it runs, or ran meanwhile.
std::optional<Snapshot> look_at_sleeper(ThreadId thread);

/// What became of a thread that was to be stopped.
struct Stopped {
  ThreadId thread;
  std::optional<Snapshot> snapshot{};
  std::string trouble{};  ///< Why there is no snapshot.
};

/// Stops each thread, takes its registers and stack, and lets it go at once; a thread that was
/// stopped before stays so. Those that do not stop by `limit` (they wait in the kernel for what
/// cannot be interrupted, or others keep them from running) are let go, too; the last of many
/// threads have a moment more. Were this process to
/// die meanwhile, the kernel would let all of them go.
///
/// Blocks. No child of this process may be waited for elsewhere at the same time; SIGCHLD is taken.
std::vector<Stopped> stop_and_look(const std::vector<ThreadId>& threads,
                                   std::chrono::milliseconds limit);

}  // namespace muster::unwind
