#pragma once

#include <map>

#include "base/fd.h"
#include "local/local_engine.h"
#include "subject.h"
#include "supervise/programs.h"

namespace muster::contract {

/// The local engine. A shell script stands in for the steward: it ends when the test says so by a
/// named pipe; the test writes its journal.
class LocalSubject final : public Subject {
 public:
  LocalSubject();
  LocalSubject(const LocalSubject&) = delete;
  LocalSubject& operator=(const LocalSubject&) = delete;
  ~LocalSubject() override;

  engine::Engine& engine() override { return *engine_; }
  void restart() override;
  void writes(const std::string& host, const std::string& text) override;
  void tears(const std::string& host) override;
  void damages(const std::string& host) override;
  void leaves(const std::string& host, const std::string& path, const std::string& text) override;
  void ends(const std::string& host, int code) override;
  void manner(Manner manner) override;
  loop::Task<> ready(std::string host) override;
  void cut_short(const job::Spec& spec) override;
  void full_disk(bool full) override;
  void upload_fails() override;

 private:
  struct Host {
    Fd orders;  ///< How it shall end.
    Fd ready;   ///< The host says that it runs.
    std::uint64_t seq = 0;
  };
  std::string program() const { return folder_ + "/sm"; }
  std::string host_folder(const std::string& host) const { return state_ + "/jobs/demo/" + host; }
  void append(const std::string& host, const std::string& bytes);

  std::string folder_;
  std::string state_;
  supervise::Programs programs_;
  std::unique_ptr<local::LocalEngine> engine_;
  std::map<std::string, Host> hosts_;
};

}  // namespace muster::contract
