#include "engine/journals.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"

namespace muster::engine {
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

/// What can be read from `from` on, at the moment.
std::string all(Journals& journals, std::uint64_t from = 1) {
  std::string got;
  while (true) {
    const Result<Records> read = journals.records("algo-1", from);
    REQUIRE(read);
    for (const job::Record& each : read->records) {
      CHECK(each.seq == from++);
      got += each.payload + ";";
    }
    if (!read->more) return got;
  }
}

TEST_CASE("journals: records are returned as they are written, torn ones once they are complete") {
  Folder folder;
  loop::Loop loop;
  Result<std::unique_ptr<Journals>> opened = Journals::open(loop, {{"algo-1", folder.path}});
  REQUIRE(opened);
  Journals& journals = **opened;
  CHECK(all(journals) == "");
  const auto story = [&]() -> loop::Task<> {
    const std::string second = record(2, "two");
    folder.append(record(1, "one") + second.substr(0, 10));
    const bool grown = co_await journals.grown();
    CHECK(grown);
    CHECK(all(journals) == "one;");
    folder.append(second.substr(10));
    const bool again = co_await journals.grown();
    CHECK(again);
    CHECK(all(journals, 2) == "two;");
  };
  loop::run_task(loop, story());
}

TEST_CASE("journals: any number can be asked for, behind, ahead and again") {
  Folder folder;
  std::string bytes;
  for (std::uint64_t i = 1; i <= 300; ++i) bytes += record(i, std::string(9000, 'x') + "!");
  folder.append(bytes);  // 2.7 MB are more than one reading.
  loop::Loop loop;
  Result<std::unique_ptr<Journals>> opened = Journals::open(loop, {{"algo-1", folder.path}});
  REQUIRE(opened);
  const std::size_t each = 9002;
  for (const std::uint64_t from : {300u, 1u, 2u, 301u, 299u, 299u, 150u, 1000u}) {
    CAPTURE(from);
    CHECK(all(**opened, from).size() == (from > 300 ? 0 : (301 - from) * each));
  }
  folder.append(record(301, "late"));
  CHECK(all(**opened, 301) == "late;");
  CHECK((*opened)->records("algo-2", 1).error().code == Errc::not_found);
}

TEST_CASE("journals: records of earlier attempts, which stand before, are not read") {
  Folder folder;
  const std::string earlier = record(1, "one") + record(2, "two");
  folder.append(earlier);
  loop::Loop loop;
  Result<std::unique_ptr<Journals>> journals =
      Journals::open(loop, {{"algo-1", folder.path, earlier.size()}});
  REQUIRE(journals);
  CHECK(all(**journals).empty());
  folder.append(record(1, "eins") + record(2, "zwei"));
  CHECK(all(**journals) == "eins;zwei;");
  CHECK(all(**journals) == "eins;zwei;");
}

TEST_CASE("journals: damage is an error after the readable records, and so is a missing folder") {
  Folder folder;
  std::string bytes = record(1, "one") + record(2, "two");
  bytes.back() = 'x';
  folder.append(bytes);
  loop::Loop loop;
  Result<std::unique_ptr<Journals>> journals = Journals::open(loop, {{"algo-1", folder.path}});
  REQUIRE(journals);
  const Result<Records> first = (*journals)->records("algo-1", 1);
  REQUIRE(first);
  CHECK(first->records.size() == 1);
  CHECK(first->more);
  CHECK((*journals)->records("algo-1", 2).error().code == Errc::protocol);
  CHECK((*journals)->records("algo-1", 2).error().code == Errc::protocol);
  CHECK(!Journals::open(loop, {{"algo-1", folder.path + "/none"}}));
}

TEST_CASE("journals: those of 1,000 hosts are followed with as many descriptors as those of one") {
  constexpr std::size_t hosts = 1000;
  constexpr rlim_t open_max = 256;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{open_max, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::vector<Folder> folders(hosts);
  std::vector<Journals::Host> all_hosts;
  const auto name_of = [](std::size_t host) { return "algo-" + std::to_string(host + 1); };
  for (std::size_t i = 0; i < hosts; ++i) all_hosts.push_back({name_of(i), folders[i].path});
  loop::Loop loop;
  Result<std::unique_ptr<Journals>> opened = Journals::open(loop, std::move(all_hosts));
  REQUIRE(opened);
  std::size_t got = 0, wrong = 0;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (Folder& folder : folders)
      folder.append(record(round, "of round " + std::to_string(round)));
    const auto wait = [&]() -> loop::Task<> {
      const bool grown = co_await (*opened)->grown();
      CHECK(grown);
    };
    loop::run_task(loop, wait());
    for (std::size_t i = 0; i < hosts; ++i) {
      const Result<engine::Records> read = (*opened)->records(name_of(i), round);
      REQUIRE(read);
      for (const job::Record& each : read->records) wrong += each.seq == round ? 0 : 1;
      got += read->records.size();
    }
  }
  CHECK(got == 3 * hosts);
  CHECK(wrong == 0);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace
}  // namespace muster::engine
