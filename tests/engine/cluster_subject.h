#pragma once

#include "engine/cluster/slurm_engine.h"
#include "steward_subject.h"

namespace muster::contract {

/// The engine of a Slurm cluster, on a machine of a real one (tools/slurm-cluster), with its links
/// and `sm node` on its nodes: only the stewards are stand-ins. Nodes have the test's folder, too,
/// but what hosts write and leave is on their nodes, and comes back by the links.
class ClusterSubject final : public StewardSubject {
 public:
  ClusterSubject();
  ClusterSubject(const ClusterSubject&) = delete;
  ClusterSubject& operator=(const ClusterSubject&) = delete;
  ~ClusterSubject() override;

  engine::Engine& engine() override { return *engine_; }
  void restart() override;
  void leaves(const std::string& host, const std::string& path, const std::string& text) override;
  void kills(const std::string& host) override { order(host, "die"); }
  void cut_short(const job::Spec& spec) override;

 private:
  void append(const std::string& host, const std::string& bytes) override;
  /// A file for a steward to take.
  std::string file_of(const std::string& bytes);

  int files_ = 0;
  std::unique_ptr<cluster::SlurmEngine> engine_;
};

}  // namespace muster::contract
