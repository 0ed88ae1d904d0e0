#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/log_merge.h"
#include "job/journal.h"
#include "job/steps.h"

namespace muster::cli {

/// A host's journal as entries of a log: whole lines, those of one record together in one entry, a
/// progress bar's states thinned out, and of muster's own lines warnings and errors. Pure: values
/// only.
class JournalEntries {
 public:
  explicit JournalEntries(std::string host) : host_(std::move(host)) {}
  /// Appends what the record makes known.
  void take(const job::Record& record, std::vector<LogEntry>& entries);
  /// As above, of lines that were written at `time`.
  void take(UnixMillis time, const job::Lines& lines, std::vector<LogEntry>& entries);
  /// The job is over: lines that were never finished, too.
  void finish(std::vector<LogEntry>& entries);

 private:
  struct Writer {
    std::string waiting{};  ///< The beginning of a line.
    job::Steps steps{};
  };
  using Key = std::pair<int, job::Stream>;
  void take_steps(const Key& key, Writer& writer, std::string_view bytes,
                  std::vector<LogEntry>& entries);
  void emit(const Key& key, std::string text, std::vector<LogEntry>& entries) const;

  std::string host_;
  UnixMillis time_{0};
  std::map<Key, Writer> writers_;
};

}  // namespace muster::cli
