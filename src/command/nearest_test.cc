#include "command/nearest.h"

#include <doctest/doctest.h>

#include <string>

namespace muster::command {
namespace {

TEST_CASE("nearest: the distance counts letters inserted, deleted, changed and swapped") {
  struct {
    const char* a;
    const char* b;
    std::size_t distance;
  } const cases[] = {{"", "", 0},         {"fit", "fit", 0},        {"", "fit", 3},
                     {"fit", "", 3},      {"fti", "fit", 1},        {"ft", "fit", 1},
                     {"fitt", "fit", 1},  {"fat", "fit", 1},        {"hosts", "host", 1},
                     {"stpo", "stop", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
                     {"abcd", "badc", 2}, {"jobs", "logs", 2},      {"source-dri", "source-dir", 1},
                     {"xyz", "fit", 3}};
  for (const auto& one : cases) {
    CAPTURE(one.a);
    CAPTURE(one.b);
    CHECK(edit_distance(one.a, one.b) == one.distance);
    CHECK(edit_distance(one.b, one.a) == one.distance);
  }
}

TEST_CASE("nearest: a typo finds its word, and other words find none") {
  const std::vector<std::string_view> known = {"fit",     "server",       "submit",
                                               "jobs",    "logs",         "stop",
                                               "--hosts", "--source-dir", "--num_processes"};
  struct {
    const char* word;
    const char* want;
  } const cases[] = {
      {"fti", "fit"},
      {"sumbit", "submit"},
      {"job", "jobs"},
      {"sevrer", "server"},
      {"--host", "--hosts"},
      {"--source_dir", "--source-dir"},
      {"-hosts", "--hosts"},
      {"--surce-dri", "--source-dir"},
      {"--num-proceses", "--num_processes"},
      {"frobnicate", ""},
      {"x", ""},
      {"", ""},
      {"--", ""},
      {"ls", ""},
      {"--x", ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.word);
    CHECK(nearest(one.word, known) == one.want);
  }
  CHECK(nearest("fit", {}).empty());
  CHECK(nearest(std::string(100'000, 'f'), known).empty());
}

TEST_CASE("nearest: of two equally near words the first is chosen") {
  CHECK(nearest("bad", {"bat", "bar"}) == "bat");
}

}  // namespace
}  // namespace muster::command
