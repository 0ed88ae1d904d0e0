#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "job/outcome/outcome.h"
#include "job/wire/mark.h"

namespace muster::steward {

/// Checks a host's messages on its steward's stream before they are stored in the journal
/// (docs/protocols/steward.md). Every process in the host can write there. So a host is trusted
/// only about itself: not about other hosts' processes, and not in messages that only the steward
/// or muster may send. Pure.
class HostWord {
 public:
  /// The limit for all outcomes and verdicts of one host in its journal; lines have the journal's
  /// limit.
  static constexpr std::size_t bytes_max = 16u << 20;

  /// `hosts`: the names of all hosts of the job.
  HostWord(std::string host, std::vector<std::string> hosts)
      : host_(std::move(host)), hosts_(std::move(hosts)) {}

  /// The payload of a frame to store, rewritten and of bounded length; none for messages that hosts
  /// do not send. Error: `protocol`, in one line, for a message that is not allowed.
  Result<std::optional<std::string>> taken(const Frame& frame);

 private:
  Result<std::optional<std::string>> word(const Frame& frame, bool of_the_job);
  Result<std::optional<std::string>> mark(const Frame& frame);
  Result<std::optional<std::string>> health(const Frame& frame);

  std::string host_;
  std::vector<std::string> hosts_;
  std::size_t bytes_ = 0;
  std::set<job::Mark> marked_;
  std::set<std::string> health_told_;  ///< Hosts with a stored record.
};

}  // namespace muster::steward
