#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "job/wire/journal.h"
#include "net/loop/notices.h"

namespace muster::engine {

/// Reads the growing journals of a job's hosts. The kernel reports when one has grown (inotify);
/// for a journal that does not exist yet, it waits. Keeps no file open: a job of 1,000 hosts would
/// use up all descriptors that a process has by default.
class Journals {
 public:
  struct Host {
    std::string name;
    std::string folder;      ///< Exists; its file "journal" may not yet.
    std::uint64_t from = 0;  ///< The byte where record 1 begins: other attempts' are before it.
  };

  /// Error: `system` with the folder's name.
  static Result<std::unique_ptr<Journals>> open(loop::Loop& loop, std::vector<Host> hosts);

  /// As Run::records() and grown(). Reading on costs one read of a MiB at most; going back,
  /// or far ahead, reads the journal from its beginning. One that has not grown is not opened.
  Result<Records> records(const std::string& host, std::uint64_t from);
  loop::Task<bool> grown() { return notices_->happened(); }
  void cancel() { notices_->cancel(); }

 private:
  struct File {
    std::string path;
    std::uint64_t from = 0;
    std::uint64_t read_to = 0;
    job::JournalReader reader;
  };
  using Files = std::map<std::string, File, std::less<>>;  ///< By host.
  Journals(std::unique_ptr<loop::Notices> notices, Files files);
  Result<std::size_t> read_on(const File& file);
  Result<Records> read(File& file, std::uint64_t from);

  std::unique_ptr<loop::Notices> notices_;
  Files files_;
  std::string buffer_;
};

}  // namespace muster::engine
