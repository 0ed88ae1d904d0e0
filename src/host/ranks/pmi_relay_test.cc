#include "host/ranks/pmi_relay.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "host/ranks/testing.h"

using namespace muster;
using namespace muster::ranks;

TEST_CASE("pmi relay: an abort is found in any pieces, and all bytes before it are passed on") {
  struct {
    const char* name;
    std::string text;
    std::string passed;
    std::optional<int> code;
  } const cases[] = {
      {"nothing", "", "", {}},
      {"the usual",
       "cmd=init pmi_version=1\ncmd=get_maxes\n",
       "cmd=init pmi_version=1\ncmd=get_maxes\n",
       {}},
      {"an abort", "cmd=abort exitcode=42\n", "", 42},
      {"a message with it", "cmd=abort exitcode=7 message=it failed\n", "", 7},
      {"after others", "cmd=barrier_in\ncmd=abort exitcode=3\ncmd=x\n", "cmd=barrier_in\n", 3},
      {"code 0 is none for a failure", "cmd=abort exitcode=0\n", "", 1},
      {"code 256 is seen as 0", "cmd=abort exitcode=256\n", "", 1},
      {"negative", "cmd=abort exitcode=-1\n", "", 255},
      {"without a code", "cmd=abort\n", "", 1},
      {"a strange code", "cmd=abort exitcode=x\n", "", 1},
      {"within a line",
       "cmd=put value=cmd=abort exitcode=3\n",
       "cmd=put value=cmd=abort exitcode=3\n",
       {}},
      {"a line that begins alike", "cmd=abo\ncmd=ab", "cmd=abo\n", {}},
      {"not lines", std::string("\0\1\2", 3), std::string("\0\1\2", 3), {}},
  };
  for (const auto& c : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
      CAPTURE(c.name);
      CAPTURE(piece);
      AbortFilter filter;
      std::string passed;
      for (std::size_t at = 0; at < c.text.size(); at += piece)
        passed += filter.pass(std::string_view(c.text).substr(at, piece));
      CHECK(passed == c.passed);
      CHECK(filter.code() == c.code);
    }
  }
}

TEST_CASE("pmi relay: a message that is not a line is not held back") {
  AbortFilter filter;
  CHECK(filter.pass("    10cmd=x;") == "    10cmd=x;");
  CHECK(filter.pass("cmd=a") == "cmd=a");  // Not at the start of a line.
  AbortFilter other;
  CHECK(other.pass("cmd=b") == "cmd=b");
}

TEST_CASE("pmi relay: bytes that only resemble an abort are passed on when they get too long") {
  AbortFilter filter;
  const std::string text = "cmd=abort " + std::string(100 * 1024, 'x');
  CHECK(filter.pass(text) == text);
  CHECK(!filter.code());
}

TEST_CASE("pmi relay: both directions are passed on, and an end is an end for the other side") {
  auto [daemon, ours] = *make_socket_pair();
  PmiRelay relay = *PmiRelay::open(std::move(ours));
  const Fd program = std::move(relay.programs_end());
  REQUIRE(write_all(program.get(), "cmd=init\n"));
  relay.serve_program();
  CHECK(read_until(daemon, "\n") == "cmd=init\n");
  REQUIRE(write_all(daemon.get(), "cmd=response\n"));
  relay.serve_daemon();
  CHECK(read_until(program, "\n") == "cmd=response\n");
  REQUIRE(write_all(program.get(), "cmd=abort exitcode=9\n"));
  relay.serve_program();
  CHECK(relay.abort_code() == 9);
  daemon.reset();
  relay.serve_daemon();
  CHECK(relay.from_program() < 0);
  CHECK(relay.from_daemon() < 0);
  CHECK(read_to_end(program).empty());
}

TEST_CASE("pmi relay: an ended program's remaining bytes are passed on, and its end is not") {
  auto [daemon, ours] = *make_socket_pair();
  PmiRelay relay = *PmiRelay::open(std::move(ours));
  {
    const Fd program = std::move(relay.programs_end());
    REQUIRE(write_all(program.get(), "cmd=put\ncmd=finalize\n"));
  }
  relay.serve_rest();
  CHECK(read_until(daemon, "finalize\n") == "cmd=put\ncmd=finalize\n");
  CHECK(relay.from_daemon() >= 0);
  relay.serve_rest();
}

TEST_CASE("pmi relay: without a daemon there is nothing to poll") {
  PmiRelay relay = *PmiRelay::open(Fd());
  CHECK(!relay.programs_end());
  CHECK(relay.from_program() < 0);
  CHECK(relay.from_daemon() < 0);
}
