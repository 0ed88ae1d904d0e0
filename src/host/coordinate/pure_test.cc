#include <doctest/doctest.h>

#include "base/testing.h"
#include "host/coordinate/leader_call.h"
#include "host/coordinate/liveness.h"
#include "host/coordinate/member_call.h"
#include "host/coordinate/rollcall_messages.h"
#include "job/wire/message.h"

using namespace muster;
using namespace muster::coordinate;
using namespace std::chrono_literals;
using job::Message;
using job::type_of;

namespace {

const TimePoint start{1h};
using LeaderKind = LeaderCall::Action::Kind;
using MemberKind = MemberCall::Action::Kind;

LeaderCall::Options three_hosts() {
  return {.host = "algo-1", .hosts = {"algo-1", "algo-2", "algo-3"}, .muster = "0.1.0"};
}

Frame join_frame(const std::string& host, int version = wire_version) {
  return {type_of(Message::join), encode(Join{.version = version, .muster = "9.9", .host = host})};
}

/// The reason in the last refusal among `actions`, with '*' before it if a later try may succeed.
std::string refusal(const std::vector<LeaderCall::Action>& actions) {
  for (const auto& action : actions) {
    if (action.kind != LeaderKind::send || action.type != type_of(Message::refuse)) continue;
    const Refuse refuse = *refuse_from(action.text);
    return (refuse.retry ? "*" : "") + refuse.why;
  }
  return "admitted";
}

template <class Actions, class Kind>
std::string text_of(const Actions& actions, Kind kind) {
  for (const auto& action : actions)
    if (action.kind == kind) return action.text;
  return "none";
}

LeaderCall with_all_joined() {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-2", "10.0.0.2", start);
  call.opened(2, "algo-3", "10.0.0.3", start);
  call.frame(1, join_frame("algo-2"), start);
  call.frame(2, join_frame("algo-3"), start);
  CHECK(call.started());
  call.take_actions();
  return call;
}

MemberCall member_call() {
  MemberCall::Options options;
  options.join = {.muster = "0.1.0", .host = "algo-2"};
  options.leader = "algo-1";
  options.where = "10.0.0.1:9730";
  return MemberCall(std::move(options), start);
}

}  // namespace

TEST_CASE("liveness: a host is lost after silence, once, and not while it is held") {
  Liveness liveness(5s);
  CHECK_FALSE(liveness.next_deadline());
  CHECK(liveness.beat("algo-2", start).error().code == Errc::not_found);
  liveness.add("algo-3", start);
  liveness.add("algo-2", start);
  CHECK(liveness.beat("algo-2", start + 4s));
  CHECK(liveness.expire(start + 4999ms).empty());
  CHECK(*liveness.next_deadline() == start + 5s);
  CHECK_FALSE(liveness.all_silent(4s, start + 5s));
  CHECK(liveness.expire(start + 5s) == std::vector<std::string>{"algo-3"});
  CHECK(liveness.expire(start + 5s).empty());
  CHECK(liveness.beat("algo-3", start + 5s).error().code == Errc::not_found);
  liveness.hold("algo-2", true, start + 6s);
  CHECK_FALSE(liveness.next_deadline());
  CHECK(liveness.expire(start + 1h).empty());
  liveness.hold("algo-2", false, start + 1h);
  CHECK(*liveness.next_deadline() == start + 1h + 5s);
  liveness.excuse(start + 1h + 4s);
  CHECK(liveness.expire(start + 1h + 5s).empty());
  CHECK(liveness.expire(start + 1h + 9s).size() == 1);
}

TEST_CASE("coordinate: events at an earlier time than the last one's end the process") {
  Liveness liveness(5s);
  liveness.add("algo-2", start + 1s);
  CHECK(aborts([&] { static_cast<void>(liveness.expire(start)); }));
  CHECK(aborts([&] { static_cast<void>(liveness.beat("algo-3", start)); }));
  LeaderCall leader = with_all_joined();
  leader.step(start + 1s);
  CHECK(aborts([&] { leader.step(start); }));
  CHECK(aborts([&] { leader.closed(1, "reset", start); }));
  MemberCall member = member_call();
  CHECK(aborts([&] { member.begin(start - 1ms); }));
}

TEST_CASE("protocol: messages are parsed back unchanged") {
  const Join join{.muster = "0.1.0", .host = "algo-2"};
  CHECK(*join_from(encode(join)) == join);
  const Welcome welcome{.muster = "0.1.0", .wait = 1500ms};
  CHECK(*welcome_from(encode(welcome)) == welcome);
  const Refuse refuse{"no \"such\" host", true};
  CHECK(*refuse_from(encode(refuse)) == refuse);
}

TEST_CASE("protocol: an invalid message is an error and never a crash") {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"version":"1"})", R"({"version":0})",
                           R"({"version":1e30})", R"({"version":99999999999})",
                           R"({"version":1,"host":""})", R"({"version":1,"host":7})"}) {
    CAPTURE(text);
    CHECK(join_from(text).error().code == Errc::protocol);
  }
  CHECK(join_from(R"({"version":1,"host":"a","x":")" + std::string(join_bytes_max, 'x') + "\"}")
            .error()
            .code == Errc::protocol);
  for (const char* text :
       {"[]", R"({"version":1})", R"({"version":1,"wait_ms":-1})",
        R"({"version":1,"wait_ms":1e300})", R"({"version":1,"wait_ms":999999999999999})"})
    CHECK(welcome_from(text).error().code == Errc::protocol);
  for (const char* text : {"[]", "{}", R"({"why":""})", R"({"why":3})"})
    CHECK(refuse_from(text).error().code == Errc::protocol);
  CHECK(join_from(R"({"version":2,"new":true})")->version == 2);
  CHECK(welcome_from(R"({"version":2})")->version == 2);
}

TEST_CASE("protocol: identities name job and host, times are spelled for people") {
  CHECK(identity_of("job", "algo-2") == "job/algo-2");
  CHECK(host_in("job/algo-2", "job") == "algo-2");
  CHECK(host_in("jobs/algo-2", "job").empty());
  CHECK(spell(15min) == "15 min");
  CHECK(spell(90s) == "90 s");
  CHECK(spell(60s) == "60 s");
  CHECK(spell(5s) == "5 s");
  CHECK(spell(1500ms) == "1500 ms");
  CHECK(spell(12345ms) == "12 s");
}

TEST_CASE("leader: every kind of unwelcome guest gets the reason") {
  struct {
    const char* name;
    const char* proved;
    Frame frame;
    const char* want;
  } const cases[] = {
      {"another version", "algo-2", join_frame("algo-2", 2),
       "algo-2 (muster 9.9) uses version 2 of the roll call protocol, algo-1 (muster 0.1.0) uses "
       "version 1"},
      {"not of this job", "algo-9", join_frame("algo-9"),
       "'algo-9' is not a member of this job; its hosts are algo-1, algo-2, algo-3"},
      {"the leader's own name", "algo-1", join_frame("algo-1"),
       "'algo-1' is not a member of this job; its hosts are algo-1, algo-2, algo-3"},
      {"another than it proved", "algo-2", join_frame("algo-3"),
       "authenticated as 'algo-2' but calls itself 'algo-3'"},
      {"no join", "algo-2", {type_of(Message::join), "{}"}, "join: missing version"},
      {"here already", "algo-3", join_frame("algo-3"),
       "*algo-3 has already joined with another session"},
      {"welcome", "algo-2", join_frame("algo-2"), "admitted"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    LeaderCall call(three_hosts(), start);
    call.opened(1, "algo-3", "10.0.0.3", start);
    call.frame(1, join_frame("algo-3"), start);
    call.take_actions();
    call.opened(2, c.proved, "10.0.0.2", start);
    CHECK_FALSE(call.frame(2, c.frame, start));
    CHECK(refusal(call.take_actions()) == c.want);
    CHECK(call.session_of("algo-3") == 1);
    // Who was refused is hung up on if it does not go by itself.
    call.step(start + 3s);
    const auto later = call.take_actions();
    CHECK((text_of(later, LeaderKind::close) == "none") == (std::string(c.want) == "admitted"));
  }
}

TEST_CASE("leader: a late guest is informed, after the start and after the deadline") {
  LeaderCall started = with_all_joined();
  started.opened(9, "algo-2", "10.0.0.2", start + 1s);
  started.frame(9, join_frame("algo-2"), start + 1s);
  CHECK(refusal(started.take_actions()) == "the job has already started; algo-2 joined too late");
  LeaderCall failed(three_hosts(), start);
  failed.step(start + 15min);
  CHECK(text_of(failed.take_actions(), LeaderKind::give_up) ==
        "algo-2, algo-3 did not join within 15 min");
  failed.opened(1, "algo-2", "10.0.0.2", start + 16min);
  failed.frame(1, join_frame("algo-2"), start + 16min);
  CHECK(refusal(failed.take_actions()) == "algo-2, algo-3 did not join within 15 min");
}

TEST_CASE("leader: a session's number that is used twice ends the process") {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-2", "10.0.0.2", start);
  CHECK(aborts([&] { call.opened(1, "algo-3", "10.0.0.3", start); }));
}

TEST_CASE("leader: strangers that never join are bounded in number and time") {
  LeaderCall call(three_hosts(), start);
  for (LeaderCall::Session i = 1; i <= 256; ++i) call.opened(i, "algo-2", "10.0.0.2", start);
  CHECK(call.take_actions().empty());
  call.opened(257, "algo-2", "10.0.0.2", start);
  CHECK(text_of(call.take_actions(), LeaderKind::close).empty());
  REQUIRE(call.next_deadline());
  call.step(start + 10s);
  std::size_t closed = 0;
  for (const auto& action : call.take_actions())
    if (action.kind == LeaderKind::close) ++closed;
  CHECK(closed == 256);
}

TEST_CASE("leader: every ten seconds it reports the missing hosts, with reasons if it knows them") {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-2", "10.0.0.2", start);
  call.frame(1, join_frame("algo-2"), start);
  call.opened(2, "algo-3", "10.0.0.3", start);
  call.frame(2, join_frame("algo-3", 7), start);
  call.take_actions();
  CHECK(call.missing() == std::vector<std::string>{"algo-3"});
  for (int i = 1; i <= 9; ++i) {
    call.step(start + i * 1s);
    call.frame(1, {type_of(Message::heartbeat), "{}"}, start + i * 1s);
  }
  call.take_actions();
  call.step(start + 10s);
  const std::string said = text_of(call.take_actions(), LeaderKind::say);
  CHECK(said.starts_with("waiting for algo-3 (refused: algo-3 (muster 9.9) uses version 7"));
  CHECK(said.ends_with("(10 s of 15 min)"));
}

TEST_CASE("leader: a member may reconnect before the start, but a later closed session is lost") {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-2", "10.0.0.2", start);
  call.frame(1, join_frame("algo-2"), start);
  call.closed(1, "reset", start + 1s);
  CHECK(text_of(call.take_actions(), LeaderKind::lost) == "none");
  CHECK(call.missing().size() == 2);
  LeaderCall started = with_all_joined();
  started.closed(1, "connection reset", start + 1s);
  CHECK(text_of(started.take_actions(), LeaderKind::lost) == "its session ended: connection reset");
  LeaderCall ending = with_all_joined();
  ending.expect_end();
  ending.closed(1, "bye", start + 1s);
  CHECK(text_of(ending.take_actions(), LeaderKind::lost) == "none");
}

TEST_CASE("leader: a silent member is lost, if all are silent at once the leader may be cut off") {
  LeaderCall one = with_all_joined();
  for (int i = 1; i <= 4; ++i) {
    one.step(start + i * 1s);
    one.frame(2, {type_of(Message::heartbeat), "{}"}, start + i * 1s);
  }
  one.take_actions();
  one.step(start + 5s);
  const auto actions = one.take_actions();
  CHECK(text_of(actions, LeaderKind::lost) == "no heartbeat for 5 s");
  LeaderCall all = with_all_joined();
  all.step(start + 1s);
  all.frame(2, {type_of(Message::heartbeat), "{}"}, start + 1s);
  for (int i = 2; i <= 5; ++i) all.step(start + i * 1s);
  CHECK(text_of(all.take_actions(), LeaderKind::lost) ==
        "no heartbeat for 5 s, nor from any other host: algo-1 itself may be cut off");
}

TEST_CASE("leader: one that was itself stopped for a while does not blame the others") {
  LeaderCall call = with_all_joined();
  call.step(start + 60s);
  CHECK(text_of(call.take_actions(), LeaderKind::lost) == "none");
  CHECK(*call.next_deadline() <= start + 61s);
}

TEST_CASE("leader: a member that speaks out of turn is hung up on and lost") {
  LeaderCall call = with_all_joined();
  CHECK(call.frame(1, {type_of(Message::lines), "x"}, start));
  CHECK_FALSE(call.frame(1, join_frame("algo-2"), start));
  const auto actions = call.take_actions();
  CHECK(text_of(actions, LeaderKind::close).empty());
  CHECK(text_of(actions, LeaderKind::lost) == "sent message 1 out of turn");
}

TEST_CASE("leader: cancelling informs the members that joined") {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-2", "10.0.0.2", start);
  call.frame(1, join_frame("algo-2"), start);
  call.take_actions();
  call.cancel("algo-1 was stopped", start + 1s);
  const auto actions = call.take_actions();
  CHECK(refusal(actions) == "algo-1 was stopped");
  CHECK(text_of(actions, LeaderKind::give_up) == "algo-1 was stopped");
}

TEST_CASE("leader: a job of one host starts at once") {
  LeaderCall call({.host = "algo-1", .hosts = {"algo-1"}, .muster = "0.1.0"}, start);
  call.step(start);
  CHECK(call.started());
}

TEST_CASE("member: it tries again with pauses until its deadline and says what it waited for") {
  MemberCall call = member_call();
  call.begin(start);
  TimePoint now = start;
  int tries = 0;
  std::vector<std::pair<TimePoint, std::string>> said;
  std::string failure;
  while (failure.empty()) {
    for (const auto& action : call.take_actions()) {
      if (action.kind == MemberKind::fail) failure = action.error.text;
      if (action.kind == MemberKind::say) said.emplace_back(now, action.text);
      if (action.kind != MemberKind::connect) continue;
      ++tries;
      call.not_connected(fail(Errc::system, "Connection refused"), now);
    }
    if (!failure.empty()) break;
    REQUIRE(call.next_deadline());
    now = *call.next_deadline();
    call.step(now);
  }
  CHECK(now == start + 15min);
  CHECK(tries > 900);
  CHECK(tries < 1900);
  CHECK(failure ==
        "algo-1 at 10.0.0.1:9730 (the leader) did not respond within 15 min: Connection refused");
  // At 2 s, when the start is slower than a healthy one, then every 10 s.
  REQUIRE(said.size() == 90);
  CHECK(said[0].first == start + 2s);
  CHECK(said[0].second ==
        "algo-1 at 10.0.0.1:9730: Connection refused; trying again (2 s of 15 min)");
  CHECK(said[1].first == start + 12s);
  CHECK(said[89].first == start + 892s);
}

TEST_CASE("member: a start that heals within two seconds says nothing but that it joined") {
  MemberCall call = member_call();
  call.begin(start);
  std::vector<std::string> said;
  const auto hear = [&] {
    for (const auto& action : call.take_actions())
      if (action.kind == MemberKind::say) said.push_back(action.text);
  };
  call.not_connected(fail(Errc::system, "Connection refused"), start);
  call.step(start + 1999ms);
  call.connected(start + 1999ms);
  call.frame({type_of(Message::welcome), encode(Welcome{.wait = 15min})}, start + 1999ms);
  hear();
  const std::string joined = "joined algo-1 at 10.0.0.1:9730, waiting for the other hosts";
  CHECK(said == std::vector<std::string>{joined});
  const auto beat = [&](TimePoint now) {
    call.frame({type_of(Message::heartbeat), "{}"}, now);
    call.step(now);
    hear();
  };
  for (TimePoint now = start + 2s; now <= start + 22s; now += 1s) beat(now);
  REQUIRE(said.size() == 3);  // Then every 10 s.
  CHECK(
      said[1].starts_with("waiting for algo-1 at 10.0.0.1:9730, which waits for the other hosts"));
  CHECK(said[1].find(" (12 s of ") != std::string::npos);
  // A session that ends is made again within two seconds: nothing but the joining is said.
  call.closed("reset", start + 23s);
  call.step(start + 24s);
  call.connected(start + 24s);
  call.frame({type_of(Message::welcome), encode(Welcome{.wait = 15min})}, start + 24s);
  hear();
  REQUIRE(said.size() == 4);
  CHECK(said[3] == joined);
  call.closed("reset", start + 25s);
  call.step(start + 26s);
  call.step(start + 27s);
  hear();
  REQUIRE(said.size() == 5);
  CHECK(said[4].starts_with(
      "algo-1 at 10.0.0.1:9730: its session ended: reset; trying again (27 s of "));
}

TEST_CASE("member: permanent errors end it at once, and temporary ones are retried") {
  struct {
    const char* name;
    Frame frame;
    const char* want;
  } const cases[] = {
      {"refused", {type_of(Message::refuse), encode(Refuse{"no place"})}, "no place"},
      {"refused for now",
       {type_of(Message::refuse), encode(Refuse{"here already", true})},
       "again"},
      {"another version",
       {type_of(Message::welcome), R"({"version":2,"muster":"3.0"})"},
       "algo-1 at 10.0.0.1:9730 (muster 3.0) uses version 2 of the roll call protocol, algo-2 "
       "(muster "
       "0.1.0) "
       "uses version 1"},
      {"expected a welcome", {type_of(Message::welcome), "{}"}, "again"},
      {"out of turn", {type_of(Message::start), "{}"}, "again"},
      {"not ours", {type_of(Message::lines), "x"}, "again"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    MemberCall call = member_call();
    call.begin(start);
    call.connected(start);
    call.take_actions();
    CHECK_FALSE(call.frame(c.frame, start));
    std::string got = "again";
    for (const auto& action : call.take_actions())
      if (action.kind == MemberKind::fail) got = action.error.text;
    CHECK(got == c.want);
    CHECK(call.next_deadline().has_value() == (got == "again"));
  }
  MemberCall wrong_key = member_call();
  wrong_key.begin(start);
  wrong_key.take_actions();
  wrong_key.not_connected(fail(Errc::denied, "the other side refused our key"), start);
  CHECK(wrong_key.take_actions().empty());  // Not the leader's word: anybody can send an alert.
  CHECK(wrong_key.next_deadline().has_value());
  wrong_key.step(start + 15min);
  const auto actions = wrong_key.take_actions();
  REQUIRE(!actions.empty());
  CHECK(actions.back().error.code == Errc::timeout);
  CHECK(actions.back().error.text.ends_with("the other side refused our key"));
}

TEST_CASE("member: once welcome it waits as long as the leader does, for the leader's own word") {
  MemberCall call = member_call();
  call.begin(start);
  call.connected(start + 14min);
  call.frame({type_of(Message::welcome), encode(Welcome{.wait = 10min})}, start + 14min);
  call.take_actions();
  TimePoint now = start + 14min;
  while (now < start + 24min + 5s) {
    CHECK_FALSE(call.frame({type_of(Message::heartbeat), "{}"}, now));
    call.step(now);
    for (const auto& action : call.take_actions()) REQUIRE(action.kind != MemberKind::fail);
    now += 1s;
  }
  call.step(now);
  std::string failure;
  for (const auto& action : call.take_actions())
    if (action.kind == MemberKind::fail) failure = action.error.text;
  CHECK(failure.starts_with("algo-1 at 10.0.0.1:9730 did not start the job within 1445 s"));
}

TEST_CASE("member: after the start a closed or silent session is the leader lost") {
  for (const bool silent : {false, true}) {
    MemberCall call = member_call();
    call.begin(start);
    call.connected(start);
    call.frame({type_of(Message::welcome), encode(Welcome{.wait = 1min})}, start);
    CHECK(call.frame({type_of(Message::start), "{}"}, start));
    CHECK(call.started());
    CHECK(call.frame({type_of(Message::exec), "{}"}, start));
    call.take_actions();
    if (silent)
      for (int i = 1; i <= 5; ++i) call.step(start + i * 1s);
    else
      call.closed("connection reset", start + 1s);
    CHECK(text_of(call.take_actions(), MemberKind::lost) ==
          (silent ? "no heartbeat for 5 s" : "its session ended: connection reset"));
    CHECK_FALSE(call.next_deadline());
  }
}

TEST_CASE("member: once the end was announced the leader may go") {
  MemberCall call = member_call();
  call.begin(start);
  call.connected(start);
  call.frame({type_of(Message::welcome), encode(Welcome{.wait = 1min})}, start);
  call.frame({type_of(Message::start), "{}"}, start);
  call.expect_end();
  call.take_actions();
  call.closed("bye", start + 1s);
  CHECK(call.take_actions().empty());
  CHECK_FALSE(call.next_deadline());
}

TEST_CASE("member: a refusal after the start is the leader lost, whatever it says") {
  for (const char* payload : {R"({"why":"go"})", "nonsense"}) {
    CAPTURE(payload);
    MemberCall call = member_call();
    call.begin(start);
    call.connected(start);
    call.frame({type_of(Message::welcome), encode(Welcome{.wait = 1min})}, start);
    call.frame({type_of(Message::start), "{}"}, start);
    call.take_actions();
    CHECK_FALSE(call.frame({type_of(Message::refuse), payload}, start + 1s));
    const auto actions = call.take_actions();
    CHECK(text_of(actions, MemberKind::close).empty());
    CHECK(text_of(actions, MemberKind::lost) != "none");
    CHECK(text_of(actions, MemberKind::fail) == "none");
  }
}

TEST_CASE("member: events of a closed session are ignored") {
  MemberCall call = member_call();
  call.step(start);  // begin() was not called.
  CHECK(call.take_actions().empty());
  CHECK_FALSE(call.next_deadline());
  call.begin(start);
  call.begin(start);
  CHECK(call.take_actions().size() == 1);
  CHECK_FALSE(call.frame({type_of(Message::start), "{}"}, start));
  call.closed("reset", start);
  CHECK(call.take_actions().empty());
  call.connected(start);
  call.take_actions();
  call.connected(start);
  call.not_connected(fail(Errc::system, "late"), start);
  CHECK(call.take_actions().empty());
}

TEST_CASE(
    "member: a leader that disappeared after its welcome is distinguished from one that never "
    "came") {
  MemberCall call = member_call();
  call.begin(start);
  call.connected(start);
  call.frame({type_of(Message::welcome), encode(Welcome{.wait = 1min})}, start);
  call.take_actions();
  call.closed("reset", start + 1s);
  CHECK(text_of(call.take_actions(), MemberKind::say) == "none");
  call.step(start + 3s);
  CHECK(text_of(call.take_actions(), MemberKind::say) ==
        "algo-1 at 10.0.0.1:9730: its session ended: reset; trying again (3 s of 15 min)");
  call.step(start + 15min);
  const auto actions = call.take_actions();
  REQUIRE(actions.size() == 1);
  CHECK(actions[0].error.code == Errc::timeout);
  CHECK(actions[0].error.text ==
        "algo-1 at 10.0.0.1:9730 did not start the job within 15 min: its session ended: reset");
}

TEST_CASE("leader: messages of a refused or disconnected peer are ignored") {
  LeaderCall call(three_hosts(), start);
  call.opened(1, "algo-9", "10.0.0.9", start);
  call.frame(1, join_frame("algo-9"), start);
  call.take_actions();
  CHECK_FALSE(call.frame(1, join_frame("algo-9"), start));
  CHECK_FALSE(call.frame(7, join_frame("algo-2"), start));
  call.closed(1, "bye", start);
  call.closed(7, "bye", start);
  CHECK(call.take_actions().empty());
  CHECK(call.missing().size() == 2);
}

TEST_CASE("leader: refusals are said once for each guest, and for a limited number of them") {
  LeaderCall call(three_hosts(), start);
  LeaderCall::Session session = 0;
  const auto said_of = [&](const std::string& host) {
    call.opened(++session, host, "10.0.0.9", start);
    call.frame(session, join_frame(host), start);
    call.closed(session, "bye", start);
    return text_of(call.take_actions(), LeaderKind::say);
  };
  CHECK(said_of("stranger").starts_with("stranger (10.0.0.9) was refused: "));
  CHECK(said_of("stranger") == "none");
  int said = 1;
  for (int i = 0; i < 200; ++i) said += said_of("x" + std::to_string(i)) == "none" ? 0 : 1;
  CHECK(said == 64);
  CHECK(said_of("stranger") == "none");
}

TEST_CASE("leader: several that came are all named to those that waited in vain") {
  LeaderCall::Options options = three_hosts();
  options.hosts.push_back("algo-4");
  LeaderCall call(std::move(options), start);
  for (const LeaderCall::Session session : {1U, 2U}) {
    const std::string host = "algo-" + std::to_string(session + 1);
    call.opened(session, host, "10.0.0.2", start);
    call.frame(session, join_frame(host), start);
  }
  call.step(start + 15min);
  CHECK(text_of(call.take_actions(), LeaderKind::give_up) ==
        "algo-4 did not join within 15 min; algo-2, algo-3 have joined");
  call.cancel("too late", start + 15min);
  CHECK(call.take_actions().empty());
}

TEST_CASE("leader: while a host is held no silence is blamed on the leader's own network") {
  LeaderCall call = with_all_joined();
  call.hold("algo-2", true, start);
  call.hold("algo-7", true, start);  // An unknown host.
  for (int i = 1; i <= 5; ++i) call.step(start + i * 1s);
  const auto actions = call.take_actions();
  CHECK(text_of(actions, LeaderKind::lost) == "no heartbeat for 5 s");
  CHECK(call.session_of("algo-2"));
  CHECK_FALSE(call.session_of("algo-3"));
}

TEST_CASE("protocol: a refusal says that a later try may succeed only by a plain true") {
  CHECK(refuse_from(R"({"why":"no","retry":true})")->retry);
  for (const char* text : {R"({"why":"no"})", R"({"why":"no","retry":false})",
                           R"({"why":"no","retry":1})", R"({"why":"no","retry":"true"})"})
    CHECK_FALSE(refuse_from(text)->retry);
}
