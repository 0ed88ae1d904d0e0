#include "server/bucket/bucket_log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <thread>

#include "base/text.h"
#include "server/bucket/bucket_store.h"

using namespace muster;
using namespace muster::bucket;

namespace {

/// Two log files in a folder of its own, and what was replayed from them.
struct Lab {
  Lab() : path(*make_private_folder("/tmp", "muster-log-")) { folder = open_path(path); }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() {
    log.reset();
    std::filesystem::remove_all(path);
  }
  static Fd open_path(const std::string& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  /// As at a start: what the log says of each file.
  std::map<std::string, std::string> start(BucketLog::Options options = {}) {
    log.reset();
    log = *BucketLog::open(folder.get(), std::move(options));
    std::map<std::string, std::string> said;
    REQUIRE(log->replay([&](const LogEntry& entry) -> Result<void> {
      said[std::string(entry.file)] = static_cast<char>(entry.kind) + std::string(entry.bytes);
      return {};
    }));
    return said;
  }
  void write(const std::string& file, const std::string& bytes) {
    const Result<std::uint64_t> entry = log->written(file, bytes);
    REQUIRE(entry);
    REQUIRE(log->wait(*entry));
  }

  std::string path;
  Fd folder;
  std::unique_ptr<BucketLog> log;
};

using Said = std::map<std::string, std::string>;

/// A bucket with a few small objects that only its log has on disk for sure.
struct CutLab {
  CutLab() : path(*make_private_folder("/tmp", "muster-cut-")) {
    open();
    REQUIRE(*store->create("bucket", UnixMillis(1)));
    bucket = store->find("bucket");
  }
  CutLab(const CutLab&) = delete;
  CutLab& operator=(const CutLab&) = delete;
  ~CutLab() {
    close();
    std::filesystem::remove_all(path);
  }
  void close() {
    bucket.reset();
    store.reset();
  }
  void open() {
    close();
    store = *BucketStore::open(path + "/s3");
    bucket = store->find("bucket");
  }
  void put(const std::string& key, const std::string& bytes) {
    Draft draft = bucket->draft();
    REQUIRE(draft.add(bytes));
    ObjectRecord record;
    record.key = key;
    REQUIRE(*bucket->put(std::move(draft), record, {}) == WriteEnd::done);
  }
  std::string get(const std::string& key) {
    Result<std::optional<OpenedObject>> found = bucket->find(key, true);
    REQUIRE(found);
    if (!*found) return "(none)";
    if ((*found)->is_small) return (*found)->small;
    return std::to_string((*found)->record.size) + " bytes";
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(path + "/s3/bucket/objects"))
      if (entry.is_regular_file()) found.push_back(entry.path().string());
    return found;
  }
  std::string log_file() const { return path + "/s3/bucket/log.0"; }

  std::string path;
  std::unique_ptr<BucketStore> store;
  std::shared_ptr<Bucket> bucket;
};

}  // namespace

TEST_CASE("bucket log: entries are read back, up to the first torn, damaged or old one") {
  const LogFilling filling{7, 1};
  const LogFilling before{6, 0};
  const std::string one = encode_entry(filling, {LogKind::written, "aa/1", "bytes"});
  const std::string two = encode_entry(filling, {LogKind::removed, "aa/1", {}});
  const std::string old = encode_entry(before, {LogKind::settled, "aa/2", {}});
  struct {
    const char* name;
    std::string log;
    std::size_t entries;
  } const cases[] = {
      {"nothing", "", 0},
      {"zeros", std::string(100, '\0'), 0},
      {"both", one + two, 2},
      {"both before zeros", one + two + std::string(5000, '\0'), 2},
      {"an older filling behind", one + two + old, 2},
      {"a newer one in front", old + one, 1},
      {"a length beyond the end", one + std::string(4, '\xff') + two, 1},
      {"a length of nothing", std::string("\x08\0\0\0", 4) + one, 0},
      {"no kind of ours", encode_entry(filling, {static_cast<LogKind>('x'), "a", {}}), 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(read_entries(c.log).entries.size() == c.entries);
  }
  const LogRead read = read_entries(cases[2].log);
  CHECK(read.entries[0].file == "aa/1");
  CHECK(read.entries[0].bytes == "bytes");
  CHECK(read.entries[1].kind == LogKind::removed);
  CHECK(read.bytes == one.size() + two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CAPTURE(i);
    std::string damaged = one + two;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CHECK(read_entries(damaged).entries.empty());
    CHECK(read_entries(one + two.substr(0, std::min(i, two.size() - 1))).entries.size() == 1);
  }
}

TEST_CASE("bucket log: the last that was said of a file counts, and once only") {
  Lab lab;
  CHECK(lab.start().empty());
  lab.write("aa/1", "first");
  lab.write("aa/2", "other");
  lab.write("aa/1", "second");
  lab.write("aa/3", "gone");
  CHECK(*lab.log->changed(LogKind::removed, "aa/3"));
  CHECK(*lab.log->changed(LogKind::settled, "aa/2"));
  CHECK_FALSE(*lab.log->changed(LogKind::removed, "aa/4"));  // The log says nothing of 4.
  CHECK(lab.log->holds("aa/1"));
  CHECK_FALSE(lab.log->holds("aa/4"));
  CHECK(lab.start() == Said{{"aa/1", "wsecond"}, {"aa/2", "s"}, {"aa/3", "r"}});
  CHECK(lab.start().empty());
  CHECK_FALSE(lab.log->holds("aa/1"));
}

TEST_CASE("bucket log: a full file gives way to the other, and what it said is forgotten") {
  Lab lab;
  const BucketLog::Options short_log{.bytes_max = 1000};
  lab.start(short_log);
  const std::string bytes(300, 'x');
  Said latest;
  int taken = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string file = "aa/" + std::to_string(i % 7);
    const std::string now = std::to_string(i) + bytes;
    const Result<std::uint64_t> entry = lab.log->written(file, now);
    if (!entry) {  // Both are full for a moment: then the caller syncs, and says so.
      CHECK(entry.error().code == Errc::closed);
      const auto settled = lab.log->changed(LogKind::settled, file);
      REQUIRE(settled);
      continue;
    }
    REQUIRE(lab.log->wait(*entry));
    latest[file] = "w" + now;
    ++taken;
  }
  CHECK(taken >= 4);
  for (const auto& each : lab.start(short_log)) {
    CAPTURE(each.first);
    if (each.second != "s") CHECK(each.second == latest[each.first]);
  }
}

TEST_CASE("bucket log: of two files the later filling counts, whichever is read first") {
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    Lab lab;
    const std::string early = encode_entry({1, 1}, {LogKind::written, "aa/1", "early"});
    const std::string late = encode_entry({2, 2}, {LogKind::written, "aa/1", "late"});
    REQUIRE(write_file(lab.path + "/log.0", swapped ? late : early));
    REQUIRE(write_file(lab.path + "/log.1", swapped ? early : late));
    CHECK(lab.start() == Said{{"aa/1", "wlate"}});
    CHECK(lab.start().empty());
  }
}

TEST_CASE("bucket log: a full disk is reported to all waiters, and nothing is lost") {
  Lab lab;
  lab.start();
  lab.write("aa/1", "kept");
  lab.log.reset();
  std::filesystem::copy(lab.path + "/log.0", lab.path + "/kept");
  std::filesystem::remove(lab.path + "/log.0");
  std::filesystem::create_symlink("/dev/full", lab.path + "/log.0");
  lab.log = *BucketLog::open(lab.folder.get(), {});
  const Result<std::uint64_t> refused = lab.log->written("aa/2", "more");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::closed);
  std::filesystem::remove(lab.path + "/log.0");
  std::filesystem::rename(lab.path + "/kept", lab.path + "/log.0");
  CHECK(lab.start() == Said{{"aa/1", "wkept"}});
}

TEST_CASE("bucket log: a disk that fails is reported once, and all get its first error") {
  enum class Call { write, sync, sync_all };
  for (const Call failing : {Call::write, Call::sync, Call::sync_all}) {
    CAPTURE(static_cast<int>(failing));
    std::vector<std::string> told;
    std::promise<void> is_told;
    int failures = 0;
    std::optional<Call> broken;
    const auto fails = [&](Call call) {
      if (broken != call) return false;
      errno = ++failures == 1 ? EIO : EBADF;  // What comes second is not the reason.
      return true;
    };
    BucketLog::Options options;
    if (failing == Call::sync_all) options.bytes_max = 4096;  // The second entry finds it full.
    options.disk.write = [&](int fd, const void* bytes, std::size_t count, off_t at) {
      return fails(Call::write) ? -1 : ::pwrite(fd, bytes, count, at);
    };
    options.disk.sync = [&](int fd) { return fails(Call::sync) ? -1 : ::fdatasync(fd); };
    options.disk.sync_all = [&](int fd) { return fails(Call::sync_all) ? -1 : ::syncfs(fd); };
    options.failed = [&](const Error& error) {
      told.push_back(error.text);
      if (told.size() == 1) is_told.set_value();
    };

    Lab lab;
    lab.start(options);
    lab.write("aa/1", std::string(3000, 'a'));
    broken = failing;
    Result<std::uint64_t> entry = lab.log->written("aa/2", std::string(3000, 'b'));
    if (entry) (void)lab.log->wait(*entry);
    REQUIRE(is_told.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    REQUIRE(told.size() == 1);
    CHECK(told[0].ends_with("Input/output error"));

    entry = lab.log->written("aa/3", "c");
    REQUIRE_FALSE(entry);
    CHECK(entry.error().code == Errc::closed);
    CHECK(entry.error().text == told[0]);
    const Result<std::optional<std::uint64_t>> removed = lab.log->changed(LogKind::removed, "aa/1");
    REQUIRE_FALSE(removed);
    CHECK(removed.error().text == told[0]);
    const Result<void> waited = lab.log->wait(1000);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().text == told[0]);
    CHECK(lab.log->holds("aa/1"));
    lab.log.reset();
    CHECK(told.size() == 1);
    CHECK(failures == 1);
    CHECK(lab.start().at("aa/1") == "w" + std::string(3000, 'a'));
  }
}

TEST_CASE("bucket log: a full disk is not a failure: once there is room the log continues") {
  Lab lab;
  bool full = true;
  BucketLog::Options options;
  options.disk.write = [&](int fd, const void* bytes, std::size_t count, off_t at) {
    if (full) errno = ENOSPC;
    return full ? -1 : ::pwrite(fd, bytes, count, at);
  };
  int told = 0;
  options.failed = [&](const Error&) { ++told; };
  lab.start(options);
  const Result<std::uint64_t> refused = lab.log->written("aa/1", "one");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::closed);
  full = false;
  lab.write("aa/1", "two");
  CHECK(told == 0);
  CHECK(lab.start() == Said{{"aa/1", "wtwo"}});
}

TEST_CASE("bucket log: many threads wait for few syncs and all are on disk") {
  Lab lab;
  lab.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&lab, t] {
      for (int i = 0; i < 50; ++i) lab.write("aa/" + std::to_string(t), std::to_string(i));
    });
  for (std::thread& thread : threads) thread.join();
  const Said said = lab.start();
  CHECK(said.size() == 8);
  for (const auto& [file, bytes] : said) CHECK(bytes == "w49");
}

TEST_CASE("bucket log: after a power cut every small object that was acknowledged is there") {
  struct {
    const char* name;
    std::function<void(const std::string&)> lose;
  } const cases[] = {
      {"nothing is lost", [](const std::string&) {}},
      {"the file is missing", [](const std::string& file) { std::filesystem::remove(file); }},
      {"the folder is missing",
       [](const std::string& file) {
         std::filesystem::remove_all(std::filesystem::path(file).parent_path());
       }},
      {"the file is empty", [](const std::string& file) { std::filesystem::resize_file(file, 0); }},
      {"the bytes are zeros, with an end",
       [](const std::string& file) {
         std::string bytes = *read_file(file);
         std::fill_n(bytes.begin(), 3, '\0');
         REQUIRE(write_file(file, bytes));
       }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CutLab lab;
    lab.put("a", "first of a");
    lab.put("b", "of b");
    lab.put("a", "second of a");
    lab.put("gone", "x");
    CHECK(*lab.bucket->remove("gone", {}) == WriteEnd::done);
    lab.put("long", "short at first");
    lab.put("long", std::string(100'000, 'x'));  // Synced by itself: the log's bytes are old.
    const std::vector<std::string> files = lab.files();
    lab.close();
    for (const std::string& file : files)
      if (std::filesystem::exists(file) && std::filesystem::file_size(file) < 100'000) c.lose(file);
    lab.open();
    CHECK(lab.get("a") == "second of a");
    CHECK(lab.get("b") == "of b");
    CHECK(lab.get("gone") == "(none)");
    if (lab.files().size() == files.size()) CHECK(lab.get("long") == "100000 bytes");
    CHECK(std::filesystem::is_empty(lab.path + "/s3/bucket/temporary"));
    lab.open();  // The log is empty now; what it brought back stays.
    CHECK(lab.get("a") == "second of a");
  }
}

TEST_CASE("bucket log: cut anywhere, it gives each object as one of its writes left it, in order") {
  CutLab lab;
  const int writes = 5;
  for (int i = 0; i < writes; ++i) lab.put("k", "write " + std::to_string(i));
  lab.close();
  const std::string whole = *read_file(lab.log_file());
  const LogRead read = read_entries(whole);
  REQUIRE(read.entries.size() == writes);
  const std::size_t each = read.bytes / writes;
  for (std::size_t cut = 0; cut <= read.bytes; cut += each / 7) {
    CAPTURE(cut);
    REQUIRE(write_file(lab.log_file(), whole.substr(0, cut) + std::string(100, '\0')));
    std::filesystem::remove_all(lab.path + "/s3/bucket/objects");
    lab.open();
    const std::size_t entries = cut / each;
    CHECK(lab.get("k") == (entries == 0 ? "(none)" : "write " + std::to_string(entries - 1)));
    lab.close();
  }
}

TEST_CASE("bucket log: concurrent overwrites of a key leave the last one, also in the log") {
  CutLab lab;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&lab, t] {
      for (int i = 0; i < 40; ++i) {
        const std::string bytes(i % 5 == 0 ? 70'000 : 10, static_cast<char>('a' + t));
        lab.put("k", bytes);
        if (i % 7 == 0) CHECK(*lab.bucket->remove("k", {}) == WriteEnd::done);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const char* last : {"small", "none"}) {
    CAPTURE(last);
    if (std::string(last) == "small") lab.put("k", "small");
    if (std::string(last) == "none") CHECK(*lab.bucket->remove("k", {}) == WriteEnd::done);
    const std::string before = lab.get("k");
    const std::vector<std::string> files = lab.files();
    lab.close();
    for (const std::string& file : files) std::filesystem::remove(file);
    lab.open();
    CHECK(lab.get("k") == before);
  }
}
