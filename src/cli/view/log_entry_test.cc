#include "cli/view/log_entry.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

TEST_CASE("log: a line of a log gets its rank and stream back, and no other text is taken for it") {
  using Kind = LogEntry::Kind;
  struct {
    const char* message;
    Kind kind;
    int rank;
    job::Stream stream;
    const char* name;
    const char* text;
  } const cases[] = {
      {"plain", Kind::line, -1, job::Stream::out, "", "plain"},
      {"", Kind::line, -1, job::Stream::out, "", ""},
      {"[1,mpirank:0,algo-2]<stdout>:x", Kind::line, 0, job::Stream::out, "", "x"},
      {"[1,mpirank:13,algo-2]<stderr>:[1,mpirank:2,algo-2]<stdout>:", Kind::line, 13,
       job::Stream::err, "", "[1,mpirank:2,algo-2]<stdout>:"},
      {"[1,mpirank:1,algo-1]<stdout>:another host's", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:1,algo-1]<stdout>:another host's"},
      {"[1,mpirank:-1,algo-2]<stdout>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:-1,algo-2]<stdout>:x"},
      {"[1,mpirank:1,algo-2]<stdlog>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:1,algo-2]<stdlog>:x"},
      {"[1,mpirank:99999999999,algo-2]<stdout>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:99999999999,algo-2]<stdout>:x"},
      {"algo-2 muster: warning: slow: disk", Kind::own, -1, job::Stream::out, "warning",
       "slow: disk"},
      {"algo-1 muster: error: x", Kind::line, -1, job::Stream::out, "", "algo-1 muster: error: x"},
      {"algo-2 muster: odd: x", Kind::line, -1, job::Stream::out, "", "algo-2 muster: odd: x"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.message);
    const LogEntry entry = log_entry("algo-2", ms(5), one.message);
    CHECK(entry.kind == one.kind);
    CHECK(entry.rank == one.rank);
    if (one.rank >= 0) CHECK(entry.stream == one.stream);
    CHECK(entry.name == one.name);
    CHECK(entry.text == one.text);
    CHECK(entry.host == "algo-2");
    CHECK(entry.time == ms(5));
  }
}

TEST_CASE("log: a stream's host is what stands between the job and the time") {
  CHECK(host_of_stream("my-job/algo-12-1700000000000") == "algo-12");
  CHECK(host_of_stream("my-job/algo-1") == "algo-1");
  CHECK(host_of_stream("odd") == "odd");
  CHECK(host_of_stream("") == "");
}

}  // namespace
}  // namespace muster::cli
