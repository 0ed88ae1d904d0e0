#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bucket {

/// An entry of a bucket's log about the file of an object.
///
/// Pure: values and bytes. Source: docs/protocols/bucket.md.
enum class LogKind : char {
  written = 'w',  ///< The file's bytes are in the entry.
  removed = 'r',  ///< The file does not exist.
  settled = 's',  ///< The file on disk counts; earlier entries do not.
};

struct LogEntry {
  LogKind kind = LogKind::written;
  std::string_view file;   ///< Path below the bucket's folder of objects.
  std::string_view bytes;  ///< The whole file with its record; only for `written`.
};

/// Entries of one filling of a log file contain its number, so that leftovers of an earlier filling
/// are recognized.
struct LogFilling {
  std::uint64_t number = 0;
  std::uint64_t order = 0;  ///< A later filling of the same run has a higher number.
};

std::string encode_entry(const LogFilling& filling, const LogEntry& entry);

struct LogRead {
  LogFilling filling;             ///< The entries', if there are any.
  std::vector<LogEntry> entries;  ///< In the order of writing; views of the bytes.
  std::size_t bytes = 0;          ///< The size of the entries.
};
/// All entries before the first incomplete or damaged one, or one of another filling.
LogRead read_entries(std::string_view log);

}  // namespace muster::bucket
