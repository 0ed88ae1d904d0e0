#include "engine/linked/linked_host.h"

#include <algorithm>
#include <initializer_list>

namespace muster::cluster {
namespace {

/// The edges from each of `from` to `to`. True if one was taken.
template <class State>
bool go(State& state, std::initializer_list<State> from, State to) {
  if (std::find(from.begin(), from.end(), state) == from.end()) return false;
  state = to;
  return true;
}

}  // namespace

bool LinkedHost::opens() {
  return go(link_, {Link::closed}, Link::open);
}

bool LinkedHost::says_hello() {
  return go(link_, {Link::open}, Link::greeted);
}

bool LinkedHost::closes() {
  return go(link_, {Link::open, Link::greeted}, Link::closed);
}

bool LinkedHost::joins() {
  return go(presence_, {Presence::awaited, Presence::silent}, Presence::present);
}

bool LinkedHost::falls_silent() {
  return go(presence_, {Presence::present}, Presence::silent);
}

bool LinkedHost::steward_begins() {
  return go(steward_, {Steward::awaited}, Steward::running);
}

bool LinkedHost::steward_ends() {
  return go(steward_, {Steward::awaited, Steward::running}, Steward::ended);
}

bool LinkedHost::done() {
  return go(order_, {Order::run}, Order::done);
}

bool LinkedHost::end() {
  return go(order_, {Order::run, Order::done}, Order::end);
}

bool LinkedHost::leave() {
  return go(order_, {Order::run}, Order::left);
}

bool LinkedHost::want() {
  return go(results_, {Results::none}, Results::wanted);
}

bool LinkedHost::all_came() {
  return go(results_, {Results::wanted}, Results::unpacking);
}

bool LinkedHost::given() {
  return go(results_, {Results::wanted, Results::unpacking}, Results::none);
}

bool LinkedHost::forget() {
  return go(results_, {Results::none, Results::wanted}, Results::forgotten);
}

}  // namespace muster::cluster
