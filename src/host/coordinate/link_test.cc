// The roll call over real sockets on this machine. Times are hang guards or shortened intervals.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/testing.h"
#include "host/coordinate/leader.h"
#include "host/coordinate/member.h"
#include "host/coordinate/rollcall_messages.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/testing.h"
#include "net/sockets/tls.h"

using namespace muster;
using namespace std::chrono_literals;
using coordinate::Leader;
using coordinate::Member;
using job::Message;
using job::type_of;
using loop::Loop;
using loop::Task;

namespace {

const std::string key(32, 'k');

Log quiet() {
  return Log(-1, "test", Log::Level::error);
}

/// What a leader says while it gathers.
struct Said {
  Fd file{::memfd_create("said", MFD_CLOEXEC)};
  Log log() const { return Log(file.get(), "test", Log::Level::info); }
  bool has(std::string_view words) const {
    std::string text(1u << 16, '\0');
    const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
    return std::string_view(text).substr(0, static_cast<std::size_t>(count)).find(words) !=
           std::string_view::npos;
  }
};

Leader::Options leader_options(std::vector<std::string> hosts = {"algo-1", "algo-2", "algo-3"}) {
  Leader::Options options;
  options.job = "job";
  options.host = "algo-1";
  options.hosts = std::move(hosts);
  options.port = 0;
  options.key = key;
  options.join_deadline = 20s;
  return options;
}

Member::Options member_options(const Leader& leader, const std::string& host) {
  Member::Options options;
  options.job = "job";
  options.host = host;
  options.leader = "algo-1";
  options.address = "127.0.0.1";
  options.port = leader.port();
  options.key = key;
  options.join_deadline = 20s;
  return options;
}

std::unique_ptr<Member> make_member(Loop& loop, const Leader& leader, const std::string& host) {
  return *Member::open(loop, member_options(leader, host), quiet());
}

struct Told {
  std::vector<std::string> frames;  ///< "algo-2:10:payload"
  std::vector<std::string> lost;    ///< "algo-2: how"
};

void listen_to(Leader& leader, Told& told) {
  leader.on_frame([&told](const std::string& host, Frame frame) {
    told.frames.push_back(host + ":" + std::to_string(frame.type) + ":" + frame.payload);
  });
  leader.on_lost([&told](const std::string& host, const std::string& how) {
    told.lost.push_back(host + ": " + how);
  });
}

void listen_to(Member& member, Told& told) {
  member.on_frame([&told](Frame frame) {
    told.frames.push_back(std::to_string(frame.type) + ":" + frame.payload);
  });
  member.on_lost([&told](const std::string& how) { told.lost.push_back(how); });
}

/// Waits until `done`; run_task's guard ends what hangs.
Task<void> until(Loop& loop, std::function<bool()> done) {
  loop::Timer pause(loop);
  while (!done()) co_await pause.after(1ms);
}

/// Runs join() beside the test, at most as long as this lives.
struct Joining {
  std::optional<Result<void>> result;
  static Task<void> run(Member& member, Joining& into) { into.result = co_await member.join(); }
  Joining(Loop& loop, Member& member) : tasks_(loop) { tasks_.start(run(member, *this)); }

 private:
  loop::Tasks tasks_;
};

}  // namespace

TEST_CASE("link: three hosts gather, exchange frames and end in peace") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  auto second = make_member(loop, *leader, "algo-2");
  auto third = make_member(loop, *leader, "algo-3");
  Told at_leader;
  Told at_second;
  Told at_third;
  listen_to(*leader, at_leader);
  listen_to(*second, at_second);
  listen_to(*third, at_third);
  const auto test = [&]() -> Task<void> {
    Joining a(loop, *second);
    Joining b(loop, *third);
    REQUIRE(co_await leader->gather());
    co_await until(loop, [&] { return a.result && b.result; });
    CHECK(*a.result);
    CHECK(*b.result);
    second->post(type_of(Message::lines), "one");
    second->post(type_of(Message::lines), "two");
    CHECK(co_await second->room());
    CHECK(co_await second->flushed(Clock::now() + 20s));
    leader->post("algo-3", type_of(Message::exec), "run");
    co_await until(loop,
                   [&] { return at_leader.frames.size() == 2 && at_third.frames.size() == 2; });
    leader->expect_end();
    leader->post_all(type_of(Message::end), "over");
    co_await until(loop,
                   [&] { return at_second.frames.size() == 2 && at_third.frames.size() == 3; });
    second->close();
    third->close();
    co_await leader->ended(Clock::now() + 20s);
  };
  run_task(loop, test());
  CHECK(at_leader.frames == std::vector<std::string>{"algo-2:10:one", "algo-2:10:two"});
  CHECK(at_second.frames == std::vector<std::string>{"5:{}", "14:over"});
  CHECK(at_third.frames == std::vector<std::string>{"5:{}", "6:run", "14:over"});
  CHECK(at_leader.lost.empty());
  CHECK(at_second.lost.empty());
}

TEST_CASE("link: members may connect before the leader exists") {
  Loop loop;
  // A port that is free now and most likely still in a moment.
  const std::uint16_t port = (*Leader::open(loop, leader_options(), quiet()))->port();
  std::unique_ptr<Leader> leader;
  Member::Options options;
  options.job = "job";
  options.host = "algo-2";
  options.leader = "algo-1";
  options.address = "localhost";
  options.port = port;
  options.key = key;
  auto member = *Member::open(loop, std::move(options), quiet());
  const auto test = [&]() -> Task<void> {
    Joining joining(loop, *member);
    loop::Timer pause(loop);
    co_await pause.after(120ms);
    CHECK_FALSE(joining.result);
    Leader::Options late = leader_options({"algo-1", "algo-2"});
    late.port = port;
    Result<std::unique_ptr<Leader>> opened = Leader::open(loop, std::move(late), quiet());
    REQUIRE(opened);
    leader = *std::move(opened);
    REQUIRE(co_await leader->gather());
    co_await until(loop, [&] { return joining.result.has_value(); });
    CHECK(*joining.result);
  };
  run_task(loop, test());
}

TEST_CASE("link: a wrong key and an unknown host name are refused, and the job continues") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options({"algo-1", "algo-2"}), quiet());
  Member::Options wrong = member_options(*leader, "algo-2");
  wrong.key = std::string(32, 'w');
  wrong.join_deadline = 300ms;
  auto stranger = *Member::open(loop, std::move(wrong), quiet());
  auto unknown = make_member(loop, *leader, "algo-7");
  auto member = make_member(loop, *leader, "algo-2");
  const auto test = [&]() -> Task<void> {
    Result<void> joined = co_await stranger->join();
    REQUIRE_FALSE(joined);
    CHECK(joined.error().code == Errc::timeout);
    CHECK(joined.error().text.find("rejected this side's key") != std::string::npos);
    joined = co_await unknown->join();
    REQUIRE_FALSE(joined);
    CHECK(joined.error().code == Errc::denied);
    CHECK(joined.error().text ==
          "'algo-7' is not a member of this job; its hosts are algo-1, algo-2");
    Joining joining(loop, *member);
    CHECK(co_await leader->gather());
  };
  run_task(loop, test());
}

TEST_CASE(
    "link: a host that connects twice is one host, and the second waits for the first to end") {
  Loop loop;
  const Said said;
  auto leader = *Leader::open(loop, leader_options(), said.log());
  auto first = make_member(loop, *leader, "algo-2");
  auto twin = make_member(loop, *leader, "algo-2");
  auto third = make_member(loop, *leader, "algo-3");
  const auto test = [&]() -> Task<void> {
    Joining a(loop, *first);
    co_await until(loop, [&] { return said.has("algo-2 has joined"); });
    Joining b(loop, *twin);
    loop::Timer pause(loop);
    co_await pause.after(100ms);
    CHECK_FALSE(a.result);
    CHECK_FALSE(b.result);
    first->close();
    Joining c(loop, *third);
    CHECK(co_await leader->gather());
    co_await until(loop, [&] { return a.result && b.result && c.result; });
    CHECK(a.result->error().code == Errc::closed);
    CHECK(*b.result);
    CHECK(*c.result);
  };
  run_task(loop, test());
}

TEST_CASE("link: at the deadline every host that came names the one that did not") {
  Loop loop;
  Leader::Options options = leader_options();
  options.join_deadline = 500ms;
  auto leader = *Leader::open(loop, std::move(options), quiet());
  auto member = make_member(loop, *leader, "algo-2");
  const auto test = [&]() -> Task<void> {
    Joining joining(loop, *member);
    const Result<void> gathered = co_await leader->gather();
    REQUIRE_FALSE(gathered);
    CHECK(gathered.error().code == Errc::timeout);
    CHECK(gathered.error().text == "algo-3 did not join within 500 ms; algo-2 has joined");
    co_await until(loop, [&] { return joining.result.has_value(); });
    REQUIRE_FALSE(*joining.result);
    CHECK(joining.result->error().text == gathered.error().text);
  };
  run_task(loop, test());
}

TEST_CASE("link: a leader that never answers is named at the member's deadline, with the reason") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  Member::Options options = member_options(*leader, "algo-2");
  options.join_deadline = 300ms;
  leader.reset();
  auto member = *Member::open(loop, std::move(options), quiet());
  const auto test = [&]() -> Task<void> {
    const Result<void> joined = co_await member->join();
    REQUIRE_FALSE(joined);
    CHECK(joined.error().code == Errc::timeout);
    CHECK(joined.error().text.find("(the leader) did not respond within 300 ms") !=
          std::string::npos);
    CHECK(joined.error().text.find("refused") != std::string::npos);
  };
  run_task(loop, test());
}

TEST_CASE("link: cancelling before the start sends members the reason") {
  Loop loop;
  const Said said;
  auto leader = *Leader::open(loop, leader_options(), said.log());
  auto member = make_member(loop, *leader, "algo-2");
  const auto test = [&]() -> Task<void> {
    Joining joining(loop, *member);
    co_await until(loop, [&] { return said.has("algo-2 has joined"); });
    leader->cancel("algo-1 was stopped by SIGTERM");
    const Result<void> gathered = co_await leader->gather();
    CHECK(gathered.error().code == Errc::closed);
    co_await until(loop, [&] { return joining.result.has_value(); });
    CHECK(joining.result->error().text == "algo-1 was stopped by SIGTERM");
  };
  run_task(loop, test());
}

TEST_CASE("link: after the start a session that closes is a lost host, on either side") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  auto second = make_member(loop, *leader, "algo-2");
  auto third = make_member(loop, *leader, "algo-3");
  Told at_leader;
  Told at_third;
  listen_to(*leader, at_leader);
  listen_to(*third, at_third);
  const auto test = [&]() -> Task<void> {
    Joining a(loop, *second);
    Joining b(loop, *third);
    REQUIRE(co_await leader->gather());
    co_await until(loop, [&] { return a.result && b.result; });
    second.reset();
    co_await until(loop, [&] { return !at_leader.lost.empty(); });
    CHECK(at_leader.lost[0].starts_with("algo-2: its session ended: "));
    leader.reset();
    co_await until(loop, [&] { return !at_third.lost.empty(); });
    CHECK(at_third.lost[0].starts_with("its session ended: "));
  };
  run_task(loop, test());
}

namespace {

/// A member made by hand, to misbehave.
Task<Result<loop::TlsPeer>> by_hand(Loop& loop, const Leader& leader, std::string host) {
  return loop::tls_connect(loop, "127.0.0.1", leader.port(), coordinate::identity_of("job", host),
                           key, Clock::now() + 20s);
}

}  // namespace

TEST_CASE("link: a host that falls silent after the start is lost") {
  Loop loop;
  Leader::Options options = leader_options({"algo-1", "algo-2"});
  options.heartbeat = 50ms;
  options.lost_after = 500ms;
  auto leader = *Leader::open(loop, std::move(options), quiet());
  Told told;
  listen_to(*leader, told);
  const auto test = [&]() -> Task<void> {
    Result<loop::TlsPeer> silent = co_await by_hand(loop, *leader, "algo-2");
    REQUIRE(silent);
    silent->channel->post(type_of(Message::join),
                          coordinate::encode(coordinate::Join{.host = "algo-2"}));
    REQUIRE(co_await leader->gather());
    co_await until(loop, [&] { return !told.lost.empty(); });
    CHECK(told.lost == std::vector<std::string>{"algo-2: no heartbeat for 500 ms"});
  };
  run_task(loop, test());
}

TEST_CASE("link: silence is not counted while a host is held, a broken session is") {
  Loop loop;
  Leader::Options options = leader_options({"algo-1", "algo-2"});
  options.heartbeat = 20ms;
  options.lost_after = 100ms;
  auto leader = *Leader::open(loop, std::move(options), quiet());
  Told told;
  listen_to(*leader, told);
  const auto test = [&]() -> Task<void> {
    Result<loop::TlsPeer> member = co_await by_hand(loop, *leader, "algo-2");
    REQUIRE(member);
    member->channel->post(type_of(Message::join),
                          coordinate::encode(coordinate::Join{.host = "algo-2"}));
    REQUIRE(co_await leader->gather());
    leader->hold("algo-2", true);
    member->channel->post(type_of(Message::lines), "first");
    loop::Timer pause(loop);
    co_await pause.after(400ms);
    CHECK(told.frames.empty());
    CHECK(told.lost.empty());
    leader->hold("algo-2", false);
    co_await until(loop, [&] { return !told.frames.empty(); });
    CHECK(told.frames == std::vector<std::string>{"algo-2:10:first"});
    leader->hold("algo-2", true);
    member->channel->post(type_of(Message::lines), "second");
    member->channel.reset();
    co_await until(loop, [&] { return !told.lost.empty(); });
  };
  run_task(loop, test());
}

TEST_CASE("link: a member of another version is refused with both versions named") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options({"algo-1", "algo-2"}), quiet());
  const auto test = [&]() -> Task<void> {
    Result<loop::TlsPeer> other = co_await by_hand(loop, *leader, "algo-2");
    REQUIRE(other);
    other->channel->post(type_of(Message::join), R"({"version":2,"muster":"0.9.0"})");
    Result<Frame> answer = co_await other->channel->receive();
    REQUIRE(answer);
    REQUIRE(answer->type == type_of(Message::refuse));
    const std::string why = coordinate::refuse_from(answer->payload)->why;
    CHECK(why.starts_with(
        "algo-2 (muster 0.9.0) uses version 2 of the roll call protocol, algo-1 (muster "));
  };
  run_task(loop, test());
}

TEST_CASE("link: a proved peer that sends garbage in place of its join is hung up on") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options({"algo-1", "algo-2"}), quiet());
  const auto test = [&]() -> Task<void> {
    for (const auto& [type, payload] : std::vector<std::pair<std::uint8_t, std::string>>{
             {type_of(Message::lines), "x"}, {200, ""}, {type_of(Message::heartbeat), "{}"}}) {
      Result<loop::TlsPeer> other = co_await by_hand(loop, *leader, "algo-2");
      REQUIRE(other);
      other->channel->post(type, payload);
      CHECK((co_await other->channel->receive()).error().code == Errc::closed);
    }
    auto member = make_member(loop, *leader, "algo-2");
    Joining joining(loop, *member);
    CHECK(co_await leader->gather());
  };
  run_task(loop, test());
}

TEST_CASE("link: options that cannot work are refused when opened") {
  Loop loop;
  Leader::Options short_key = leader_options();
  short_key.key = "short";
  CHECK(Leader::open(loop, std::move(short_key), quiet()).error().code == Errc::invalid_input);
  auto leader = *Leader::open(loop, leader_options(), quiet());
  Member::Options options = member_options(*leader, "algo-2");
  options.key.clear();
  CHECK(Member::open(loop, options, quiet()).error().code == Errc::invalid_input);
  Leader::Options taken = leader_options();
  taken.port = leader->port();
  CHECK(Leader::open(loop, std::move(taken), quiet()).error().code == Errc::system);
}

TEST_CASE("link: a member that sends but never reads is lost at a bound, and others go on") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  auto third = make_member(loop, *leader, "algo-3");
  Told at_leader;
  Told at_third;
  listen_to(*leader, at_leader);
  listen_to(*third, at_third);
  const auto test = [&]() -> Task<void> {
    const Result<loop::TlsPeer> deaf = co_await loop::tls_connect(
        loop, "127.0.0.1", leader->port(), "job/algo-2", key, Clock::now() + 20s);
    REQUIRE(deaf);
    coordinate::Join join;
    join.muster = MUSTER_VERSION;
    join.host = "algo-2";
    deaf->channel->post(type_of(Message::join), encode(join));
    Joining joining(loop, *third);
    REQUIRE(co_await leader->gather());
    loop::Timer pause(loop);
    std::size_t posted = 0;
    for (; at_leader.lost.empty() && posted < 64; ++posted) {
      deaf->channel->post(type_of(Message::heartbeat), "{}");
      leader->post("algo-2", type_of(Message::exec), std::string(1u << 20, 'x'));
      leader->post("algo-3", type_of(Message::exec), "run");
      co_await pause.after(1ms);
    }
    CHECK(posted < 32);
    co_await until(loop, [&] { return at_third.frames.size() == posted + 1; });
    leader->post("algo-2", type_of(Message::exec), "dropped");
    leader->post("algo-3", type_of(Message::exec), "more");
    co_await until(loop, [&] { return at_third.frames.size() == posted + 2; });
  };
  run_task(loop, test());
  CHECK(at_leader.lost ==
        std::vector<std::string>{"algo-2: its session ended: the other side is not reading: 16 MiB "
                                 "of messages are pending"});
  CHECK(at_third.lost.empty());
}

TEST_CASE("link: a job of one host gathers at once") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options({"algo-1"}), quiet());
  const auto test = [&]() -> Task<void> { CHECK(co_await leader->gather()); };
  run_task(loop, test());
}

TEST_CASE("link: a leader that closes before the start ends its wait, and members try again") {
  Loop loop;
  const Said said;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  auto member = *Member::open(loop, member_options(*leader, "algo-2"), said.log());
  const auto test = [&]() -> Task<void> {
    Joining joining(loop, *member);
    co_await until(loop, [&] { return said.has("joined algo-1"); });
    leader->close();
    leader->close();
    const Result<void> gathered = co_await leader->gather();
    CHECK(gathered.error().code == Errc::closed);
    co_await until(loop, [&] { return said.has("trying again"); });
    CHECK_FALSE(joining.result);
  };
  run_task(loop, test());
}

TEST_CASE("link: a leader that disappears after the end message is not lost") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options({"algo-1", "algo-2"}), quiet());
  auto member = make_member(loop, *leader, "algo-2");
  Told told;
  listen_to(*member, told);
  const auto test = [&]() -> Task<void> {
    Joining joining(loop, *member);
    REQUIRE(co_await leader->gather());
    co_await until(loop, [&] { return joining.result.has_value(); });
    member->expect_end();
    leader.reset();
    loop::Timer pause(loop);
    Result<void> there;
    while (there) {
      there = co_await member->room();
      co_await pause.after(1ms);
    }
    CHECK(there.error().code == Errc::closed);
  };
  run_task(loop, test());
  CHECK(told.lost.empty());
}

TEST_CASE("link: without a session nothing is sent, and waiters learn that") {
  Loop loop;
  auto leader = *Leader::open(loop, leader_options(), quiet());
  auto member = make_member(loop, *leader, "algo-2");
  const auto test = [&]() -> Task<void> {
    member->post(type_of(Message::lines), "dropped");
    CHECK((co_await member->room()).error().code == Errc::closed);
    CHECK((co_await member->flushed(Clock::now() + 20s)).error().code == Errc::closed);
    leader->post("algo-2", type_of(Message::lines), "dropped");
    leader->hold("algo-2", true);
    member->close();
    CHECK((co_await member->join()).error().code == Errc::closed);
  };
  run_task(loop, test());
  CHECK(aborts([&] { static_cast<void>(member->join()); }));
  CHECK_FALSE(aborts([&] { static_cast<void>(leader->gather()); }));
  CHECK(aborts([&] {
    static_cast<void>(leader->gather());
    static_cast<void>(leader->gather());
  }));
}

TEST_CASE("link: strangers are logged with their reason, up to a limit that is said") {
  Loop loop;
  const Said said;
  auto leader = *Leader::open(loop, leader_options({"algo-1", "algo-2"}), said.log());
  const auto test = [&]() -> Task<void> {
    const std::string other_key(32, 'w');
    for (int i = 0; i < 52; ++i) {
      const Result<loop::TlsPeer> peer = co_await loop::tls_connect(
          loop, "127.0.0.1", leader->port(), "other/algo-2", other_key, Clock::now() + 20s);
      CHECK_FALSE(peer);
    }
    co_await until(loop, [&] { return said.has("further refusals are not logged"); });
    auto member = make_member(loop, *leader, "algo-2");
    Joining joining(loop, *member);
    CHECK(co_await leader->gather());
  };
  run_task(loop, test());
  CHECK(said.has("refused 127.0.0.1"));
}
