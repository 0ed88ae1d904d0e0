#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cli/view/job_log.h"
#include "cli/view/log_entry.h"
#include "cli/view/render.h"
#include "platform/journals/log_lines.h"
#include "platform/places/job_record.h"

namespace muster::cli {

struct Here;

/// The log of a job of this machine: its statuses and its hosts' journals, in order of time.
class OwnLog {
 public:
  /// Host and journal; a journal may come later.
  using Files = std::vector<std::pair<std::string, std::string>>;
  explicit OwnLog(Files files);

  void add(const platform::StatusLine& line);
  /// Gives all that has come since the last time; an entry of a host may have several lines.
  /// `ended`: nothing will come any more. A journal that is damaged ends before the damage. Blocks.
  /// Error: as open(2), read(2), or `take`'s.
  Result<void> read(bool ended, const std::function<Result<void>(LogEntry)>& take);

 private:
  struct Source {
    std::string host;
    std::string path;
    std::size_t number;
    platform::LogLines lines{};
    job::JournalReader reader{};
    Fd fd{};
    bool over = false;
  };
  Result<void> read_on(Source& source, bool ended);

  LogMerge merge_;
  const std::size_t statuses_;
  std::vector<Source> sources_;
  std::string buffer_;
};

/// Shows an entry as a job's own lines are shown.
void show_entry(Render& render, const LogEntry& entry);

/// Writes the log of a job whose hosts have ended as a LogFolder's files. Blocks.
Result<void> write_log(const OwnLog::Files& files, const std::vector<platform::StatusLine>& lines,
                       const RenderOptions& options, const std::string& folder);

/// `sm logs` for a job of this machine: as show_log().
loop::Task<Result<int>> show_own_log(Here& here, places::FoundJob job, JobLogOptions options);

}  // namespace muster::cli
