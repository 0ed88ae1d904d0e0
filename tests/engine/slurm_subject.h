#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cluster/slurm_engine.h"
#include "engine/linked/links.h"
#include "folder_subject.h"

namespace muster::contract {

/// Nodes of the cluster, which outlive engines: the messages of their links, in both directions.
class FakeNodes {
 public:
  struct Node {
    bool is_over = false;
    job::Outcome outcome{};
    Subject::Manner manner = Subject::Manner::obeys;
  };
  explicit FakeNodes(loop::Loop& loop) : loop_(loop) {}

  void expect(const cluster::ExpectedNodes& nodes);
  void ends(const std::string& host, job::Outcome outcome);
  void tell(cluster::LinkEvent event);
  void stop(const std::string& host, std::chrono::milliseconds grace);
  Node& node(const std::string& host) { return nodes_[host]; }
  void begin();
  loop::Task<> begun();
  const std::string& folder() const { return folder_; }

  Subject::Manner manner = Subject::Manner::obeys;  ///< Nodes that come from now on have it.
  bool is_cut_off = false;  ///< What hosts left is not brought any more, and no node comes back.
  std::shared_ptr<loop::Event> moved;
  std::vector<std::string> fenced;        ///< Nonces, by the engine that lives.
  std::deque<cluster::LinkEvent> events;  ///< For the one engine that lives.

 private:
  loop::Loop& loop_;
  std::string nonce_;
  bool begun_ = false;
  std::string folder_;
  std::map<std::string, Node> nodes_;
};

/// The engine of a Slurm cluster. Shell scripts stand in for Slurm's commands, which start every
/// job at once, and the test for its nodes; real ones: cluster_subject.h.
class SlurmSubject final : public FolderSubject {
 public:
  SlurmSubject();
  SlurmSubject(const SlurmSubject&) = delete;
  SlurmSubject& operator=(const SlurmSubject&) = delete;
  ~SlurmSubject() override;

  engine::Engine& engine() override { return *engine_; }
  void restart() override;
  void leaves(const std::string& host, const std::string& path, const std::string& text) override;
  void ends(const std::string& host, int code) override;
  void kills(const std::string& host) override { nodes_.ends(host, job::Outcome::signaled(9)); }
  void manner(Manner manner) override { nodes_.manner = manner; }
  loop::Task<> ready(std::string host) override;
  void cut_short(const job::Spec& spec) override;
  /// The job "demo" has it.
  std::string job_folder() const { return folder() + "/state/slurm/jobs/demo"; }
  /// Slurm knows of no job any more.
  void forget_submissions();
  /// Engines from the next one on wait so long for the nodes of a job that is brought.
  void waits_for_nodes(Duration most) { times_.join_max = most; }
  /// Nodes tell how their hosts end, and nothing more.
  void cuts_off() { nodes_.is_cut_off = true; }
  /// Slurm takes no job any more.
  void refuses_submissions();
  /// What `scontrol show config` says; nothing without this.
  void configured(const std::string& text);
  /// Ids or names of jobs that were taken out of Slurm, a line each.
  std::string cancelled() const;
  /// The last message to the nodes, as JSON.
  std::string order() const;
  const std::vector<std::string>& fenced() const { return nodes_.fenced; }

 private:
  void append(const std::string& host, const std::string& bytes) override {
    append_to_file(engine_->journal_file("demo", host), bytes);
  }

  FakeNodes nodes_;
  cluster::Attempt::Times times_;
  std::unique_ptr<cluster::SlurmEngine> engine_;
};

}  // namespace muster::contract
