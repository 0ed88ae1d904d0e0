#include "net/http/connection_state.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/testing.h"

namespace muster::http {
namespace {

using State = ConnectionState;
using Fate = State::Fate;
using Stage = State::Stage;
using Standing = State::Standing;

const std::vector<Stage> stages{Stage::handshake, Stage::idle,    Stage::head,
                                Stage::held_back, Stage::request, Stage::replied,
                                Stage::streaming, Stage::bodiless};
const std::vector<Fate> fates{Fate::open, Fate::closing, Fate::broken, Fate::cut, Fate::expired};

struct Event {
  std::string name;
  void (*happen)(State&);
  std::vector<std::pair<Stage, Stage>> edges;
};
const Event events[] = {
    {"await_request",
     [](State& state) { state.await_request(); },
     {{Stage::handshake, Stage::idle},
      {Stage::replied, Stage::idle},
      {Stage::streaming, Stage::idle},
      {Stage::bodiless, Stage::idle}}},
    {"begin_head",
     [](State& state) { state.begin_head(); },
     {{Stage::idle, Stage::head}, {Stage::head, Stage::head}}},
    {"read_head", [](State& state) { state.read_head(false); }, {{Stage::head, Stage::request}}},
    {"read_head held back",
     [](State& state) { state.read_head(true); },
     {{Stage::head, Stage::held_back}}},
    {"reply",
     [](State& state) { state.reply(); },
     {{Stage::head, Stage::replied},
      {Stage::held_back, Stage::replied},
      {Stage::request, Stage::replied}}},
    {"start",
     [](State& state) { state.start(true); },
     {{Stage::head, Stage::streaming},
      {Stage::held_back, Stage::streaming},
      {Stage::request, Stage::streaming}}},
    {"start to HEAD",
     [](State& state) { state.start(false); },
     {{Stage::head, Stage::bodiless},
      {Stage::held_back, Stage::bodiless},
      {Stage::request, Stage::bodiless}}},
};

TEST_CASE("connection_state: a stage has the edges that are drawn, and no others") {
  for (const Event& event : events)
    for (const Stage from : stages) {
      CAPTURE(event.name);
      CAPTURE(static_cast<int>(from));
      State state(from, Fate::open, Standing::stranger);
      const auto edge = std::find_if(event.edges.begin(), event.edges.end(),
                                     [&](const auto& each) { return each.first == from; });
      if (edge == event.edges.end()) {
        CHECK(aborts([&] { event.happen(state); }));
        continue;
      }
      event.happen(state);
      CHECK(state.stage() == edge->second);
      CHECK(state.answered() == (state.stage() > Stage::request));
    }
}

TEST_CASE("connection_state: a client that is held back is let go on once") {
  for (const Stage from : stages) {
    CAPTURE(static_cast<int>(from));
    State state(from, Fate::open, Standing::stranger);
    CHECK(state.let_go_on() == (from == Stage::held_back));
    CHECK(state.stage() == (from == Stage::held_back ? Stage::request : from));
    CHECK(!state.let_go_on());
  }
}

TEST_CASE("connection_state: a fate only gets worse, and what was cut keeps its cause") {
  for (const Fate from : fates)
    for (const Fate to : fates) {
      CAPTURE(static_cast<int>(from));
      CAPTURE(static_cast<int>(to));
      State state(Stage::request, from, Standing::stranger);
      state.worsen(to);
      const bool was_cut = from == Fate::cut || from == Fate::expired;
      CHECK(state.fate() == (was_cut || to < from ? from : to));
      CHECK(state.is_cut() == (was_cut || to == Fate::cut || to == Fate::expired));
    }
}

TEST_CASE("connection_state: a proved client holds nothing, and may be closed only while idle") {
  struct {
    Standing from;
    Standing held;
    Standing freed;
  } const cases[] = {
      {Standing::stranger, Standing::holding, Standing::stranger},
      {Standing::holding, Standing::holding, Standing::stranger},
      {Standing::proved, Standing::proved, Standing::proved},
  };
  for (const auto& [from, held, freed] : cases) {
    const int standing = static_cast<int>(from);
    CAPTURE(standing);
    State state(Stage::request, Fate::open, from);
    CHECK(state.may_go() == (from != Standing::proved));
    state.hold(true);
    CHECK(state.standing() == held);
    state.hold(false);
    CHECK(state.standing() == freed);
    state = State(Stage::idle, Fate::open, from);
    CHECK(state.may_go());
    state.prove();
    CHECK(state.standing() == Standing::proved);
  }
}

}  // namespace
}  // namespace muster::http
