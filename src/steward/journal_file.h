#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "job/journal.h"

namespace muster::steward {

/// Writes one host's journal. Records gather in memory until flush(), which costs one write; only
/// finish() waits for the disk. A reserve of disk space is held back, so that the end can still
/// be told when a job has filled the disk.
class JournalFile {
 public:
  /// Opens or makes `path`, cuts a torn tail and goes on behind the last record. `bytes_max`: what
  /// its lines may take; lines beyond that are dropped, and the journal says so once.
  static Result<JournalFile> open(const std::string& path, std::uint64_t bytes_max);

  void append(job::Message kind, std::string_view payload);
  void append(const job::PhaseChange& change) { append(job::Message::phase, encode(change)); }
  void append(const job::LogLine& line) { append(job::Message::log, encode(line)); }
  /// Error: `system` when the disk is full. The file then ends with a whole record, what was not
  /// written is lost, and this and later calls give the error; what is no line and comes after it
  /// is kept for finish().
  Result<void> flush();
  /// Gives the reserve free and writes what is there to the disk for good.
  Result<void> finish();

 private:
  JournalFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<void> read_to_end();
  Result<void> write_out();

  Fd fd_;
  std::string path_;
  std::string pending_;
  std::uint64_t pending_seq_ = 0;  ///< Number of the last record in pending_.
  std::uint64_t written_seq_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t bytes_max_ = 0;
  bool full_ = false;            ///< Takes no more lines.
  std::optional<Error> broken_;  ///< Why the file takes no more, until the reserve is free.
};

}  // namespace muster::steward
