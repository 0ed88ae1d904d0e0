#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "base/text.h"
#include "container/bundle/bundle.h"
#include "job/outcome/lines.h"
#include "machine/housing/folders.h"
#include "machine/housing/staging.h"
#include "machine/steward/journal_file.h"
#include "net/loop/testing.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;

loop::Task<> wait_for_copy(loop::Loop& loop, const Staged& staged, container::Process& copy,
                           Result<void>& done) {
  done = co_await copied(loop, staged, copy);
}

TEST_CASE("journal file: a torn tail is cut and the sequence continues") {
  const std::string folder = *make_private_folder("/tmp", "muster-journal-");
  const std::string path = folder + "/journal";
  {
    JournalFile journal = *JournalFile::open(path, 1 << 20);
    journal.append(job::LogLine{"info", "one"});
    journal.append(job::LogLine{"info", "two"});
    REQUIRE(journal.flush());
  }
  const std::string whole = *read_file(path);
  REQUIRE(write_file(path, whole + whole.substr(0, 30)));
  {
    JournalFile journal = *JournalFile::open(path, 1 << 20);
    journal.append(job::LogLine{"info", "three"});
    REQUIRE(journal.finish());
  }
  job::JournalReader reader;
  reader.feed(*read_file(path));
  for (std::uint64_t seq = 1; seq <= 3; ++seq) CHECK((**reader.next()).seq == seq);
  CHECK(!fs::exists(path + ".reserve"));
  CHECK(remove_tree(folder));
}

TEST_CASE(
    "journal file: another attempt's records are numbered from 1, after those of the one before") {
  const std::string folder = *make_private_folder("/tmp", "muster-journal-");
  const std::string path = folder + "/journal";
  std::string first;
  job::append_record(first, 1, UnixMillis(1), job::Message::log, "{}");
  REQUIRE(write_file(path, first + "torn"));
  {
    JournalFile journal = *JournalFile::open(path, 1 << 20, first.size());
    journal.append(job::LogLine{"info", "of attempt 2"});
    REQUIRE(journal.finish());
  }
  const std::string whole = *read_file(path);
  CHECK(whole.starts_with(first));
  job::JournalReader reader(first.size());
  reader.feed(whole.substr(first.size()));
  CHECK((**reader.next()).seq == 1);
  const Result<JournalFile> beyond = JournalFile::open(path, 1 << 20, whole.size() + 1);
  REQUIRE(!beyond);
  CHECK(beyond.error().text.find("the journal ends before byte") != std::string::npos);
  CHECK(remove_tree(folder));
}

TEST_CASE("journal file: beyond its limit it drops lines, says so once, and keeps the rest") {
  const std::string folder = *make_private_folder("/tmp", "muster-journal-");
  JournalFile journal = *JournalFile::open(folder + "/journal", 1000);
  const std::string lines = job::encode(job::Lines{0, job::Stream::out, false, "0123456789\n"});
  for (int i = 0; i < 1000; ++i) journal.append(job::Message::lines, lines);
  journal.append(job::PhaseChange{job::Phase::completed, ""});
  REQUIRE(journal.finish());
  job::JournalReader reader;
  reader.feed(*read_file(folder + "/journal"));
  std::size_t kept = 0, logs = 0, phases = 0;
  while (const std::optional<job::Record> record = *reader.next()) {
    kept += record->kind == job::Message::lines;
    logs += record->kind == job::Message::log;
    phases += record->kind == job::Message::phase;
  }
  CHECK(kept > 10);
  CHECK(kept < 100);
  CHECK(logs == 1);
  CHECK(phases == 1);
  CHECK(remove_tree(folder));
}

/// The texts of muster's own lines in a journal.
std::string log_texts(const std::string& path) {
  job::JournalReader reader;
  reader.feed(*read_file(path));
  std::string texts;
  while (const std::optional<job::Record> record = *reader.next())
    if (record->kind == job::Message::log) texts += job::log_from(record->payload)->text + ";";
  return texts;
}

TEST_CASE("journal file: the disk's first error is what every later call gives") {
  enum class Call { write, sync };
  for (const Call failing : {Call::write, Call::sync}) {
    CAPTURE(static_cast<int>(failing));
    int failures = 0;
    bool broken = false;
    const auto fails = [&](Call call) {
      if (!broken || call != failing) return false;
      errno = ++failures == 1 ? EIO : EBADF;  // What comes second is not the reason.
      return true;
    };
    JournalDisk disk;
    disk.write = [&](int fd, const void* bytes, std::size_t count) {
      return fails(Call::write) ? -1 : ::write(fd, bytes, count);
    };
    disk.sync = [&](int fd) { return fails(Call::sync) ? -1 : ::fdatasync(fd); };
    const std::string folder = *make_private_folder("/tmp", "muster-journal-");
    const std::string path = folder + "/journal";
    JournalFile journal = *JournalFile::open(path, 1 << 20, 0, disk);
    journal.append(job::LogLine{"info", "one"});
    REQUIRE(journal.flush());
    broken = true;
    journal.append(job::LogLine{"info", "two"});
    const Result<void> flushed = journal.flush();
    CHECK(flushed.has_value() == (failing == Call::sync));
    const Result<void> finished = journal.finish();
    REQUIRE_FALSE(finished);
    CHECK(finished.error().text.starts_with(path + ": "));
    CHECK(finished.error().text.ends_with("Input/output error"));
    CHECK((flushed || flushed.error().text == finished.error().text));

    broken = false;
    journal.append(job::LogLine{"info", "the end"});
    for (const Result<void>& later : {journal.flush(), journal.finish(), journal.flush()}) {
      REQUIRE_FALSE(later);
      CHECK(later.error().text == finished.error().text);
    }
    CHECK(failures > 0);
    // Readers see whole records, and the end where the disk takes one.
    CHECK(log_texts(path) == (failing == Call::write ? "one;the end;" : "one;two;the end;"));
    CHECK(remove_tree(folder));
  }
}

TEST_CASE("journal file: a full disk's error is given until finish() makes room") {
  bool full = true;
  JournalDisk disk;
  disk.write = [&](int fd, const void* bytes, std::size_t count) {
    if (!full) return ::write(fd, bytes, count);
    if (count > 10) return ::write(fd, bytes, 10);  // A part fits.
    errno = ENOSPC;
    return ssize_t{-1};
  };
  const std::string folder = *make_private_folder("/tmp", "muster-journal-");
  const std::string path = folder + "/journal";
  JournalFile journal = *JournalFile::open(path, 1 << 20, 0, disk);
  journal.append(job::LogLine{"info", "lost"});
  const Result<void> flushed = journal.flush();
  REQUIRE_FALSE(flushed);
  CHECK(flushed.error().text.ends_with("No space left on device"));
  full = false;
  journal.append(job::LogLine{"info", "why it ended"});
  const Result<void> later = journal.flush();
  REQUIRE_FALSE(later);
  CHECK(later.error().text == flushed.error().text);
  CHECK(journal.finish());
  CHECK(log_texts(path) == "why it ended;");
  CHECK(remove_tree(folder));
}

TEST_CASE(
    "staging: entries that an overlay cannot show are copied, and unreadable ones are errors") {
  const std::string folder = *make_private_folder("/tmp", "muster-staging-");
  REQUIRE(make_folders(folder + "/from/inner"));
  REQUIRE(write_file(folder + "/from/inner/file", "x"));
  const Staged staged{"channel train", folder + "/from", folder + "/layer", folder + "/to"};
  // A mount inside, as far as the list says: no overlay is tried.
  Result<std::optional<container::Process>> copy = stage(staged, {folder + "/from/inner"}, {});
  REQUIRE(copy);
  REQUIRE(copy->has_value());
  loop::Loop loop;
  Result<void> done = fail(Errc::timeout, "not done");
  loop::run_task(loop, wait_for_copy(loop, staged, **copy, done));
  CHECK(done);
  CHECK(*read_file(folder + "/to/inner/file") == "x");
  const Staged gone{"channel x", folder + "/none", folder + "/layer", folder + "/to"};
  CHECK(stage(gone, {}, {}).error().code == Errc::not_found);
  CHECK(remove_tree(folder));
}

TEST_CASE("results: of the Flight Recorder's dumps 256 MiB are kept, and no empty folder") {
  const std::string folder = *make_private_folder("/tmp", "muster-dumps-");
  job::HostSpec spec;
  spec.devices.gpus = {"nvidia.com/gpu=0"};
  const auto collect = [&](const std::string& host, const std::function<void(std::string)>& job) {
    spec.host_folder = folder + "/" + host;
    const std::string ml = container::ml_folder(spec);
    REQUIRE(make_folders(ml + "/model"));
    REQUIRE(make_folders(ml + "/output/data/nccl"));
    job(ml + "/output/data");
    const Result<std::vector<std::string>> warnings = collect_results(spec);
    REQUIRE_MESSAGE(warnings, (warnings ? "" : warnings.error().text));
    return join(*warnings, ";");
  };
  CHECK(collect("algo-1", [](const std::string&) {}).empty());
  CHECK(fs::exists(folder + "/algo-1/result/output/data"));
  CHECK(!fs::exists(folder + "/algo-1/result/output/data/nccl"));
  const auto dump = [](const std::string& data) {
    for (const auto& [name, mib] : {std::pair("rank_0", 200), std::pair("rank_1", 200)}) {
      REQUIRE(write_file(data + "/nccl/" + name, "x"));
      fs::resize_file(data + "/nccl/" + name, std::uintmax_t(mib) << 20);
    }
  };
  CHECK(collect("algo-2", dump) == "left out: 1 files of /opt/ml/output/data/nccl beyond 256 MiB");
  CHECK(fs::exists(folder + "/algo-2/result/output/data/nccl/rank_0"));
  CHECK(!fs::exists(folder + "/algo-2/result/output/data/nccl/rank_1"));
  // A link of the job's may lead to another's files.
  REQUIRE(make_folders(folder + "/other/nccl"));
  dump(folder + "/other");
  const auto link = [&](const std::string& data) {
    REQUIRE(remove_tree(data));
    REQUIRE(::symlink((folder + "/other").c_str(), data.c_str()) == 0);
  };
  CHECK(collect("algo-3", link).empty());
  CHECK(fs::exists(folder + "/other/nccl/rank_1"));
  CHECK(remove_tree(folder));
}

TEST_CASE("folders: a lock has one holder, and shows that a job is alive") {
  const std::string folder = *make_private_folder("/tmp", "muster-lock-");
  REQUIRE(make_folders(folder + "/algo-1"));
  CHECK(!is_living(folder));
  {
    const Result<Fd> lock = take_lock(folder + "/algo-1/lock");
    REQUIRE(lock);
    CHECK(is_living(folder));
    CHECK(take_lock(folder + "/algo-1/lock").error().code == Errc::denied);
  }
  CHECK(!is_living(folder));
  CHECK(remove_tree(folder));
}

}  // namespace
}  // namespace muster::steward
