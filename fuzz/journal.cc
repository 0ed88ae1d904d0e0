// A host's journal, damaged or hostile, and what a host says on its steward's stream. The first
// byte says which: 'j' a journal's bytes, 'r' records' payloads, 's' the stream.
#include "job/wire/journal.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "job/outcome/lines.h"
#include "job/outcome/outcome.h"
#include "machine/steward/host_word.h"
#include "platform/journals/log_messages.h"

namespace muster {

namespace {

constexpr UnixMillis noon{1'769'860'800'000};

/// What all readers of a record do with it.
void read_record(const job::Record& record, platform::LogMessages& log) {
  static_cast<void>(job::phase_from(record.payload));
  static_cast<void>(job::log_from(record.payload));
  static_cast<void>(job::host_end_from(record.payload));
  if (const Result<Json> json = parse_json(record.payload); json)
    static_cast<void>(job::verdict_from(*json));
  std::vector<platform::LogEvent> events;
  log.take(record, events);
  for (const platform::LogEvent& event : events) {
    CHECK_THAT(event.message.size() <= platform::message_bytes_max, "a message has its limit");
    CHECK_THAT(event.message.find('\n') == std::string::npos, "a message is a line");
    CHECK_THAT(is_utf8(event.message), "a message is UTF-8");
  }
  const platform::LogLines& lines = log.lines();
  CHECK_THAT(lines.waiting_bytes() <= lines.waiting_bytes_max(), "what waits has its limit");
}

/// Whole records from the front; false: damaged behind them.
bool drain(job::JournalReader& reader, std::vector<job::Record>& into) {
  while (true) {
    Result<std::optional<job::Record>> record = reader.next();
    if (!record) {
      CHECK_THAT(record.error().text.find('\n') == std::string::npos, "an error is one line");
      return false;
    }
    if (!*record) return true;
    into.push_back(**std::move(record));
  }
}

void journal(std::string_view bytes) {
  job::JournalReader whole;
  whole.feed(bytes);
  std::vector<job::Record> records;
  const bool fine = drain(whole, records);
  job::JournalReader halves;
  std::vector<job::Record> again;
  halves.feed(bytes.substr(0, bytes.size() / 2));
  bool fine_in_halves = drain(halves, again);
  if (fine_in_halves) {
    halves.feed(bytes.substr(bytes.size() / 2));
    fine_in_halves = drain(halves, again);
  }
  CHECK_THAT(fine == fine_in_halves && records.size() == again.size(),
             "where bytes are cut does not matter");
  std::string written;
  platform::LogMessages log("algo-1");
  for (const job::Record& record : records) {
    job::append_record(written, record.seq, record.time, record.kind, record.payload);
    read_record(record, log);
  }
  CHECK_THAT(bytes.starts_with(written), "records encode as they came");
}

/// Payloads that a fuzzer could not give a checksum: kind, length in 16 bits, bytes.
void payloads(std::string_view bytes) {
  std::string written;
  for (std::uint64_t seq = 1; bytes.size() >= 3; ++seq) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const std::size_t length = byte(1) | static_cast<std::size_t>(byte(2)) << 8;
    job::append_record(written, seq, noon, static_cast<job::Message>(byte(0)),
                       bytes.substr(3, length));
    bytes.remove_prefix(std::min(bytes.size(), 3 + length));
  }
  journal(written);
}

void stream(std::string_view bytes) {
  FrameReader frames;
  frames.feed(bytes);
  steward::HostWord word("algo-2", {"algo-1", "algo-2"});
  while (true) {
    const Result<std::optional<Frame>> frame = frames.next();
    if (!frame || !*frame) return;
    const Result<std::optional<std::string>> taken = word.taken(**frame);
    if (!taken || !*taken) continue;
    const Result<std::optional<job::HostEnd>> end = job::host_end_from(**taken);
    CHECK_THAT(!end || !*end || (*frame)->type == job::type_of(job::Message::verdict),
               "a host's end is its steward's to tell");
    const bool known = (*frame)->type == job::type_of(job::Message::lines) ||
                       (*frame)->type == job::type_of(job::Message::outcome) ||
                       (*frame)->type == job::type_of(job::Message::verdict);
    CHECK_THAT(known, "nothing else is taken");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'j') journal(bytes);
  if (data[0] == 'r') payloads(bytes);
  if (data[0] == 's') stream(bytes);
  return 0;
}

}  // namespace muster
