#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/doctor.h"
#include "engine/slurm/queries.h"
#include "engine/slurm/settings.h"
#include "platform/places/slurm_cluster.h"

namespace muster::cli {

/// What a submit host finds out of its cluster.
struct SlurmFacts {
  std::string no_settings{};  ///< Why `scontrol show config` says nothing; empty: it does.
  slurm::Settings settings{};
  std::string no_trial{};  ///< Why Slurm would take no job from this user; empty: it would.
  std::string no_nodes{};  ///< Why `sinfo` says nothing; empty: it does.
  std::vector<slurm::Node> nodes{};
  std::vector<slurm::Partition> partitions{};
  std::string address{};  ///< By which the way to the first node leaves here; empty: none does.
  /// What nodes said to --probe, and when they were asked and had answered, since 1970.
  std::optional<std::vector<slurm::NodeWord>> words{};
  std::string no_words{};
  double asked = 0;
  double answered = 0;
};

/// Whether jobs can run there, and what bears on them. Pure.
std::vector<Finding> findings(const SlurmFacts& facts);

struct DoctorWishes {
  bool probe = false;  ///< Free nodes are asked, too: a job of a few seconds.
  bool json = false;
};
/// `sm doctor --engine slurm`. The exit code.
int doctor_slurm(const Env& env, const places::SlurmCluster& cluster, DoctorWishes wishes);

}  // namespace muster::cli
