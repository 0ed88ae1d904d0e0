#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "os/supervise/programs.h"
#include "subject.h"

namespace muster::contract {

/// An engine with a state folder. The test writes the journals of its hosts.
class FolderSubject : public Subject {
 public:
  FolderSubject(const FolderSubject&) = delete;
  FolderSubject& operator=(const FolderSubject&) = delete;
  ~FolderSubject() override;

  void writes(const std::string& host, const std::string& text) override;
  void tears(const std::string& host) override;
  void damages(const std::string& host) override;
  void begins_anew() override { seqs_.clear(); }
  void full_disk(bool full) override;
  void upload_fails() override;

 protected:
  /// Everything lies in a folder of its own in `parent`.
  explicit FolderSubject(const std::string& parent = "/tmp");
  /// To the journal of a host of "demo".
  virtual void append(const std::string& host, const std::string& bytes) = 0;
  const std::string& folder() const { return folder_; }
  /// A program used in place of `sm`.
  std::string program() const { return folder_ + "/sm"; }
  supervise::Programs& programs() { return programs_; }

 private:
  std::string folder_;
  supervise::Programs programs_;
  std::map<std::string, std::uint64_t> seqs_;  ///< The last record's, by host.
};

void append_to_file(const std::string& path, const std::string& bytes);
/// What a start leaves in `state` that was killed before it had submitted or started anything.
void leave_half_a_start(const std::string& state, const job::Spec& spec);

}  // namespace muster::contract
