#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "job/wire/journal.h"
#include "job/wire/mark.h"

namespace muster::steward {

/// The disk operations of a journal: like the system calls, including errno.
struct JournalDisk {
  std::function<ssize_t(int, const void*, std::size_t)> write = ::write;
  std::function<int(int)> sync = ::fdatasync;
};

/// Writes one host's journal. Records are kept in memory until flush(), which needs one write; only
/// finish() waits for the disk. A reserve of disk space is held back, so that the end can still be
/// recorded when a job has filled the disk.
///
/// After the first disk error, every later call returns it. Only finish() recovers from a full
/// disk, by freeing the reserve.
class JournalFile {
 public:
  /// Opens or creates `path`, cuts off an incomplete last record and continues after the last
  /// complete one. `bytes_max`: limit for its lines; lines beyond it are dropped, and the journal
  /// notes this once. The bytes before `from` belong to earlier attempts, whose records do not
  /// count.
  static Result<JournalFile> open(const std::string& path, std::uint64_t bytes_max,
                                  std::uint64_t from = 0, JournalDisk disk = {});

  void append(job::Message kind, std::string_view payload);
  void append(const job::PhaseChange& change) { append(job::Message::phase, encode(change)); }
  void append(const job::Moment& moment) { append(job::Message::mark, encode(moment)); }
  void append(const job::LogLine& line) { append(job::Message::log, encode(line)); }
  /// Error: `system`, the disk's first. The file then ends with a complete record, and unwritten
  /// records are lost. Later records other than lines are kept for finish().
  Result<void> flush();
  /// Frees the reserve, writes the remaining records and waits for the disk. Also writes after a
  /// failed write, because the records say why the host ended. Error: the disk's first error,
  /// unless it was full.
  Result<void> finish();

 private:
  JournalFile(Fd fd, std::string path, JournalDisk disk)
      : fd_(std::move(fd)), path_(std::move(path)), disk_(std::move(disk)) {}
  Result<void> read_to_end(std::uint64_t from);
  Result<void> put(std::string_view bytes);
  Result<void> write_out();
  Result<void> keep(Result<void> done);

  Fd fd_;
  std::string path_;
  JournalDisk disk_;
  std::string pending_;
  std::uint64_t pending_seq_ = 0;  ///< Number of the last record in pending_.
  std::uint64_t written_seq_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t bytes_max_ = 0;
  bool full_ = false;            ///< Accepts no more lines.
  bool reserved_ = true;         ///< finish() has not freed the reserve yet.
  bool room_failed_ = false;     ///< The disk was full when it failed.
  std::optional<Error> broken_;  ///< The disk's first error.
};

}  // namespace muster::steward
