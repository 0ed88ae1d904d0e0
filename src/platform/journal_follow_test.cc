#include "platform/journal_follow.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/remove_tree.h"
#include "loop/testing.h"

namespace muster::platform {
namespace {

struct Folder {
  Folder() : path(*make_private_folder("/tmp", "muster-follow-")) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { static_cast<void>(remove_tree(path)); }
  void append(const std::string& bytes) {
    const Fd file(
        ::open((path + "/journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    REQUIRE(write_all(file.get(), bytes));
  }
  std::string path;
};

std::string record(std::uint64_t seq, const std::string& text) {
  std::string bytes;
  job::append_record(bytes, seq, UnixMillis(5), job::Message::log, text);
  return bytes;
}

TEST_CASE("journal: records come as they are written, torn ones once they are whole") {
  Folder folder;
  loop::Loop loop;
  Result<std::unique_ptr<JournalFollow>> opened =
      JournalFollow::open(loop, {{"algo-1", folder.path, 0}});
  REQUIRE(opened);
  JournalFollow& follow = **opened;
  std::string got;
  const JournalFollow::Take take = [&](std::size_t, const job::Record& each) {
    got += each.payload + ";";
  };
  CHECK(*follow.read(0, take) == false);
  const auto story = [&]() -> loop::Task<> {
    const std::string second = record(2, "two");
    folder.append(record(1, "one") + second.substr(0, 10));
    const bool grown = co_await follow.changed();
    CHECK(grown);
    while (*follow.read(0, take)) continue;
    CHECK(got == "one;");
    folder.append(second.substr(10));
    const bool again = co_await follow.changed();
    CHECK(again);
    while (*follow.read(0, take)) continue;
    CHECK(got == "one;two;");
    CHECK(follow.offset(0) == record(1, "one").size() + second.size());
  };
  loop::run_task(loop, story());
}

TEST_CASE("journal: reading goes on from an offset") {
  Folder folder;
  folder.append(record(1, "one") + record(2, "two"));
  loop::Loop loop;
  Result<std::unique_ptr<JournalFollow>> follow =
      JournalFollow::open(loop, {{"algo-1", folder.path, record(1, "one").size()}});
  REQUIRE(follow);
  std::string got;
  CHECK(*(*follow)->read(0, [&](std::size_t, const job::Record& each) { got += each.payload; }));
  CHECK(got == "two");
}

TEST_CASE("journal: damage and a missing folder are errors") {
  Folder folder;
  std::string bytes = record(1, "one");
  bytes.back() = 'x';
  folder.append(bytes);
  loop::Loop loop;
  Result<std::unique_ptr<JournalFollow>> follow =
      JournalFollow::open(loop, {{"algo-1", folder.path, 0}});
  REQUIRE(follow);
  const Result<bool> read = (*follow)->read(0, [](std::size_t, const job::Record&) {});
  REQUIRE(!read);
  CHECK(read.error().code == Errc::protocol);
  CHECK(!JournalFollow::open(loop, {{"algo-1", folder.path + "/none", 0}}));
}

}  // namespace
}  // namespace muster::platform
