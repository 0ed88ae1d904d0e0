#include "os/unwind/snapshot.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace muster::unwind {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::size_t pages_max = 256;
/// More of a stack than this is read while its thread goes on: the outer calls change least.
constexpr std::size_t stack_bytes_max = 256u << 10;
/// All copies of one call; those who come later have less of their stacks copied.
constexpr std::size_t copies_bytes_max = 256u << 20;
/// What a function may use below the stack pointer (System V ABI, AMD64 supplement, 3.2.2).
constexpr std::uint64_t red_zone_bytes = 128;
constexpr std::size_t proc_file_bytes_max = 64u << 10;
/// Threads that are stopped at one time at most, so that none waits long for its turn.
constexpr std::size_t batch = 64;
constexpr int priority = -20;
/// A stop without a notification is found after this time.
constexpr std::chrono::milliseconds look_again{20};
/// For each batch, whatever those before it took.
constexpr std::chrono::milliseconds batch_min{50};

Fd open_memory(pid_t pid) {
  return Fd(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
}

/// The bytes at `address`, as many as there are.
std::size_t read_some(int memory, std::uint64_t address, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(memory, to.data() + done, to.size() - done, static_cast<off_t>(address + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::uint64_t stack_at(const Registers& registers) {
  const std::uint64_t stack = registers.values[Registers::rsp];
  return stack < red_zone_bytes ? 0 : stack - red_zone_bytes;
}

std::string task_file(ThreadId thread, const char* name) {
  const std::string path = "/proc/" + std::to_string(thread.process) + "/task/" +
                           std::to_string(thread.thread) + "/" + name;
  return read_file(path, proc_file_bytes_max).value_or("");
}

std::optional<std::uint64_t> address_from(std::string_view word) {
  std::uint64_t value = 0;
  if (!word.starts_with("0x")) return std::nullopt;
  const auto read = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

/// How often a thread was taken from its processor: alike twice, it has not run in between.
std::string switches_of(ThreadId thread) {
  const std::string status = task_file(thread, "status");
  return status.substr(std::min(status.find("voluntary_ctxt_switches"), status.size()));
}

#if defined(__x86_64__)
/// In the order of DWARF's numbers.
std::array<std::uint64_t, Registers::count> in_order(const user_regs_struct& regs) {
  return {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp, regs.rsp, regs.r8,
          regs.r9,  regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15, regs.rip};
}

std::optional<Registers> registers_of(pid_t thread) {
  user_regs_struct regs{};
  iovec place{&regs, sizeof regs};
  if (::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &place) != 0) return std::nullopt;
  // The kernel writes fewer bytes of a program of 32 bits.
  if (place.iov_len != sizeof regs) return std::nullopt;
  Registers registers;
  registers.values = in_order(regs);
  registers.known.set();
  return registers;
}

using Vectors = user_fpregs_struct;

std::optional<Vectors> vectors_of(pid_t thread) {
  Vectors vectors{};
  iovec place{&vectors, sizeof vectors};
  if (::ptrace(PTRACE_GETREGSET, thread, NT_PRFPREG, &place) != 0) return std::nullopt;
  return vectors;
}

std::uint64_t number_of(const Vectors& vectors) {
  std::uint64_t hash = 1;
  for (const unsigned int word : vectors.xmm_space) hash = (hash ^ word) * 0x100000001b3;
  for (const unsigned int word : vectors.st_space) hash = (hash ^ word) * 0x100000001b3;
  return hash | 1;
}
#else
// Neither the registers' order nor the rules of call frames of other processors are known here.
std::optional<Registers> registers_of(pid_t) {
  return std::nullopt;
}

struct Vectors {};
std::optional<Vectors> vectors_of(pid_t) {
  return std::nullopt;
}
std::uint64_t number_of(const Vectors&) {
  return 0;
}
#endif

/// Stops threads of which it is the only tracer. To be used by one thread, whose end lets go of
/// all that have not stopped.
class Stopping {
 public:
  Stopping(std::vector<Stopped>& all, std::size_t& room) : all_(all), room_(room) {}

  void run(std::size_t first, std::size_t end, SteadyClock::time_point deadline) {
    for (std::size_t i = first; i < end; ++i) open(all_[i].thread.process);
    deadline = std::max(deadline, SteadyClock::now() + batch_min);
    for (std::size_t i = first; i < end; ++i) ask(i);
    while (!asked_.empty()) {
      take_stopped();
      const auto left = deadline - SteadyClock::now();
      if (asked_.empty() || left <= SteadyClock::duration(0)) break;
      await_child(std::min<SteadyClock::duration>(left, look_again));
    }
    for (const auto& [thread, at] : asked_) all_[at].trouble = "it did not stop in time";
    asked_.clear();
  }

 private:
  void open(pid_t process) {
    if (!memories_.contains(process)) memories_[process] = open_memory(process);
  }

  void ask(std::size_t at) {
    const pid_t thread = all_[at].thread.thread;
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 ||
        ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0)
      all_[at].trouble = errno_text("ptrace");
    else
      asked_[thread] = at;
  }

  static void await_child(SteadyClock::duration left) {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    ::sigtimedwait(&child, nullptr, &time);
  }

  void take_stopped() {
    int status = 0;
    pid_t thread = 0;
    while ((thread = ::waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG)) > 0) {
      const auto found = asked_.find(thread);
      if (found == asked_.end()) continue;
      Stopped& stopped = all_[found->second];
      if (WIFSTOPPED(status))
        take(thread, status, stopped);
      else
        stopped.trouble = "it has ended";
      asked_.erase(found);
    }
  }

  /// Nothing is done here for which the thread need not stand still.
  void take(pid_t thread, int status, Stopped& stopped) {
    const std::optional<Registers> registers = registers_of(thread);
    const std::optional<Vectors> vectors = vectors_of(thread);
    std::size_t bytes = 0;
    if (registers)
      bytes = read_some(memories_[stopped.thread.process].get(), stack_at(*registers),
                        std::span(stack_).first(std::min(stack_.size(), room_)));
    // One that was about to get a signal gets it now.
    const bool is_ours = status >> 16 == PTRACE_EVENT_STOP;
    const long signal = is_ours ? 0 : WSTOPSIG(status);
    ::ptrace(PTRACE_DETACH, thread, nullptr, reinterpret_cast<void*>(signal));
    if (!registers) {
      stopped.trouble = "its registers are not those of an x86-64 program";
      return;
    }
    const auto end = stack_.begin() + static_cast<std::ptrdiff_t>(bytes);
    stopped.snapshot = {
        *registers, stack_at(*registers), {stack_.begin(), end}, vectors ? number_of(*vectors) : 0};
    room_ -= bytes;
  }

  std::vector<Stopped>& all_;
  std::map<pid_t, Fd> memories_;
  std::map<pid_t, std::size_t> asked_;
  std::vector<std::uint8_t> stack_ = std::vector<std::uint8_t>(stack_bytes_max);
  std::size_t& room_;  ///< For copies of all stacks.
};

}  // namespace

struct ProcessMemory::Pages {
  Fd memory;
  std::unordered_map<std::uint64_t, std::array<std::uint8_t, page_bytes>> kept;
};

ProcessMemory::ProcessMemory(pid_t pid) : pages_(std::make_unique<Pages>()) {
  pages_->memory = open_memory(pid);
}

ProcessMemory::~ProcessMemory() = default;

bool ProcessMemory::read(std::uint64_t address, std::span<std::uint8_t> to) {
  if (address + to.size() < address || address + to.size() > std::uint64_t{1} << 62) return false;
  std::size_t done = 0;
  while (done < to.size()) {
    const std::uint64_t page = (address + done) / page_bytes;
    const std::size_t begin = static_cast<std::size_t>((address + done) % page_bytes);
    auto found = pages_->kept.find(page);
    if (found == pages_->kept.end()) {
      if (pages_->kept.size() >= pages_max) pages_->kept.clear();
      std::array<std::uint8_t, page_bytes> bytes{};
      if (read_some(pages_->memory.get(), page * page_bytes, bytes) != page_bytes) return false;
      found = pages_->kept.emplace(page, bytes).first;
    }
    const std::size_t count = std::min(to.size() - done, page_bytes - begin);
    std::memcpy(to.data() + done, found->second.data() + begin, count);
    done += count;
  }
  return true;
}

bool SnapshotMemory::read(std::uint64_t address, std::span<std::uint8_t> to) {
  const std::uint64_t offset = address - snapshot_.stack_at;
  if (address < snapshot_.stack_at || offset > snapshot_.stack.size() ||
      to.size() > snapshot_.stack.size() - offset)
    return process_.read(address, to);
  std::memcpy(to.data(), snapshot_.stack.data() + offset, to.size());
  return true;
}

std::optional<Snapshot> look_at_sleeper(ThreadId thread) {
  // NUMBER ARGUMENT… SP PC of a system call, "-1 SP PC" of what waits otherwise, or "running".
  const std::string call = task_file(thread, "syscall");
  const std::string switches = switches_of(thread);
  const std::vector<std::string> words = split_words(call);
  if (words.size() < 3 || switches.empty()) return std::nullopt;
  const std::optional<std::uint64_t> stack = address_from(words[words.size() - 2]);
  const std::optional<std::uint64_t> pc = address_from(words.back());
  if (!stack || !pc) return std::nullopt;
  Snapshot snapshot;
  snapshot.registers.set(Registers::rsp, *stack);
  snapshot.registers.set(Registers::pc, *pc);
  snapshot.stack_at = stack_at(snapshot.registers);
  snapshot.stack.resize(stack_bytes_max);
  snapshot.stack.resize(
      read_some(open_memory(thread.process).get(), snapshot.stack_at, snapshot.stack));
  if (task_file(thread, "syscall") != call || switches_of(thread) != switches) return std::nullopt;
  return snapshot;
}

std::vector<Stopped> stop_and_look(const std::vector<ThreadId>& threads,
                                   std::chrono::milliseconds limit) {
  std::vector<Stopped> all;
  for (const ThreadId& each : threads) all.push_back({.thread = each});
  sigset_t child, before;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, &before);
  // An event loop's handler does not request notifications about stopped children. With SIGCHLD
  // blocked, the default handler is set, and they arrive.
  struct sigaction told {
  }, handler{};
  told.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &told, &handler);
  std::size_t room = copies_bytes_max;
  const SteadyClock::time_point deadline = SteadyClock::now() + limit;
  for (std::size_t at = 0; at < all.size(); at += batch)
    std::thread([&] {
      // Where it may: it is not to be kept from running while others stand still for it.
      ::setpriority(PRIO_PROCESS, 0, priority);
      Stopping(all, room).run(at, std::min(at + batch, all.size()), deadline);
    }).join();
  ::sigaction(SIGCHLD, &handler, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return all;
}

}  // namespace muster::unwind
