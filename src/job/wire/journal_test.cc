#include "job/wire/journal.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace muster::job {
namespace {

struct Read {
  std::vector<Record> records;
  std::optional<Error> error;
  std::uint64_t offset = 0;
};

/// Reads `bytes` fed in pieces of `step`.
Read read_all(std::string_view bytes, std::size_t step) {
  JournalReader reader;
  Read read;
  for (std::size_t at = 0; at <= bytes.size() && !read.error; at += step) {
    reader.feed(bytes.substr(at, step));
    while (true) {
      Result<std::optional<Record>> next = reader.next();
      if (!next) read.error = next.error();
      if (!next || !*next) break;
      read.records.push_back(**std::move(next));
    }
  }
  read.offset = reader.offset();
  return read;
}

struct Written {
  std::string bytes;
  std::vector<Record> records;
  std::vector<std::size_t> ends;  ///< Offsets behind each record.
};

Written some_journal() {
  Written written;
  const std::pair<Message, std::string> items[] = {
      {Message::phase, encode(PhaseChange{Phase::starting, ""})},
      {Message::lines, std::string("\x00\xff\n", 3) + std::string(300, 'x')},
      {Message::log, ""},
      {Message::outcome, encode(HostEnd{"algo-1", Outcome::signaled(9), true, false})},
  };
  std::uint64_t seq = 0;
  for (const auto& [kind, payload] : items) {
    const UnixMillis time(1'700'000'000'000 + static_cast<std::int64_t>(++seq));
    append_record(written.bytes, seq, time, kind, payload);
    written.records.push_back({seq, time, kind, payload});
    written.ends.push_back(written.bytes.size());
  }
  return written;
}

TEST_CASE("journal: written records are read back, in pieces of any size") {
  const Written written = some_journal();
  for (const std::size_t step : {1u, 2u, 7u, 25u, 4096u}) {
    CAPTURE(step);
    const Read read = read_all(written.bytes, step);
    CHECK(!read.error);
    CHECK(read.records == written.records);
    CHECK(read.offset == written.bytes.size());
  }
}

TEST_CASE("journal: a tail torn at any byte leaves the whole records before it") {
  const Written written = some_journal();
  for (std::size_t size = 0; size <= written.bytes.size(); ++size) {
    CAPTURE(size);
    std::size_t whole = 0;
    while (whole < written.ends.size() && written.ends[whole] <= size) ++whole;
    const Read read = read_all(std::string_view(written.bytes).substr(0, size), 64);
    CHECK(!read.error);
    CHECK(read.records.size() == whole);
    CHECK(read.offset == (whole == 0 ? 0 : written.ends[whole - 1]));
  }
}

TEST_CASE("journal: every changed byte is detected, and the records before it are kept") {
  const Written written = some_journal();
  for (std::size_t at = 0; at < written.bytes.size(); ++at) {
    CAPTURE(at);
    std::string bytes = written.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    std::size_t before = 0;
    while (written.ends[before] <= at) ++before;
    const Read read = read_all(bytes, 4096);
    REQUIRE(read.records.size() == before);  // A longer length looks like a torn tail.
    CHECK(read.offset == (before == 0 ? 0 : written.ends[before - 1]));
    const bool in_length = at - (before == 0 ? 0 : written.ends[before - 1]) < 4;
    if (!in_length) CHECK(read.error.has_value());
  }
}

TEST_CASE("journal: zeros, gaps and impossible lengths are refused") {
  CHECK(read_all(std::string(64, '\0'), 64).error->code == Errc::protocol);
  CHECK(read_all(std::string("\xff\xff\xff\x7f", 4), 4).error->code == Errc::protocol);
  std::string bytes;
  append_record(bytes, 1, UnixMillis(0), Message::log, "");
  append_record(bytes, 3, UnixMillis(0), Message::log, "");
  const Read read = read_all(bytes, 4096);
  CHECK(read.records.size() == 1);
  CHECK(read.error->text == "journal at byte 25: records out of order: record 3 follows record 1");
}

TEST_CASE("journal: a further attempt of the host begins with record 1") {
  std::string bytes;
  for (const std::uint64_t seq : {1u, 2u, 1u, 2u, 3u})
    append_record(bytes, seq, UnixMillis(0), Message::log, "");
  CHECK(read_all(bytes, 4096).records.size() == 5);
  append_record(bytes, 2, UnixMillis(0), Message::log, "");
  CHECK(read_all(bytes, 4096).error->text ==
        "journal at byte 125: records out of order: record 2 follows record 3");
}

TEST_CASE("journal: a reader can begin behind any record") {
  const Written written = some_journal();
  JournalReader reader(written.ends[1]);
  reader.feed(std::string_view(written.bytes).substr(written.ends[1]));
  CHECK((**reader.next()).seq == 3);
  CHECK(reader.offset() == written.ends[2]);
}

TEST_CASE("journal: phases have SageMaker's names") {
  for (const Phase phase : {Phase::starting, Phase::downloading, Phase::training, Phase::uploading,
                            Phase::completed, Phase::failed, Phase::stopped})
    CHECK(phase_named(phase_name(phase)) == phase);
  CHECK(phase_name(Phase::downloading) == "Downloading");
  CHECK(!phase_named("downloading"));
  CHECK(!is_end(Phase::uploading));
  CHECK(is_end(Phase::completed));
  CHECK(is_end(Phase::stopped));
}

TEST_CASE("journal: payloads are read back, others refused") {
  const PhaseChange change{Phase::failed, "host: killed"};
  CHECK(*phase_from(encode(change)) == change);
  const LogLine line{"warning", "three hosts missing"};
  CHECK(*log_from(encode(line)) == line);
  const HostEnd end{"algo-2", Outcome::exited(3), false, true};
  CHECK(**host_end_from(encode(end)) == end);
  for (const char* bad : {"", "[]", "{}", "{\"phase\":\"Nap\",\"message\":\"\"}",
                          "{\"phase\":1,\"message\":\"\"}", "{\"level\":\"info\"}"}) {
    CAPTURE(bad);
    CHECK(phase_from(bad).error().code == Errc::protocol);
    CHECK(log_from(bad).error().code == Errc::protocol);
  }
}

TEST_CASE("journal: a NUMA report is one short line of a steward's") {
  CHECK(numa_report_of({"info", "NUMA: CPUs 0-7"}) == "CPUs 0-7");
  CHECK(numa_report_of({"info", "NUMA: \xff"}) == "\xef\xbf\xbd");
  for (const std::string& other : {std::string("CPUs 0-7"), std::string("NUMA: 1\nruns image x"),
                                   "NUMA: " + std::string(1024, 'x')})
    CHECK(numa_report_of({"info", other}).empty());
}

TEST_CASE("journal: a rank's outcome is not the host's end, a host's end reads as a verdict") {
  Verdict rank;
  rank.outcome = Outcome::exited(1);
  rank.host = "algo-1";
  rank.process = "rank 3";
  rank.rank = 3;
  CHECK(!host_end_from(to_text(to_json(rank)))->has_value());
  const std::string end = encode(HostEnd{"algo-1", Outcome::signaled(9), true, false});
  const Result<Verdict> verdict = verdict_from(*parse_json(end));
  REQUIRE(verdict);
  CHECK(verdict->process == "host");
  CHECK(verdict->outcome == Outcome::signaled(9));
  const HostEnd full{"algo-1", Outcome::exited(1),        false,
                     false,    {"disk: 1 GiB full", "x"}, Card::broken};
  CHECK(**host_end_from(encode(full)) == full);
}

TEST_CASE("journal: records are passed over in pieces, up to damage") {
  std::string bytes;
  append_record(bytes, 1, UnixMillis(1), Message::log, "one");
  append_record(bytes, 2, UnixMillis(1), Message::log, "two");
  JournalReader reader(100);
  for (const char byte : bytes) REQUIRE(reader.skip(std::string_view(&byte, 1)));
  CHECK(reader.seq() == 2);
  CHECK(reader.offset() == 100 + bytes.size());
  CHECK(!reader.skip(std::string(100, 'x')));
  CHECK(reader.offset() == 100 + bytes.size());
}

}  // namespace
}  // namespace muster::job
