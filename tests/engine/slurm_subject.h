#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/links.h"
#include "cluster/slurm_engine.h"
#include "folder_subject.h"

namespace muster::contract {

/// Nodes of the cluster, which outlive engines: what their links tell, and what they are told.
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
/// job at once, and the test for its nodes; real ones: tests/e2e/test_slurm_fit.py.
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
  void manner(Manner manner) override { nodes_.manner = manner; }
  loop::Task<> ready(std::string host) override;
  void cut_short(const job::Spec& spec) override;
  /// The job "demo" has it.
  std::string job_folder() const { return folder() + "/state/slurm/jobs/demo"; }
  /// Slurm knows of no job any more.
  void forget_submissions();
  /// What `scontrol show config` says; nothing without this.
  void configured(const std::string& text);
  /// What nodes were told last, as JSON.
  std::string order() const;
  const std::vector<std::string>& fenced() const { return nodes_.fenced; }

 private:
  std::string journal_file(const std::string& host) const override {
    return engine_->journal_file("demo", host);
  }

  FakeNodes nodes_;
  std::unique_ptr<cluster::SlurmEngine> engine_;
};

}  // namespace muster::contract
