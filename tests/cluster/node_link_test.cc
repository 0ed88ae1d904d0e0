#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "base/files/folder.h"
#include "base/text.h"
#include "bed.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;
using Kind = LinkEvent::Kind;

std::string much(char letter, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += letter + std::to_string(i);
  return text;
}

TEST_CASE("node link: hosts join, begin, end, give what they left, and leave nothing") {
  Bed bed(3);
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    const std::string file = on.node_folder("algo-2") + ".json";
    CHECK(!exists(file));
    const std::string environment = *read_file(on.host_folder("algo-2") + "/environment");
    CHECK(environment.find("SLURM") == std::string::npos);
    const std::string spec = *read_file(on.host_folder("algo-2") + "/spec.json");
    CHECK(spec.find(R"("address":"127.0.0.1","name":"algo-3")") != std::string::npos);
    CHECK(trim(*read_file(on.node_folder("algo-2") + "/key")) == hex(std::string(32, 'j')));
    for (const std::string& host : on.hosts()) {
      on.writes(host, "journal of " + host);
      on.leaves(host, "model/weights", much('w', 300'000));
      on.leaves(host, "output/data/" + host, host);
    }
    for (const std::string& host : on.hosts()) {
      on.ends(host, 0);
      const LinkEvent ended = co_await on.next(Kind::ended);
      CHECK(ended.host == host);
      CHECK(ended.outcome.success());
      CHECK(on.copy(host) == "journal of " + host);
      on.links().give(host);
      const LinkEvent given = co_await on.next(Kind::given);
      CHECK(given.text.empty());
      const std::string result = on.copy_folder(host) + "/result";
      CHECK(*read_file(result + "/model/weights") == much('w', 300'000));
      CHECK(*read_file(result + "/output/data/" + host) == host);
      CHECK(*names_in(on.copy_folder(host)) == std::vector<std::string>{"journal", "result"});
      on.links().done(host);
      const job::Outcome exited = co_await on.ended(host);
      CHECK(exited == job::Outcome::exited(0));
      CHECK(!exists(on.node_folder(host)));
      CHECK(on.said_by(host).empty());
    }
    CHECK(on.troubles().empty());
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a connection that is cut loses nothing, nor does an engine's restart") {
  Bed bed(1);
  bed.open_relay();
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    std::string all = much('a', 3'000'000);
    on.writes("algo-1", all);
    on.cut_relay();  // In the middle of it.
    const std::string more = much('b', 1'000'000);
    on.writes("algo-1", more);
    all += more;
    on.join_relay();
    co_await on.until_copied("algo-1", all);
    on.close_engine();
    const std::string late = much('c', 200'000);
    on.writes("algo-1", late);
    all += late;
    on.leaves("algo-1", "model/weights", much('w', 100'000));
    on.ends("algo-1", 3);
    on.open_engine();
    static_cast<void>(co_await on.next(Kind::joined));
    static_cast<void>(co_await on.next(Kind::began));
    const LinkEvent ended = co_await on.next(Kind::ended);
    CHECK(ended.outcome == job::Outcome::exited(3));
    CHECK(on.copy("algo-1") == all);
    on.links().give("algo-1");
    const LinkEvent given = co_await on.next(Kind::given);
    CHECK(given.text.empty());
    on.close_engine();  // A result that is here is not asked for again.
    on.open_engine();
    on.links().give("algo-1");
    const LinkEvent again = co_await on.next(Kind::given);
    CHECK(again.text.empty());
    on.links().done("algo-1");
    const job::Outcome exited = co_await on.ended("algo-1");
    CHECK(exited == job::Outcome::exited(0));
    CHECK(!exists(on.node_folder("algo-1")));
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a silent node is reported, and so is its return") {
  Bed bed(1);
  bed.open_relay();
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    on.cut_relay();
    const UnixMillis cut = wall_time();
    const LinkEvent silent = co_await on.next(Kind::silent);
    CHECK(silent.time <= cut + 500ms);
    CHECK(wall_time() - cut >= 1500ms);
    CHECK(!on.links().connected("algo-1"));
    on.join_relay();
    static_cast<void>(co_await on.next(Kind::back));
    CHECK(on.links().connected("algo-1"));
    on.links().end("algo-1", "the test is over");
    static_cast<void>(co_await on.next(Kind::silent));
    CHECK(!on.links().connected("algo-1"));
    const job::Outcome exited = co_await on.ended("algo-1");
    CHECK(exited == job::Outcome::exited(0));
    CHECK(!exists(on.node_folder("algo-1")));
    CHECK(on.said_by("algo-1").empty());  // The engine knows: no file stays on the node.
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a stop reaches the steward, and the scheduler's signal is reported, too") {
  Bed bed(2);
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    on.links().stop("algo-1", 5s);
    const LinkEvent stopped = co_await on.next(Kind::ended);
    CHECK(stopped.host == "algo-1");
    CHECK(on.copy("algo-1") == "TERM");
    on.signal_node("algo-2", SIGTERM);
    const LinkEvent signalled = co_await on.next(Kind::signalled);
    CHECK(signalled.host == "algo-2");
    const LinkEvent ended = co_await on.next(Kind::ended);
    CHECK(ended.host == "algo-2");
    CHECK(on.copy("algo-2") == "TERM");
    for (const std::string& host : on.hosts()) on.links().done(host);
    const job::Outcome first = co_await on.ended("algo-1");
    const job::Outcome second = co_await on.ended("algo-2");
    CHECK(first == job::Outcome::exited(0));
    CHECK(second == job::Outcome::exited(0));
  };
  bed.run(body(bed));
}

TEST_CASE("node link: the scheduler's signal has more time where it is a preemption") {
  enum class Notice { none, after_signal, before_signal };
  for (const Notice notice : {Notice::none, Notice::after_signal, Notice::before_signal}) {
    CAPTURE(static_cast<int>(notice));
    Bed bed(1);
    const auto body = [notice](Bed& on) -> loop::Task<> {
      on.stewards_are_stubborn();
      job::NodeJob job = on.node_job("algo-1");
      job.kill_wait = 4500ms;  // 0.5 s of it are the host's.
      on.start_node("algo-1", job);
      co_await on.begin(1min);
      if (notice == Notice::before_signal) {
        on.links().preempted();  // An answer to a later question says that it has come.
        const Result<engine::Answer> answer =
            co_await on.links().ask("algo-1", engine::Question::usage);
        CHECK((answer || answer.error().code == Errc::closed));
      }
      on.signal_node("algo-1", SIGTERM);
      static_cast<void>(co_await on.next(Kind::signalled));
      if (notice != Notice::none) {
        if (notice == Notice::after_signal) on.links().preempted();
        loop::Timer timer(on.loop());
        static_cast<void>(co_await timer.after(1500ms));
        on.writes("algo-1", "lives");
        co_await on.until_copied("algo-1", "TERMlives");
        on.links().stop("algo-1", 0ms);
      }
      const LinkEvent ended = co_await on.next(Kind::ended);
      CHECK(ended.host == "algo-1");
      on.links().done("algo-1");
      static_cast<void>(co_await on.ended("algo-1"));
    };
    bed.run(body(bed));
  }
}

TEST_CASE(
    "node link: a node whose results are not fetched removes all before the scheduler kills it") {
  Bed bed(1);
  const auto body = [](Bed& on) -> loop::Task<> {
    job::NodeJob job = on.node_job("algo-1");
    job.kill_wait = 2s;
    on.start_node("algo-1", job);
    co_await on.begin();
    on.ends("algo-1", 0);
    static_cast<void>(co_await on.next(Kind::ended));
    on.close_engine();
    on.signal_node("algo-1", SIGTERM);
    const UnixMillis signalled = wall_time();
    const job::Outcome exited = co_await on.ended("algo-1");
    CHECK(exited == job::Outcome::exited(0));
    CHECK(wall_time() - signalled >= 900ms);  // The engine may still come.
    CHECK(!exists(on.node_folder("algo-1")));
    CHECK(on.said_by("algo-1").empty());
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a node that is killed takes its steward with it") {
  Bed bed(1);
  const auto body = [](Bed& on) -> loop::Task<> {
    job::NodeJob job = on.node_job("algo-1");
    job.addresses = {"::1", "127.0.0.1"};  // Hosts need IPv4.
    on.start_node("algo-1", job);
    co_await on.begin();
    on.signal_node("algo-1", SIGKILL);
    const job::Outcome killed = co_await on.ended("algo-1");
    CHECK(killed == job::Outcome::signaled(SIGKILL));
    static_cast<void>(co_await on.next(Kind::silent));
    loop::Timer pause(on.loop());
    const TimePoint deadline = Clock::now() + 20s;
    while (exists(on.host_folder("algo-1")) && Clock::now() < deadline) co_await pause.after(5ms);
    CHECK(!exists(on.host_folder("algo-1")));
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a node that disconnects during the last message is not waited for") {
  Bed bed(3);
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    std::size_t turns = 0;
    for (const std::string& host : on.hosts()) {
      on.kill_node(host);
      // The end of its connection is heard before the word begins to be sent, or after.
      for (std::size_t i = 0; i < turns; ++i) co_await on.loop().turn();
      ++turns;
      co_await on.links().flushed(5s);
    }
    for (std::size_t i = 0; i < on.hosts().size(); ++i)
      static_cast<void>(co_await on.next(Kind::silent));
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a fenced attempt is ordered to end, now and when it comes back") {
  Bed bed(2);
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_node("algo-1");
    static_cast<void>(co_await on.next(Kind::joined));
    on.all_links().fence(Bed::nonce, on.attempt().key);
    const job::Outcome first = co_await on.ended("algo-1");
    CHECK(first == job::Outcome::exited(0));
    on.start_node("algo-2");
    const job::Outcome second = co_await on.ended("algo-2");
    CHECK(second == job::Outcome::exited(0));
    for (const std::string& host : on.hosts()) CHECK(!exists(on.node_folder(host)));
    CHECK(on.said_by("algo-1").empty());
    CHECK(on.said_by("algo-2").find("its attempt has ended") != std::string::npos);
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a node continues as a host of the next attempt, with its delivered files") {
  Bed bed(2);
  const auto body = [](Bed& on) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    REQUIRE(write_file(on.node_folder("algo-2") + "/brought", "inputs"));
    ExpectedNodes next = on.attempt();
    const std::string last_key = next.key;
    next.nonce = "fedcba9876543210";
    next.key = std::string(32, 'n');
    next.hosts = {"algo-1"};
    next.folder += "-next";
    REQUIRE(make_folders(next.folder, 0700));
    const Result<std::shared_ptr<AttemptLinks>> links = on.all_links().expect(next);
    REQUIRE(links);
    CHECK(on.links().can_go_on("algo-2"));
    const job::NodeAgain again{next.nonce, next.key, "algo-1", 20007};
    on.links().again("algo-2", again);
    CHECK(!on.links().can_go_on("algo-2"));
    on.all_links().fence(Bed::nonce, last_key);
    const Result<LinkEvent> joined = co_await (*links)->next_event();
    REQUIRE(joined);
    CHECK(joined->kind == Kind::joined);
    CHECK(joined->host == "algo-1");
    CHECK(exists(on.node_folder("algo-2") + "/brought"));
    CHECK(!exists(on.host_folder("algo-2")));
    const job::Outcome fenced = co_await on.ended("algo-1");
    CHECK(fenced == job::Outcome::exited(0));
    (*links)->done("algo-1");
    const job::Outcome let_go = co_await on.ended("algo-2");
    CHECK(let_go == job::Outcome::exited(0));
    CHECK(!exists(on.node_folder("algo-2")));
    CHECK(on.troubles().empty());
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a result that is no longer wanted is complete or missing") {
  const auto body = [](Bed& on, bool is_unpacked) -> loop::Task<> {
    on.start_nodes();
    co_await on.begin();
    const std::string result = on.copy_folder("algo-1") + "/result";
    const std::string tar = result + ".tar.partial";
    for (int i = 0; i < 200; ++i) on.leaves("algo-1", "model/" + std::to_string(i), "w");
    if (!is_unpacked) on.leaves("algo-1", "model/weights", much('w', 20'000'000));
    on.ends("algo-1", 0);
    static_cast<void>(co_await on.next(Kind::ended));
    on.links().give("algo-1");
    while (is_unpacked ? !exists(on.copy_folder("algo-1") + "/.result")
                       : std::filesystem::file_size(tar) == 0)
      co_await on.loop().turn();
    co_await on.links().forget_results();
    CHECK(exists(result + "/model/199") == is_unpacked);
    CHECK(exists(tar) != is_unpacked);
    // What is under way is passed over, and ends no connection.
    for (int i = 0; i < 1000; ++i) co_await on.loop().turn();
    CHECK(on.links().can_go_on("algo-1"));
    on.links().done("algo-1");
    const job::Outcome exited = co_await on.ended("algo-1");
    CHECK(exited == job::Outcome::exited(0));
    CHECK(exists(result) == is_unpacked);
  };
  for (const bool is_unpacked : {true, false}) {
    CAPTURE(is_unpacked);
    Bed bed(1);
    bed.run(body(bed, is_unpacked));
  }
}

TEST_CASE("node link: without the key a node is refused and says so, and nothing begins") {
  Bed bed(2);
  const auto body = [](Bed& on) -> loop::Task<> {
    job::NodeJob stranger = on.node_job("algo-1");
    stranger.key = std::string(32, 'x');
    stranger.timing.begin = 1500ms;
    on.start_node("algo-1", stranger);
    job::NodeJob patient = on.node_job("algo-2");
    patient.timing.begin = 1500ms;
    on.start_node("algo-2", patient);
    const LinkEvent joined = co_await on.next(Kind::joined);
    CHECK(joined.host == "algo-2");
    const job::Outcome refused = co_await on.ended("algo-1");
    CHECK(refused == job::Outcome::exited(0));
    CHECK(on.said_by("algo-1").find("rejected this side's key") != std::string::npos);
    REQUIRE(!on.troubles().empty());
    CHECK(on.troubles()[0].find("was refused") != std::string::npos);
    const job::Outcome waited = co_await on.ended("algo-2");
    CHECK(waited == job::Outcome::exited(0));
    CHECK(on.said_by("algo-2").empty());
    for (const std::string& host : on.hosts()) CHECK(!exists(on.node_folder(host)));
  };
  bed.run(body(bed));
}

TEST_CASE("node link: a node that cannot make its place says why by the link") {
  Bed bed(1);
  const auto body = [](Bed& on) -> loop::Task<> {
    REQUIRE(make_folders(on.node_folder("algo-1")));
    on.start_nodes();
    static_cast<void>(co_await on.next(Kind::joined));
    const LinkEvent ended = co_await on.next(Kind::ended);
    CHECK(ended.outcome.text == "n0: " + on.node_folder("algo-1") + ": already exists");
    on.links().done("algo-1");
    const job::Outcome exited = co_await on.ended("algo-1");
    CHECK(exited == job::Outcome::exited(0));
    CHECK(exists(on.node_folder("algo-1")));  // Another's.
  };
  bed.run(body(bed));
}

}  // namespace
}  // namespace muster::cluster
