#pragma once

#include <map>

#include "base/fd.h"
#include "folder_subject.h"
#include "local/local_engine.h"

namespace muster::contract {

/// The local engine. A shell script stands in for the steward: it ends when the test says so by a
/// named pipe; the test writes its journal.
class LocalSubject final : public FolderSubject {
 public:
  LocalSubject();
  LocalSubject(const LocalSubject&) = delete;
  LocalSubject& operator=(const LocalSubject&) = delete;
  ~LocalSubject() override;

  engine::Engine& engine() override { return *engine_; }
  void restart() override;
  void leaves(const std::string& host, const std::string& path, const std::string& text) override;
  void ends(const std::string& host, int code) override;
  void manner(Manner manner) override;
  loop::Task<> ready(std::string host) override;
  void cut_short(const job::Spec& spec) override;

 private:
  std::string journal_file(const std::string& host) const override {
    return engine_->journal_file("demo", host);
  }
  struct Host {
    Fd orders;  ///< How it shall end.
    Fd ready;   ///< The host says that it runs.
  };
  std::string host_folder(const std::string& host) const { return state_ + "/jobs/demo/" + host; }

  std::string state_;
  std::unique_ptr<local::LocalEngine> engine_;
  std::map<std::string, Host> hosts_;
};

}  // namespace muster::contract
