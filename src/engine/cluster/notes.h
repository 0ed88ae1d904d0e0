#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/chapter.h"
#include "engine/cluster/attempt.h"

namespace muster::cluster {

/// What opens the links of an attempt.
struct LinkKey {
  std::string nonce;
  std::string key;         ///< 32 bytes.
  std::uint16_t port = 0;  ///< Where its stewards call.

  bool operator==(const LinkKey&) const = default;
};

/// What a later engine must know about a job's latest attempt: `attempt.json` in the job's folder,
/// mode 0600 because it contains the key (docs/protocols/slurm-job.md).
struct AttemptNote {
  int number = 1;
  std::string nonce;                    ///< 16 hex digits.
  std::string key;                      ///< 32 bytes: the links' of this attempt.
  std::uint16_t port = 0;               ///< Where its stewards call.
  std::string slurm_id{};               ///< Empty: sbatch's answer has not come.
  std::vector<std::string> earlier{};   ///< Slurm's ids of earlier attempts' submissions.
  bool delivered = false;               ///< The job was brought to its nodes, or that was begun.
  std::string submitted{};              ///< The nonce of the attempt that sbatch was run for,
  std::string place{};                  ///< and its slurm::Submission::place and
  std::string word{};                   ///< word; both empty: an older muster's.
  std::vector<std::string> spares{};    ///< Standby nodes: "spare-1".
  std::vector<std::string> excluded{};  ///< Nodes that an earlier attempt broke on.
  engine::Chapters chapters{};
  /// The attempt is over, and its parts of the journals end here: the next one is about to begin.
  engine::Chapters ended{};
  engine::Tally tally{};          ///< Up to this attempt.
  std::vector<LinkKey> fenced{};  ///< Earlier attempts, whose stewards must be ordered to end.

  bool operator==(const AttemptNote&) const = default;
};

Result<void> write_note(const std::string& job_folder, const AttemptNote& note);
/// None if no attempt was started. Error: `protocol` for a malformed file.
Result<std::optional<AttemptNote>> read_note(const std::string& job_folder);

/// `hosts.json` in the job's folder: the state of its hosts in `attempt`.
Result<void> write_hosts(const std::string& job_folder, int attempt,
                         const std::vector<HostState>& states);
/// The hosts `names`; a host without a state in `attempt` has no node. Error: as above.
Result<std::vector<HostState>> read_hosts(const std::string& job_folder, int attempt,
                                          const std::vector<std::string>& names);

}  // namespace muster::cluster
