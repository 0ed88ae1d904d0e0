#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "job/journal.h"
#include "loop/wait.h"

namespace muster::platform {

/// Reads the growing journals of a job's hosts. The kernel tells when one has grown (inotify); a
/// journal that does not exist yet is waited for.
class JournalFollow {
 public:
  struct Host {
    std::string name;
    std::string folder;        ///< Exists; its file "journal" may not yet.
    std::uint64_t offset = 0;  ///< Where to begin: 0, or what offset() gave.
  };
  using Take = std::function<void(std::size_t host, const job::Record& record)>;

  /// Error: `system` with the folder's name.
  static Result<std::unique_ptr<JournalFollow>> open(loop::Loop& loop, std::vector<Host> hosts);

  /// Hands the next records of host number `host` to `take`, about a MiB of them at most. True if
  /// there may be more at once. Error: `protocol` for a damaged journal, `system`.
  Result<bool> read(std::size_t host, const Take& take);
  std::uint64_t offset(std::size_t host) const { return files_.at(host).reader.offset(); }

  /// Waits until a journal may have grown since the last call. False after cancel().
  loop::Task<bool> changed();
  void cancel() { watch_.cancel(); }

 private:
  struct File {
    Host host;
    Fd fd;
    std::uint64_t read_to = 0;
    job::JournalReader reader;
  };
  JournalFollow(loop::Loop& loop, Fd notifier, std::vector<File> files);

  Fd notifier_;
  loop::Watch watch_;
  std::vector<File> files_;
  std::string buffer_;
};

}  // namespace muster::platform
