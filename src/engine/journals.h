#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/engine.h"
#include "job/journal.h"
#include "loop/notices.h"

namespace muster::engine {

/// Reads the growing journals of a job's hosts. The kernel tells when one has grown (inotify); a
/// journal that does not exist yet is waited for.
class Journals {
 public:
  struct Host {
    std::string name;
    std::string folder;  ///< Exists; its file "journal" may not yet.
  };

  /// Error: `system` with the folder's name.
  static Result<std::unique_ptr<Journals>> open(loop::Loop& loop, std::vector<Host> hosts);

  /// As Run::records() and grown(). Reading on costs one read of a MiB at most; going back,
  /// or far ahead, reads the journal from its beginning.
  Result<Records> records(const std::string& host, std::uint64_t from);
  loop::Task<bool> grown() { return notices_->happened(); }
  void cancel() { notices_->cancel(); }

 private:
  struct File {
    Host host;
    Fd fd;
    std::uint64_t read_to = 0;
    job::JournalReader reader;
  };
  Journals(std::unique_ptr<loop::Notices> notices, std::vector<File> files);
  Result<Records> read(File& file, std::uint64_t from);

  std::unique_ptr<loop::Notices> notices_;
  std::vector<File> files_;
  std::string buffer_;
};

}  // namespace muster::engine
