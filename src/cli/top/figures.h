#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/table.h"
#include "job/wire/usage.h"

namespace muster::cli {

/// What the hosts of a running job use.
struct JobFigures {
  std::string job;
  bool is_local = false;  ///< Whether it is a job of this machine, not of a server.
  std::vector<job::HostUsage> hosts{};
};

/// What a host uses in the mean of the time between two answers; none: not known (yet).
struct Rates {
  std::optional<double> processors;  ///< How many were busy.
  std::optional<double> disk_read;   ///< Bytes per second, as all that follow.
  std::optional<double> disk_written;
  std::optional<double> network_in;
  std::optional<double> network_out;
};
/// None of a host that was restarted in between. Pure.
Rates rates_between(const job::HostUsage& before, const job::HostUsage& now);

/// Running jobs as `sm top` shows them: pure, but for what it remembers of the last answers.
class Figures {
 public:
  /// The present answers, in place of the last ones.
  void take(std::vector<JobFigures> jobs);

  /// Every host has been asked at least twice, and every card's driver has reported; of traffic,
  /// which many do not report, only for the first few answers.
  bool is_whole() const;
  /// Two tables, of hosts and, if there are any, of cards. Columns that `columns` has no room for
  /// are left out, the last first; 0: there is room for all. `rows`: how many lines at most, of
  /// which the last says how many are left out; 0: all.
  std::string text(std::size_t columns, std::size_t rows) const;
  /// docs/users/gpus.md, "sm top".
  Json to_json(UnixMillis now) const;

 private:
  struct Seen {
    job::HostUsage last;
    std::optional<Rates> rates;
  };
  const Seen& of(const JobFigures& job, const job::HostUsage& host) const;
  std::vector<TableRow> host_rows() const;
  std::vector<TableRow> gpu_rows() const;

  std::vector<JobFigures> jobs_;
  int answers_ = 0;
  std::map<std::pair<std::string, std::string>, Seen> seen_;  ///< By job and host.
};

/// "1.5 GiB"; three digits. Pure.
std::string bytes_text(double bytes);

}  // namespace muster::cli
