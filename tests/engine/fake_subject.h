#pragma once

#include "engine/fake.h"
#include "subject.h"

namespace muster::contract {

/// The engine in memory.
class FakeSubject final : public Subject {
 public:
  FakeSubject() : cluster_(loop()), engine_(std::make_unique<engine::FakeEngine>(cluster_)) {}

  engine::Engine& engine() override { return *engine_; }
  void restart() override { engine_ = std::make_unique<engine::FakeEngine>(cluster_); }
  void writes(const std::string& host, const std::string& text) override {
    job().host(host).record(job::Message::log, text);
  }
  void tears(const std::string&) override {}  // A fake's journals hold whole records.
  void damages(const std::string& host) override { job().host(host).damage(); }
  void leaves(const std::string& host, const std::string& path, const std::string& text) override {
    job().host(host).leaves(path, text);
  }
  void ends(const std::string& host, int code) override {
    job().host(host).ends(job::Outcome::exited(code));
  }
  void kills(const std::string& host) override { job().host(host).lost("its steward was killed"); }
  void manner(Manner manner) override { manner_ = manner; }
  loop::Task<> ready(std::string host) override {
    job().host(host).manner = static_cast<engine::FakeHost::Manner>(manner_);
    co_return;
  }
  void cut_short(const job::Spec& spec) override { cluster_.job(spec).begun = true; }
  void full_disk(bool full) override { cluster_.full_disk = full; }
  void upload_fails() override { job().upload_error = fail(Errc::system, "s3://b/x: no"); }

  engine::FakeCluster& cluster() { return cluster_; }
  engine::FakeJob& job() { return cluster_.job("demo"); }

 private:
  engine::FakeCluster cluster_;
  std::unique_ptr<engine::FakeEngine> engine_;
  Manner manner_ = Manner::obeys;
};

}  // namespace muster::contract
