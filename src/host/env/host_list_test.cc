#include "host/env/host_list.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

using Names = std::vector<std::string>;

Names names(const std::string& text) {
  const Result<Names> hosts = expand_host_list(text);
  REQUIRE_MESSAGE(hosts, (hosts ? "" : hosts.error().text));
  return *hosts;
}

std::string refusal(const std::string& text) {
  const Result<Names> hosts = expand_host_list(text);
  REQUIRE_FALSE(hosts);
  CHECK(hosts.error().code == Errc::invalid_input);
  return hosts.error().text;
}

TEST_CASE("names stand between commas, in their order") {
  CHECK(names("node1") == Names{"node1"});
  CHECK(names("b, a,10.0.0.7") == Names{"b", "a", "10.0.0.7"});
}

TEST_CASE("brackets stand for numbers, which keep their zeros") {
  CHECK(names("node[1-3]") == Names{"node1", "node2", "node3"});
  CHECK(names("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(names("n[1,07,9-10]x") == Names{"n1x", "n07x", "n9x", "n10x"});
  CHECK(names("r[1-2]n[1-2],gpu") == Names{"r1n1", "r1n2", "r2n1", "r2n2", "gpu"});
  CHECK(names("train-[0-1].svc") == Names{"train-0.svc", "train-1.svc"});
}

TEST_CASE("an invalid list is refused, and the error quotes the wrong part") {
  CHECK(refusal("") == "the list of hosts \"\": a host name is empty");
  CHECK(refusal("a,,b").find("empty") != std::string::npos);
  CHECK(refusal("n[1-2").find("brackets do not match") != std::string::npos);
  CHECK(refusal("n1]").find("brackets do not match") != std::string::npos);
  CHECK(refusal("n[[1]]").find("brackets do not match") != std::string::npos);
  CHECK(refusal("n[]").find("expected numbers in brackets") != std::string::npos);
  CHECK(refusal("n[a-b]").find("expected numbers in brackets") != std::string::npos);
  CHECK(refusal("n[1-2-3]").find("expected numbers in brackets") != std::string::npos);
  CHECK(refusal("n[3-1]") == "the list of hosts \"n[3-1]\": 3-1 is in descending order");
}

TEST_CASE("a short text does not become millions of names") {
  CHECK(refusal("n[0-4096]").find("more than 4096 hosts") != std::string::npos);
  CHECK(refusal("n[0-999999999]").find("more than 4096 hosts") != std::string::npos);
  CHECK(refusal("n[0-99999999999999999999]").find("expected numbers") != std::string::npos);
  CHECK(refusal("a[0-99]b[0-99]").find("more than 4096 hosts") != std::string::npos);
  CHECK(refusal("a[0-4095],b").find("more than 4096 hosts") != std::string::npos);
  CHECK(names("a[0-4095]").size() == 4096);
}

}  // namespace
}  // namespace muster
