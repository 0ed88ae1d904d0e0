#include "net/sockets/connection_quota.h"

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

namespace muster::loop {
namespace {

/// What one event of a table is answered by: "" (fine), "ends 3", "refused".
std::string happens(ConnectionQuota& quota, const std::string& event) {
  std::istringstream words(event);
  std::string what, who;
  ConnectionQuota::Id id = 0;
  words >> what >> id >> who;
  ConnectionQuota::Verdict verdict;
  if (what == "accepted") verdict = quota.accepted(id, who);
  if (what == "proved") verdict = quota.proved(id, who);
  if (what == "holds") verdict = quota.holds(id, std::stoull(who));
  if (what == "busy") quota.busy(id);
  if (what == "idle") quota.idle(id);
  if (what == "closed") quota.closed(id);
  if (!verdict.stays) return "refused";
  return verdict.ends ? "ends " + std::to_string(*verdict.ends) : "";
}

struct Event {
  const char* event;
  const char* want;
};

TEST_CASE("connection_quota: which connections are closed to make room") {
  struct {
    const char* name;
    ConnectionQuota::Limits limits;
    std::vector<Event> events;
  } const cases[] = {
      {"the oldest stranger of an address that has too many",
       {.all = 9, .of_peer = 2, .of_party = 9},
       {{"accepted 1 b", ""},
        {"accepted 2 a", ""},
        {"accepted 3 a", ""},
        {"accepted 4 a", "ends 2"},
        {"accepted 5 a", "ends 3"},
        {"accepted 6 b", ""},
        {"accepted 7 b", "ends 1"}}},
      {"the oldest stranger of all when all are too many",
       {.all = 3, .of_peer = 9, .of_party = 9},
       {{"accepted 1 a", ""},
        {"accepted 2 b", ""},
        {"accepted 3 c", ""},
        {"accepted 4 d", "ends 1"},
        {"accepted 5 c", "ends 2"}}},
      {"a stranger that trickles a request is as old as it is",
       {.all = 2, .of_peer = 9, .of_party = 9},
       {{"accepted 1 a", ""},
        {"busy 1", ""},
        {"accepted 2 b", ""},
        {"accepted 3 c", "ends 1"},
        {"idle 1", ""},
        {"accepted 4 d", "ends 2"}}},
      {"what was proved stays while there are strangers",
       {.all = 3, .of_peer = 9, .of_party = 9},
       {{"accepted 1 a", ""},
        {"proved 1", ""},
        {"accepted 2 a", ""},
        {"proved 2 job", ""},
        {"accepted 3 b", ""},
        {"accepted 4 b", "ends 3"},
        {"accepted 5 c", "ends 4"}}},
      {"then what has been idle for longest",
       {.all = 3, .of_peer = 9, .of_party = 9},
       {{"accepted 1 a", ""},
        {"busy 1", ""},
        {"proved 1", ""},
        {"accepted 2 a", ""},
        {"proved 2", ""},
        {"accepted 3 a", ""},
        {"proved 3", ""},
        {"idle 1", ""},
        {"accepted 4 b", "ends 2"},
        {"proved 4", ""},
        {"accepted 5 b", "ends 3"},
        {"proved 5", ""},
        {"accepted 6 b", "ends 1"}}},
      {"what works is not ended: the newcomer is refused",
       {.all = 1, .of_peer = 9, .of_party = 9},
       {{"accepted 1 a", ""},
        {"busy 1", ""},
        {"proved 1", ""},
        {"accepted 2 b", "refused"},
        {"closed 1", ""},
        {"accepted 3 b", ""}}},
      {"proved connections of an address do not count against its strangers",
       {.all = 9, .of_peer = 1, .of_party = 9},
       {{"accepted 1 a", ""}, {"proved 1", ""}, {"accepted 2 a", ""}, {"accepted 3 a", "ends 2"}}},
      {"a party that has too many gives up its own idle ones",
       {.all = 9, .of_peer = 9, .of_party = 2},
       {{"accepted 1 a", ""},
        {"proved 1 job", ""},
        {"accepted 2 a", ""},
        {"proved 2 other", ""},
        {"accepted 3 a", ""},
        {"proved 3 job", ""},
        {"accepted 4 a", ""},
        {"busy 4", ""},
        {"proved 4 job", "ends 1"}}},
      {"a party whose connections all work gets no further one",
       {.all = 9, .of_peer = 9, .of_party = 1},
       {{"accepted 1 a", ""},
        {"busy 1", ""},
        {"proved 1 job", ""},
        {"accepted 2 a", ""},
        {"busy 2", ""},
        {"proved 2 job", "refused"},
        {"proved 2 job", "refused"},
        {"proved 2", ""}}},
      {"a connection is proved anew by another party",
       {.all = 9, .of_peer = 9, .of_party = 1},
       {{"accepted 1 a", ""},
        {"proved 1 job", ""},
        {"proved 1 job", ""},
        {"proved 1 other", ""},
        {"accepted 2 a", ""},
        {"proved 2 job", ""}}},
      {"the stranger that holds most goes when all hold too much",
       {.all = 9, .of_peer = 9, .of_party = 9, .stranger_bytes = 100},
       {{"accepted 1 a", ""},
        {"accepted 2 a", ""},
        {"accepted 3 a", ""},
        {"holds 1 40", ""},
        {"holds 2 60", ""},
        {"holds 3 10", "ends 2"},
        {"holds 3 50", ""},
        {"holds 3 61", "refused"},
        {"holds 3 0", ""},
        {"proved 1", ""},
        {"holds 1 1000", ""},
        {"holds 3 100", ""},
        {"closed 3", ""},
        {"accepted 4 a", ""},
        {"holds 4 100", ""}}},
      {"those that are gone may not stay",
       {.all = 2, .of_peer = 1, .of_party = 9},
       {{"accepted 1 a", ""},
        {"accepted 2 a", "ends 1"},
        {"proved 1 job", "refused"},
        {"holds 1 5", "refused"},
        {"busy 1", ""},
        {"idle 1", ""},
        {"closed 1", ""},
        {"accepted 3 b", ""}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    ConnectionQuota quota(c.limits);
    for (const Event& each : c.events) {
      CAPTURE(each.event);
      CHECK(happens(quota, each.event) == each.want);
      CHECK(quota.size() <= c.limits.all);
    }
  }
}

TEST_CASE("connection_quota: an address with many strangers gives up its own before others'") {
  ConnectionQuota quota({.all = 40, .of_peer = 40, .of_party = 40});
  CHECK(happens(quota, "accepted 1 honest").empty());
  for (int i = 2; i <= 40; ++i)
    CHECK(happens(quota, "accepted " + std::to_string(i) + " crowd").empty());
  CHECK(happens(quota, "accepted 41 crowd") == "ends 2");
  CHECK(happens(quota, "accepted 42 other") == "ends 1");
}

TEST_CASE("connection_quota: the newest connections get in, however many there are") {
  ConnectionQuota quota({.all = 100, .of_peer = 30, .of_party = 10});
  for (ConnectionQuota::Id id = 1; id <= 5000; ++id) {
    CHECK(quota.accepted(id, std::to_string(id % 7)).stays);
    if (id % 50 == 0) CHECK(quota.proved(id, "job").stays);
    CHECK(quota.size() <= 100);
  }
}

TEST_CASE("connection_quota: the limits follow the descriptors") {
  struct {
    std::uint64_t descriptors;
    std::size_t all;
  } const cases[] = {{0, 16}, {64, 16}, {1024, 256}, {4096, 1024}, {1 << 20, 4096}};
  for (const auto& c : cases) {
    CAPTURE(c.descriptors);
    const ConnectionQuota::Limits limits = ConnectionQuota::limits_for(c.descriptors);
    CHECK(limits == ConnectionQuota::Limits{c.all, c.all / 4, c.all / 4});
  }
}

}  // namespace
}  // namespace muster::loop
