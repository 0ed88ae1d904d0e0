#pragma once

#include <map>
#include <string>

#include "base/fd.h"
#include "folder_subject.h"

namespace muster::contract {

/// An engine whose stewards are processes. A shell script replaces `sm steward`: it reads its
/// orders from a named pipe, one for each host's name.
class StewardSubject : public FolderSubject {
 public:
  void ends(const std::string& host, int code) override;
  void manner(Manner manner) override;
  loop::Task<> ready(std::string host) override;

 protected:
  explicit StewardSubject(const std::string& parent);
  void order(const std::string& host, const std::string& line);
  /// Ends the hosts of all jobs that the test has left.
  void end_jobs();

 private:
  struct Pipes {
    Fd orders;
    Fd ready;  ///< The host says that it runs.
  };
  std::map<std::string, Pipes> pipes_;
};

}  // namespace muster::contract
