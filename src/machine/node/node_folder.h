#pragma once

// Inside node/ only.

#include <string>

#include "base/fd.h"
#include "job/wire/node_messages.h"

namespace muster::node {

/// The place of a job on its node (docs/protocols/node-link.md): the content of the archive,
/// `lock`, `key`, and the host's folder. All functions block.
class NodeFolder {
 public:
  /// Creates it, after removing folders of dead jobs. Errors: `invalid_input` if it exists, or for
  /// the archive; `denied`, `system`. After an error nothing is left.
  static Result<NodeFolder> make(const job::NodeJob& job);

  std::string key_file() const { return path_ + "/key"; }
  std::string host_folder(const std::string& host) const { return path_ + "/" + host; }
  /// For the steward to hold too.
  const Fd& lock() const { return lock_; }
  /// Lets sweeps see that no process works on the job.
  void let_go() { lock_.reset(); }
  /// What a host of an attempt that is over had.
  Result<void> remove_host(const std::string& host);
  Result<void> remove();

 private:
  explicit NodeFolder(std::string path) : path_(std::move(path)) {}
  Result<void> fill(const job::NodeJob& job);

  std::string path_;
  Fd lock_;
};

}  // namespace muster::node
