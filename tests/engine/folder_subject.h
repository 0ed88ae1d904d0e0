#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "subject.h"
#include "supervise/programs.h"

namespace muster::contract {

/// An engine with a state folder, whose hosts' journals are files that the test writes.
class FolderSubject : public Subject {
 public:
  FolderSubject(const FolderSubject&) = delete;
  FolderSubject& operator=(const FolderSubject&) = delete;
  ~FolderSubject() override;

  void writes(const std::string& host, const std::string& text) override;
  void tears(const std::string& host) override;
  void damages(const std::string& host) override;
  void full_disk(bool full) override;
  void upload_fails() override;

 protected:
  FolderSubject();
  /// The journal of a host of "demo".
  virtual std::string journal_file(const std::string& host) const = 0;
  const std::string& folder() const { return folder_; }
  /// Stands in for `sm`.
  std::string program() const { return folder_ + "/sm"; }
  supervise::Programs& programs() { return programs_; }

 private:
  void append(const std::string& host, const std::string& bytes);

  std::string folder_;
  supervise::Programs programs_;
  std::map<std::string, std::uint64_t> seqs_;  ///< The last record's, by host.
};

}  // namespace muster::contract
