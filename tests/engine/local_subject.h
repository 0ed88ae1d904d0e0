#pragma once

#include "engine/local/local_engine.h"
#include "steward_subject.h"

namespace muster::contract {

/// The local engine. The test writes its hosts' journals.
class LocalSubject final : public StewardSubject {
 public:
  LocalSubject();
  LocalSubject(const LocalSubject&) = delete;
  LocalSubject& operator=(const LocalSubject&) = delete;
  ~LocalSubject() override;

  engine::Engine& engine() override { return *engine_; }
  void restart() override;
  void leaves(const std::string& host, const std::string& path, const std::string& text) override;
  void kills(const std::string& host) override;
  void cut_short(const job::Spec& spec) override;

 private:
  void append(const std::string& host, const std::string& bytes) override {
    append_to_file(engine_->journal_file("demo", host), bytes);
  }
  std::string host_folder(const std::string& host) const { return state_ + "/jobs/demo/" + host; }

  std::string state_;
  std::unique_ptr<local::LocalEngine> engine_;
};

}  // namespace muster::contract
