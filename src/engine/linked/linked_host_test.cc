#include "engine/linked/linked_host.h"

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

namespace muster::cluster {
namespace {

using Link = LinkedHost::Link;
using Presence = LinkedHost::Presence;
using Steward = LinkedHost::Steward;
using Order = LinkedHost::Order;
using Results = LinkedHost::Results;

struct HostEvent {
  const char* name;
  bool (LinkedHost::*happens)();
};
const HostEvent host_events[] = {
    {"opens", &LinkedHost::opens},
    {"says_hello", &LinkedHost::says_hello},
    {"closes", &LinkedHost::closes},
    {"joins", &LinkedHost::joins},
    {"falls_silent", &LinkedHost::falls_silent},
    {"steward_begins", &LinkedHost::steward_begins},
    {"steward_ends", &LinkedHost::steward_ends},
    {"done", &LinkedHost::done},
    {"end", &LinkedHost::end},
    {"leave", &LinkedHost::leave},
    {"want", &LinkedHost::want},
    {"all_came", &LinkedHost::all_came},
    {"given", &LinkedHost::given},
    {"forget", &LinkedHost::forget},
};

/// The edges as the header draws them.
template <class State>
using HostEdges = std::vector<std::tuple<State, std::string, State>>;
const HostEdges<Link> link_edges = {
    {Link::closed, "opens", Link::open},
    {Link::open, "says_hello", Link::greeted},
    {Link::open, "closes", Link::closed},
    {Link::greeted, "closes", Link::closed},
};
const HostEdges<Presence> presence_edges = {
    {Presence::awaited, "joins", Presence::present},
    {Presence::present, "falls_silent", Presence::silent},
    {Presence::silent, "joins", Presence::present},
};
const HostEdges<Steward> steward_edges = {
    {Steward::awaited, "steward_begins", Steward::running},
    {Steward::awaited, "steward_ends", Steward::ended},
    {Steward::running, "steward_ends", Steward::ended},
};
const HostEdges<Order> order_edges = {
    {Order::run, "done", Order::done},
    {Order::run, "end", Order::end},
    {Order::run, "leave", Order::left},
    {Order::done, "end", Order::end},
};
const HostEdges<Results> results_edges = {
    {Results::none, "want", Results::wanted},
    {Results::none, "forget", Results::forgotten},
    {Results::wanted, "all_came", Results::unpacking},
    {Results::wanted, "given", Results::none},
    {Results::wanted, "forget", Results::forgotten},
    {Results::unpacking, "given", Results::none},
};

template <class State>
State after(const HostEdges<State>& edges, State from, const std::string& event) {
  for (const auto& [state, name, to] : edges)
    if (state == from && name == event) return to;
  return from;
}

std::vector<LinkedHost> all_linked_hosts() {
  std::vector<LinkedHost> all;
  for (const Link link : {Link::closed, Link::open, Link::greeted})
    for (const Presence presence : {Presence::awaited, Presence::present, Presence::silent})
      for (const Steward steward : {Steward::awaited, Steward::running, Steward::ended})
        for (const Order order : {Order::run, Order::done, Order::end, Order::left})
          for (const Results results :
               {Results::none, Results::wanted, Results::unpacking, Results::forgotten})
            all.emplace_back(link, presence, steward, order, results);
  return all;
}

TEST_CASE("linked host: every event in every state takes the edge that is drawn, or none") {
  for (const LinkedHost& from : all_linked_hosts())
    for (const HostEvent& event : host_events) {
      CAPTURE(event.name);
      CAPTURE(static_cast<int>(from.link()));
      CAPTURE(static_cast<int>(from.presence()));
      CAPTURE(static_cast<int>(from.steward()));
      CAPTURE(static_cast<int>(from.order()));
      CAPTURE(static_cast<int>(from.results()));
      const LinkedHost want(after(link_edges, from.link(), event.name),
                            after(presence_edges, from.presence(), event.name),
                            after(steward_edges, from.steward(), event.name),
                            after(order_edges, from.order(), event.name),
                            after(results_edges, from.results(), event.name));
      LinkedHost host = from;
      CHECK((host.*event.happens)() == (want != from));
      CHECK(host == want);
    }
}

}  // namespace
}  // namespace muster::cluster
