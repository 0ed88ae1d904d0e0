#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/frame.h"
#include "base/result.h"
#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/message.h"

namespace muster::job {

/// One entry of a host's journal. On disk (docs/protocols/journal.md): u32 LE length of what
/// follows the checksum, u32 LE CRC-32C of it, u64 LE seq, i64 LE ms, u8 kind, payload.
struct Record {
  std::uint64_t seq = 0;  ///< 1, 2, 3, ... without a gap.
  UnixMillis time{0};
  Message kind =
      Message::log;     ///< phase, lines, outcome, verdict, log, mark; readers pass over others.
  std::string payload;  ///< As the frame of that type; at most frame_payload_bytes_max.

  bool operator==(const Record&) const = default;
};

constexpr std::size_t record_header_bytes = 25;

/// Appends the encoding to `out`.
void append_record(std::string& out, std::uint64_t seq, UnixMillis time, Message kind,
                   std::string_view payload);

/// Cuts records out of a journal's bytes as they are read. Pure.
class JournalReader {
 public:
  /// `offset`: position in the file of the first byte that will be fed; the start of a record.
  explicit JournalReader(std::uint64_t offset = 0) : offset_(offset) {}
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole record; none if more bytes are needed (in a living journal: not written yet;
  /// in a dead one: a torn tail). Error: `protocol` for bytes that are no record, a wrong
  /// checksum or a gap in the sequence; nothing can be read on after that.
  Result<std::optional<Record>> next();
  /// Feeds a piece of the file and hands each whole record in it on, until `take` says false.
  /// False: it did, or what follows cannot be read; offset() and seq() are the last record's.
  template <class Take>
  bool visit(std::string_view bytes, const Take& take) {
    feed(bytes);
    while (true) {
      const Result<std::optional<Record>> record = next();
      if (!record) return false;
      if (!*record) return true;
      if (!take(**record)) return false;
    }
  }
  /// As visit(), passing over the records.
  bool skip(std::string_view bytes) {
    return visit(bytes, [](const Record&) { return true; });
  }
  /// In the file, of the end of the last record that next() gave: where to read on, or to cut.
  std::uint64_t offset() const { return offset_; }
  /// Number of the last record given; 0 before the first.
  std::uint64_t seq() const { return seq_; }

 private:
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t offset_;
  std::uint64_t seq_ = 0;
};

/// A job's secondary statuses, as SageMaker names them, in the order they come. The last three are
/// ends: exactly one of them is the last record of a journal that was finished.
enum class Phase { starting, downloading, training, uploading, completed, failed, stopped };

/// "Starting", "Downloading", "Training", "Uploading", "Completed", "Failed", "Stopped".
std::string_view phase_name(Phase phase);
std::optional<Phase> phase_named(std::string_view name);
constexpr bool is_end(Phase phase) {
  return phase >= Phase::completed;
}

/// Payload of a `phase` record or frame: {phase, message}.
struct PhaseChange {
  Phase phase = Phase::starting;
  std::string message;  ///< One line for a person; may be empty.

  bool operator==(const PhaseChange&) const = default;
};
std::string encode(const PhaseChange& change);
/// Error: `protocol`, here and below.
Result<PhaseChange> phase_from(std::string_view payload);

/// Payload of a `log` record or frame: {level, text}; level is "error", "warning", "info", "debug".
struct LogLine {
  std::string level = "info";
  std::string text;

  bool operator==(const LogLine&) const = default;
};
std::string encode(const LogLine& line);
Result<LogLine> log_from(std::string_view payload);

/// A `log` record whose text starts with this reports that a checkpoint's file was stored: the
/// job's progress up to then survives the loss of its machine.
inline constexpr std::string_view checkpoint_stored = "checkpoints: stored ";

/// A `log` record whose text starts with this reports whether the host is next to its GPUs.
inline constexpr std::string_view numa_report = "NUMA: ";
/// What it reports, as UTF-8; empty: another record, or one that no steward writes (a host's
/// `train` writes log lines, too): over 1,024 bytes, or of several lines.
std::string numa_report_of(const LogLine& line);

/// What a host's GPUs had to do with its failure, as their driver says. Later ones are worse.
enum class Card {
  working,       ///< Nothing, or no more than the program's own error.
  memory_error,  ///< A GPU failed under the program, but remains usable.
  broken,        ///< One has to be reset, or worse.
};

/// How the host itself ended, exactly, by its steward: the last `outcome` record of a journal that
/// was finished. It reads as a Verdict too (process "host"), with more fields.
struct HostEnd {
  std::string host;
  Outcome outcome;             ///< How the host's init ended; `failed`: it could not be started.
  bool out_of_memory = false;  ///< The kernel killed one of its processes for memory.
  bool stopped = false;        ///< A stop was asked for before it ended.
  /// Limits that a failed host reached, with their figures, and errors of its GPUs.
  std::vector<std::string> overruns{};
  Card card = Card::working;

  bool operator==(const HostEnd&) const = default;
};
std::string encode(const HostEnd& end);
/// None for an `outcome` record that is about another process of the host.
Result<std::optional<HostEnd>> host_end_from(std::string_view payload);

}  // namespace muster::job
