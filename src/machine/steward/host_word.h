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

/// What a host says on its steward's stream, as its journal may hold it
/// (docs/protocols/steward.md). Anything in the host can write there, so a host is believed about
/// itself, and about nothing else: not about another host's processes, nor in the words that are
/// its steward's or muster's. Pure.
class HostWord {
 public:
  /// Outcomes and verdicts of one host in its journal, all together; lines have the journal's
  /// limit.
  static constexpr std::size_t bytes_max = 16u << 20;

  /// `hosts`: the names of all hosts of the job.
  HostWord(std::string host, std::vector<std::string> hosts)
      : host_(std::move(host)), hosts_(std::move(hosts)) {}

  /// The payload to keep of a frame, in our own form and of bounded length; none for what a host
  /// does not say. Error: `protocol` for what it may not say so, in one line.
  Result<std::optional<std::string>> taken(const Frame& frame);

 private:
  Result<std::optional<std::string>> word(const Frame& frame, bool of_the_job);
  Result<std::optional<std::string>> mark(const Frame& frame);
  Result<std::optional<std::string>> health(const Frame& frame);

  std::string host_;
  std::vector<std::string> hosts_;
  std::size_t bytes_ = 0;
  std::set<job::Mark> marked_;
  std::set<std::string> health_told_;  ///< Hosts that there is a record of.
};

}  // namespace muster::steward
