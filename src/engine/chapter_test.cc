#include "engine/chapter.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "job/wire/journal.h"

namespace muster::engine {
namespace {

struct Folder {
  Folder() : path(*make_private_folder("/tmp", "muster-chapter-")) {}
  ~Folder() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

std::string records(int count, const std::string& text) {
  std::string bytes;
  for (int seq = 1; seq <= count; ++seq)
    job::append_record(bytes, static_cast<std::uint64_t>(seq), UnixMillis(seq), job::Message::log,
                       job::encode(job::LogLine{"warning", text}));
  return bytes;
}

/// The texts of a journal of several attempts.
std::vector<std::string> texts(const std::string& path) {
  job::JournalReader reader;
  reader.feed(*read_file(path));
  std::vector<std::string> all;
  while (true) {
    const Result<std::optional<job::Record>> record = reader.next();
    REQUIRE(record);
    if (!*record) return all;
    all.push_back(job::log_from((*record)->payload)->text);
  }
}

/// As an engine does it that is not killed in between.
Result<std::uint64_t> ended(const std::string& path, std::uint64_t from, int attempt) {
  const Result<std::uint64_t> whole = whole_until(path, from);
  if (!whole) return whole.error();
  return end_chapter(path, from, *whole, attempt, UnixMillis(7));
}

TEST_CASE("chapters: attempts of a host stand one behind the other, with a line between them") {
  const Folder folder;
  const std::string path = folder.path + "/journal";
  const std::string first = records(2, "first");
  // The last record of a node that was cut off is torn; a damaged one is an end, too.
  for (const std::string& rest : {std::string(), first.substr(0, 30), std::string(60, '\xff')}) {
    CAPTURE(rest.size());
    REQUIRE(write_file(path, first + rest, 0600));
    const Result<std::uint64_t> second_from = ended(path, 0, 1);
    REQUIRE(second_from);
    CHECK(*second_from == read_file(path)->size());
    REQUIRE(write_file(path, *read_file(path) + records(1, "second"), 0600));
    const Result<std::uint64_t> third_from = ended(path, *second_from, 2);
    REQUIRE(third_from);
    CHECK(texts(path) ==
          std::vector<std::string>{"first", "first",
                                   "attempt 1 ended; the lines below belong to attempt 2", "second",
                                   "attempt 2 ended; the lines below belong to attempt 3"});
  }
}

TEST_CASE("chapters: an end that was cut short and is done again leaves one line") {
  const Folder folder;
  const std::string path = folder.path + "/journal";
  REQUIRE(write_file(path, records(2, "first") + "torn", 0600));
  const Result<std::uint64_t> whole = whole_until(path, 0);
  REQUIRE(whole);
  const Result<std::uint64_t> once = end_chapter(path, 0, *whole, 1, UnixMillis(7));
  const std::string as_it_is = *read_file(path);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{5}}) {
    REQUIRE(write_file(path, as_it_is.substr(0, as_it_is.size() - cut), 0600));
    const Result<std::uint64_t> again = end_chapter(path, 0, *whole, 1, UnixMillis(7));
    REQUIRE(again);
    CHECK(*again == *once);
    CHECK(*read_file(path) == as_it_is);
  }
}

TEST_CASE("chapters: a host that never wrote has a line too, and an invalid value is named") {
  const Folder folder;
  const std::string path = folder.path + "/journal";
  REQUIRE(ended(path, 0, 1));
  CHECK(texts(path).size() == 1);
  const Result<std::uint64_t> wrong = ended(folder.path + "/none/journal", 0, 1);
  REQUIRE(!wrong);
  CHECK(wrong.error().text.find("/none/journal") != std::string::npos);
}

TEST_CASE("chapters: all hosts' parts end at once, and what they left makes room") {
  const Folder folder;
  const std::vector<std::string> hosts{"algo-1", "algo-2"};
  for (const std::string& host : hosts) {
    REQUIRE(make_folders(folder.path + "/" + host + "/result/model"));
    REQUIRE(write_file(folder.path + "/" + host + "/journal", records(2, host) + "torn", 0600));
  }
  const Result<Chapters> whole = whole_until(folder.path, hosts, {}, {{"algo-2", 7}});
  REQUIRE(whole);
  CHECK(whole->at("algo-1") == records(2, "algo-1").size());
  CHECK(whole->at("algo-2") == 7);  // As it was known.
  const Chapters both{{"algo-1", whole->at("algo-1")}, {"algo-2", whole->at("algo-1")}};
  const Result<Chapters> next = end_chapters(folder.path, hosts, {}, both, 1, UnixMillis(7));
  REQUIRE(next);
  for (const std::string& host : hosts) {
    CHECK(next->at(host) == read_file(folder.path + "/" + host + "/journal")->size());
    CHECK(texts(folder.path + "/" + host + "/journal").size() == 3);
  }
  for (int i = 0; i < 2; ++i) {
    REQUIRE(set_aside(folder.path, hosts, 1));
    CHECK(*names_in(folder.path + "/algo-1") == std::vector<std::string>{"journal"});
    CHECK(names_in(folder.path + "/attempt-1/algo-2/result")->size() == 1);
  }
}

}  // namespace
}  // namespace muster::engine
