#include "platform/ending.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace muster::platform {
namespace {

using Heard = Ending::Heard;
using Stopped = Ending::Stopped;

struct EndingEvent {
  const char* name;
  void (*tell)(Ending&);
};
const EndingEvent ending_events[] = {
    {"success", [](Ending& job) { job.success(); }},
    {"failure", [](Ending& job) { static_cast<void>(job.failure(false)); }},
    {"request", [](Ending& job) { static_cast<void>(job.failure(true)); }},
    {"stop", [](Ending& job) { job.stop(); }},
    {"stopped_outside", [](Ending& job) { job.stopped_outside(); }},
    {"time_is_up", [](Ending& job) { job.time_is_up(); }},
    {"wait_is_up", [](Ending& job) { job.wait_is_up(); }},
    {"ended_by_limit", [](Ending& job) { job.ended_by_limit(); }},
};

/// The edges as the header draws them.
struct HeardEdge {
  Heard from;
  std::string event;
  Heard to;
};
const HeardEdge heard_edges[] = {
    {Heard::nothing, "success", Heard::success},
    {Heard::nothing, "failure", Heard::failure},
    {Heard::nothing, "request", Heard::request},
    {Heard::success, "failure", Heard::failure},
    {Heard::success, "request", Heard::success_and_request},
    {Heard::request, "success", Heard::success_and_request},
};
struct StoppedEdge {
  Stopped from;
  std::string event;
  Stopped to;
  std::vector<Heard> heard;
};
const StoppedEdge stopped_edges[] = {
    {Stopped::no, "stop", Stopped::on_request, {Heard::nothing}},
    {Stopped::no, "stopped_outside", Stopped::on_request, {Heard::nothing, Heard::request}},
    {Stopped::no, "time_is_up", Stopped::time_limit, {Heard::nothing}},
    {Stopped::no, "wait_is_up", Stopped::wait_limit, {Heard::nothing}},
    {Stopped::no,
     "ended_by_limit",
     Stopped::time_limit,
     {Heard::nothing, Heard::request, Heard::success_and_request}},
    {Stopped::on_request,
     "ended_by_limit",
     Stopped::time_limit,
     {Heard::request, Heard::success_and_request}},
};

Ending expected(Heard heard, Stopped stopped, const std::string& event) {
  for (const HeardEdge& edge : heard_edges)
    if (edge.from == heard && edge.event == event) return {edge.to, stopped};
  for (const StoppedEdge& edge : stopped_edges)
    if (edge.from == stopped && edge.event == event)
      for (const Heard each : edge.heard)
        if (each == heard) return {heard, edge.to};
  return {heard, stopped};
}

TEST_CASE("ending: every event in every state takes the edge that is drawn, or changes nothing") {
  for (const Heard heard :
       {Heard::nothing, Heard::success, Heard::request, Heard::success_and_request, Heard::failure})
    for (const Stopped stopped :
         {Stopped::no, Stopped::on_request, Stopped::time_limit, Stopped::wait_limit})
      for (const EndingEvent& event : ending_events) {
        CAPTURE(static_cast<int>(heard));
        CAPTURE(static_cast<int>(stopped));
        CAPTURE(event.name);
        Ending job(heard, stopped);
        event.tell(job);
        const Ending want = expected(heard, stopped, event.name);
        CHECK(job.heard() == want.heard());
        CHECK(job.stopped() == want.stopped());
      }
}

TEST_CASE("ending: a host's failure is the first only once") {
  Ending job;
  CHECK(job.goes_on());
  CHECK(job.failure(true));
  CHECK(!job.failure(false));
  CHECK(job.failed());
  CHECK(job.is_cut_short());
  CHECK(!job.goes_on());
  CHECK(!Ending(Heard::success, Stopped::no).failed());
  CHECK(!Ending(Heard::success, Stopped::no).is_cut_short());
}

}  // namespace
}  // namespace muster::platform
