#include "cli/view/own_log.h"

#include <doctest/doctest.h>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::cli {
namespace {

job::Lines of(int rank, std::string bytes) {
  return {.rank = rank, .bytes = std::move(bytes)};
}

TEST_CASE("own log: hosts and statuses in order of time, as files, damage ends one host's lines") {
  const std::string folder = *make_private_folder("/tmp", "muster-own-log-");
  std::string one, two;
  job::append_record(one, 1, UnixMillis(1000), job::Message::lines, job::encode(of(0, "a\n")));
  job::append_record(one, 2, UnixMillis(3000), job::Message::lines, job::encode(of(0, "c\n")));
  job::append_record(two, 1, UnixMillis(2000), job::Message::lines, job::encode(of(1, "b\n")));
  job::append_record(two, 2, UnixMillis(2500), job::Message::lines, job::encode(of(1, "x\n")));
  two.back() ^= 1;
  REQUIRE(write_file(folder + "/1", one));
  REQUIRE(write_file(folder + "/2", two));
  REQUIRE(make_folders(folder + "/log"));
  const OwnLog::Files files{
      {"algo-1", folder + "/1"}, {"algo-2", folder + "/2"}, {"algo-3", folder + "/none"}};
  REQUIRE(write_log(files, {{"Training", "on", UnixMillis(0)}, {"Failed", "bad", UnixMillis(9000)}},
                    RenderOptions{.hosts = 3, .ranks = 3}, folder + "/log"));
  CHECK(read_file(folder + "/log/all.log").value_or("") ==
        "1970-01-01 00:00:00 UTC Training - on\nalgo-1 rank 0 | a\nalgo-2 rank 1 | b\n"
        "algo-1 rank 0 | c\n1970-01-01 00:00:09 Failed - bad\n");
  CHECK(read_file(folder + "/log/algo-2.log").value_or("") == "algo-2 rank 1 | b\n");
  REQUIRE(remove_tree(folder));
}

TEST_CASE("own log: what muster notes stands in the log, as a server shows it") {
  const std::string folder = *make_private_folder("/tmp", "muster-own-log-");
  std::string journal;
  std::uint64_t seq = 0;
  for (const char* level : {"info", "note", "warning"})
    job::append_record(journal, ++seq, UnixMillis(1000), job::Message::log,
                       job::encode(job::LogLine{level, std::string("a ") + level}));
  REQUIRE(write_file(folder + "/1", journal));
  REQUIRE(make_folders(folder + "/log"));
  REQUIRE(write_log({{"algo-1", folder + "/1"}}, {}, RenderOptions{}, folder + "/log"));
  CHECK(read_file(folder + "/log/all.log").value_or("") ==
        "algo-1 muster: a note\nalgo-1 muster: warning: a warning\n");
  REQUIRE(remove_tree(folder));
}

}  // namespace
}  // namespace muster::cli
