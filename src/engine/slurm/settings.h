#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "engine/slurm/submission.h"

namespace muster::slurm {

// Pure: how a cluster is set up, and what one of its nodes is like, from texts of Slurm's commands.

/// A cluster's settings, by the names that slurm.conf and cgroup.conf have.
using Settings = std::map<std::string, std::string, std::less<>>;

Args plan_settings();
/// "Name = value" lines; other lines are ignored, and so are settings beyond the first 2,000.
Settings settings_from(std::string_view text);
/// True if a plugin of the cluster may give jobs without a partition another one than the default.
/// Source: slurm.conf(5), JobSubmitPlugins and CliFilterPlugins.
bool may_route(const Settings& settings);
/// "30 sec", "300", "5 min"; none for anything else.
std::optional<std::chrono::seconds> seconds_in(std::string_view value);

/// What Slurm says of one partition.
Args plan_show_partition(const std::string& name);
/// The partition's GraceTime, for jobs whose nodes it takes away; none where that is not there.
std::optional<std::chrono::seconds> grace_time(std::string_view shown);

struct Partition {
  std::string name{};
  std::string state{};     ///< "up", "down", "drain", "inact".
  std::string time_max{};  ///< "infinite", "1-00:00:00"
  bool operator==(const Partition&) const = default;
};
Args plan_partitions();
/// Each once, in Slurm's order; malformed lines are ignored.
std::vector<Partition> partitions_from(std::string_view text);

/// Whether Slurm would take a job of one node from this user: `sbatch --test-only`. Error:
/// `invalid_input`, of check(Site).
Result<Args> plan_trial(const Site& site);

/// What a node says of itself.
struct NodeWord {
  std::string name{};
  double clock = 0;           ///< Seconds since 1970.
  std::int64_t free_kib = 0;  ///< In /tmp.
  bool user_namespaces = false;
  std::string cgroups{};  ///< The file system of /sys/fs/cgroup: "cgroup2fs" is version 2.
  std::string runc{};     ///< Paths; empty: not there.
  std::string python{};
};

/// Asks `nodes` nodes that are free, one task each, within 30 s. Error: as plan_trial().
Result<Args> plan_probe(const Site& site, int nodes);
std::vector<NodeWord> node_words_from(std::string_view text);

}  // namespace muster::slurm
