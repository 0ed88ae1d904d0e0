#include "job/outcome/outcome.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "job/outcome/lines.h"

namespace muster::job {
namespace {

TEST_CASE("outcome: a person reads what happened, and where") {
  CHECK(describe(Outcome::exited(3)) == "exit code 3");
  CHECK(describe(Outcome::signaled(11)) == "killed by SIGSEGV");
  CHECK(describe(Outcome::signaled(63)) == "killed by signal 63");
  CHECK(describe(Outcome::lost("no heartbeat for 5 s")) == "lost: no heartbeat for 5 s");
  Verdict verdict;
  CHECK(describe(verdict) == "success");
  verdict = {Outcome::signaled(9), "algo-2", "rank 3", 3, "", ""};
  CHECK(describe(verdict) == "rank 3 on algo-2: killed by SIGKILL");
  verdict = {Outcome::lost("connection closed"), "algo-2", "host", -1, "", ""};
  CHECK(describe(verdict) == "host algo-2: lost: connection closed");
}

TEST_CASE("outcome: exit codes are a shell's") {
  CHECK(exit_code(Outcome::exited(3)) == 3);
  CHECK(exit_code(Outcome::signaled(9)) == 137);
  CHECK(exit_code(Outcome::lost("")) == 1);
  CHECK(exit_code(Outcome::failed("")) == 1);
}

TEST_CASE("outcome: verdicts go through JSON and back") {
  Verdict verdict{Outcome::failed("no such file"), "algo-1", "mpirun", -1, "a\xff", "m x"};
  verdict.out_of_memory = true;
  verdict.unseen = true;
  Result<Json> json = parse_json(to_text(to_json(verdict)));
  REQUIRE(json);
  Verdict back = *verdict_from(*json);
  CHECK(back.last_lines == "a\xef\xbf\xbd");
  back.last_lines = verdict.last_lines;
  CHECK(back == verdict);
}

TEST_CASE("outcome: malformed messages are refused") {
  for (const char* bad : {"[]", "{}", "{\"outcome\": 1}", "{\"outcome\": {\"kind\": \"gone\"}}",
                          "{\"outcome\": {\"kind\": \"exited\", \"number\": \"1\"}}",
                          "{\"outcome\": {\"kind\": \"exited\"}, \"rank\": []}"}) {
    CAPTURE(bad);
    CHECK(verdict_from(*parse_json(bad)).error().code == Errc::protocol);
  }
}

TEST_CASE("lines: encoded and decoded, any bytes") {
  const Lines lines{-1, Stream::err, false, std::string("a\0\xff\n", 4)};
  CHECK(*lines_from(encode(lines)) == lines);
  const Lines piece{0, Stream::out, true, std::string("a\0\xff\r", 4)};
  CHECK(*lines_from(encode(piece)) == piece);
  CHECK(*lines_from(encode(Lines{7, Stream::out, false, ""})) == Lines{7, Stream::out, false, ""});
}

TEST_CASE("lines: broken payloads are refused") {
  const std::string good = encode(Lines{1, Stream::out, false, "x\n"});
  std::string stream = good;
  stream[4] = 3;
  std::string flags = good;
  flags[5] = 8;
  for (const std::string& bad :
       {std::string(), good.substr(0, 5), stream, flags, good + std::string(line_bytes_max, 'x')})
    CHECK(lines_from(bad).error().code == Errc::protocol);
  for (const Lines& odd : {Lines{-2, Stream::out, false, "x\n"}, Lines{0, Stream::out, false, "x"},
                           Lines{0, Stream::out, true, "x\ny"}, Lines{0, Stream::out, true, "x\n"}})
    CHECK(lines_from(encode(odd)).error().code == Errc::protocol);
}

}  // namespace
}  // namespace muster::job
