#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bucket {

/// What a bucket's log says happened to the file of an object.
///
/// Pure: values and bytes. Source: docs/protocols/bucket.md.
enum class LogKind : char {
  written = 'w',  ///< The file's bytes are in the entry.
  removed = 'r',  ///< The file does not exist.
  settled = 's',  ///< What is on disk counts; earlier entries do not.
};

struct LogEntry {
  LogKind kind = LogKind::written;
  std::string_view file;   ///< Path below the bucket's folder of objects.
  std::string_view bytes;  ///< All of the file, its record too; of `written` only.
};

/// Entries of one filling of a log file have its number, so that leftovers of an earlier one are
/// not mistaken for them.
struct LogFilling {
  std::uint64_t number = 0;
  std::uint64_t order = 0;  ///< The later of two fillings of one run has the higher.
};

std::string encode_entry(const LogFilling& filling, const LogEntry& entry);

struct LogRead {
  LogFilling filling;             ///< The entries', if there are any.
  std::vector<LogEntry> entries;  ///< As they were written; views of what was read.
  std::size_t bytes = 0;          ///< What the entries take.
};
/// All up to the first that is torn, damaged, or of another filling.
LogRead read_entries(std::string_view log);

}  // namespace muster::bucket
