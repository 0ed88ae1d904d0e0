#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace muster::steward {

/// The owner of a process of this machine, as a host's steward sees it.
struct ProcessOwner {
  enum class Kind {
    unknown,  ///< The process has ended unseen, or its number is of other pid namespaces.
    host,
    outside,  ///< Not the host's.
  };
  Kind kind = Kind::unknown;
  int rank = -1;  ///< The rank whose program it is, or runs below; -1: none that was noted.

  bool operator==(const ProcessOwner&) const = default;
};

/// The processes of one host, by the pids that the machine's kernel and GPU driver report. Reads
/// /proc.
class HostProcesses {
 public:
  /// `init`: the host's first process.
  explicit HostProcesses(pid_t init) : init_(init) {}

  /// A rank's program has started, with this number in the host's pid namespace. The host's own
  /// word: only processes of the host are ever found by it. At most 4,096 at a time.
  void note(int rank, std::int64_t pid);
  /// Finds the programs noted since the last look among the host's processes.
  void look();

  /// True if a program of this rank was ever found.
  bool knows(int rank) const { return ranks_.contains(rank); }

  /// Also of a noted program that has ended.
  ProcessOwner owner_of(std::int64_t pid) const;
  /// "rank 3" (also by its launcher's variables), "process 12 of the host" (as the host counts),
  /// "process 4711 outside the job", "another user's process".
  std::string name_of(std::int64_t pid) const;

 private:
  pid_t init_;
  std::map<std::int64_t, int> noted_;       ///< Ranks, by the number in the host.
  std::map<std::int64_t, int> programs_{};  ///< Ranks, by the machine's number.
  std::set<int> ranks_{};
};

/// True if this process counts pids as the machine's kernel does: it is in the first pid namespace.
bool counts_as_machine();

}  // namespace muster::steward
