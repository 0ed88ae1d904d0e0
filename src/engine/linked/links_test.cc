#include "engine/linked/links.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "job/wire/message.h"
#include "net/loop/testing.h"
#include "net/sockets/tls.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;
using job::Message;
using Kind = LinkEvent::Kind;
using ChannelPtr = std::unique_ptr<loop::Channel>;

constexpr const char* nonce = "0123456789abcdef";

/// The engine's end; the test speaks for the nodes.
struct Stage {
  Stage() : folder(*make_private_folder("/tmp", "muster-links-")) { open(); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() {
    attempt.reset();
    links.reset();
    static_cast<void>(remove_tree(folder));
  }
  void open() {
    attempt.reset();
    links.reset();
    Links::Options options;
    options.timing = {.beat = 50ms, .silence = 1s};
    options.trouble = [this](const std::string& text) { troubles.push_back(text); };
    links = *Links::open(loop, options);
    attempt = *links->expect({.nonce = nonce,
                              .key = key,
                              .hosts = {"algo-1", "algo-2"},
                              .folder = folder,
                              .room_max = room_max});
  }
  std::string copy() const { return read_file(folder + "/algo-1/journal").value_or("none"); }
  void run(loop::Task<> task) { loop::run_task(loop, std::move(task)); }

  std::string key = std::string(32, 'k');
  std::string folder;
  Duration room_max = 1h;
  loop::Loop loop;
  std::vector<std::string> troubles;
  std::unique_ptr<Links> links;
  std::shared_ptr<AttemptLinks> attempt;
};

loop::Task<Result<loop::TlsPeer>> connect(Stage& on, std::string identity) {
  Result<loop::TlsPeer> peer = co_await loop::tls_connect(
      on.loop, "127.0.0.1", on.links->port(), std::move(identity), on.key, Clock::now() + 10s);
  co_return peer;
}

/// The next frame that is no beat; of type 0: the connection is closed.
loop::Task<Frame> receive(loop::Channel& channel) {
  while (true) {
    Result<Frame> frame = co_await channel.receive();
    if (!frame) co_return Frame();
    if (frame->type != job::type_of(Message::node_beat)) co_return *std::move(frame);
  }
}

void post(loop::Channel& channel, Message message, const std::string& payload) {
  channel.post(job::type_of(message), payload);
}

std::string hello() {
  return job::encode(job::NodeHello{.node = "n1", .address = "10.0.0.1"});
}

std::string piece(std::uint64_t offset, const std::string& bytes) {
  std::string payload(job::node_piece_header_bytes, '\0');
  job::set_piece_offset(payload, offset);
  return payload + bytes;
}

/// A connection of algo-1 that was welcomed.
loop::Task<ChannelPtr> join(Stage& on, std::uint64_t journal_bytes = 0) {
  std::string identity = std::string(nonce) + "/algo-1";
  Result<loop::TlsPeer> peer = co_await connect(on, std::move(identity));
  REQUIRE(peer);
  post(*peer->channel, Message::node_hello, hello());
  const Frame frame = co_await receive(*peer->channel);
  const Result<job::NodeWelcome> welcome = job::node_welcome_from(frame.payload);
  REQUIRE(welcome);
  CHECK(welcome->journal_bytes == journal_bytes);
  co_return std::move(peer->channel);
}

loop::Task<LinkEvent> next(Stage& on, Kind kind) {
  Result<LinkEvent> event = co_await on.attempt->next_event();
  REQUIRE(event);
  REQUIRE(static_cast<int>(event->kind) == static_cast<int>(kind));
  co_return *std::move(event);
}

TEST_CASE("links: only who has the key and a host of an attempt that is expected gets in") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    for (const char* stranger : {"0123456789abcdef/algo-3", "fedcba9876543210/algo-1", "algo-1",
                                 "0123456789abcdef/", "0123456789abcdef/algo-1/algo-2"}) {
      CAPTURE(stranger);
      std::string identity = stranger;
      const Result<loop::TlsPeer> refused = co_await connect(on, std::move(identity));
      CHECK(!refused);
    }
    on.attempt.reset();  // Nobody expects it any more.
    std::string late = std::string(nonce) + "/algo-1";
    const Result<loop::TlsPeer> refused = co_await connect(on, std::move(late));
    CHECK(!refused);
    CHECK(on.troubles.size() == 6);
  };
  stage.run(body(stage));
  CHECK(!stage.links->expect({"../x", stage.key, {"algo-1"}, stage.folder}));
}

TEST_CASE("links: what a node may not say ends its connection, and changes no copy") {
  Stage stage;
  struct {
    const char* name;
    Message message;
    std::string payload;
  } const cases[] = {
      {"a gap", Message::node_journal, piece(4, "x")},
      {"written over", Message::node_journal, piece(0, "x")},
      {"far beyond", Message::node_journal, piece(~std::uint64_t{0}, "x")},
      {"too long a piece", Message::node_journal,
       piece(3, std::string(job::node_piece_bytes_max + 1, 'x'))},
      {"no bytes", Message::node_journal, "12345678"},
      {"a result that nobody asked for", Message::node_result, piece(0, "x")},
      {"a use that is none", Message::node_usage, R"({"id":1,"usage":{"memory":-1}})"},
      {"a use beyond any", Message::node_usage,
       R"({"id":1,"usage":{"memory":18446744073709551615}})"},
      {"given without a wish", Message::node_given, R"({"bytes":0})"},
      {"an end without an outcome", Message::node_ended, "{}"},
      {"what engines say", Message::node_done, "{}"},
      {"of no stream of ours", static_cast<Message>(200), "{}"},
      {"a second hello", Message::node_hello, hello()},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    stage.open();
    REQUIRE(::truncate((stage.folder + "/algo-1/journal").c_str(), 0) == 0);
    stage.open();
    const auto body = [](Stage& on, Message message, std::string payload) -> loop::Task<> {
      const ChannelPtr node = co_await join(on);
      post(*node, Message::node_journal, piece(0, "abc"));
      const Frame have = co_await receive(*node);
      CHECK(*job::node_have_from(have.payload) == 3);
      post(*node, message, payload);
      const Frame closed = co_await receive(*node);
      CHECK(closed.type == 0);
      CHECK(on.copy() == "abc");
      const ChannelPtr again = co_await join(on, 3);
    };
    stage.run(body(stage, c.message, c.payload));
  }
}

TEST_CASE("links: of two connections of one host the newer one counts") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr older = co_await join(on);
    const ChannelPtr newer = co_await join(on);
    const Frame closed = co_await receive(*older);
    CHECK(closed.type == 0);
    CHECK(on.attempt->connected("algo-1"));
    post(*newer, Message::node_journal, piece(0, "abc"));
    static_cast<void>(co_await receive(*newer));
    CHECK(on.copy() == "abc");
    CHECK(!on.attempt->connected("algo-2"));
    static_cast<void>(co_await next(on, Kind::joined));
  };
  stage.run(body(stage));
}

TEST_CASE(
    "links: a flood of the smallest pieces, whose answers nobody reads, is taken as it comes") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr node = co_await join(on);
    constexpr std::uint64_t pieces = 20'000;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      post(*node, Message::node_journal, piece(i, "x"));
      if (i % 1000 == 0) static_cast<void>(co_await node->room());
    }
    std::uint64_t have = 0;
    while (have < pieces) {
      const Frame frame = co_await receive(*node);
      REQUIRE(frame.type == job::type_of(Message::node_have));
      have = *job::node_have_from(frame.payload);
    }
    CHECK(on.copy().size() == pieces);
  };
  stage.run(body(stage));
}

TEST_CASE("links: a journal beyond its limit ends the host, so does another version") {
  Stage stage;
  constexpr std::uint64_t almost = job::node_journal_bytes_max - 1;
  REQUIRE(::truncate((stage.folder + "/algo-1/journal").c_str(), almost) == 0);
  stage.open();
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr node = co_await join(on, almost);
    static_cast<void>(co_await next(on, Kind::joined));
    post(*node, Message::node_journal, piece(almost, "xx"));
    const LinkEvent ended = co_await next(on, Kind::ended);
    CHECK(ended.outcome.text == "its journal exceeds the size limit");
    const Frame end = co_await receive(*node);
    CHECK(end.type == job::type_of(Message::node_end));
    std::string identity = std::string(nonce) + "/algo-2";
    const Result<loop::TlsPeer> other = co_await connect(on, std::move(identity));
    REQUIRE(other);
    const std::string version = std::to_string(job::node_link_version + 1);
    post(*other->channel, Message::node_hello, R"({"version":)" + version + R"(,"muster":"9.9"})");
    const LinkEvent refused = co_await next(on, Kind::ended);
    CHECK(refused.outcome.text.find("version " + version + " of the link protocol (9.9)") !=
          std::string::npos);
    const Frame last = co_await receive(*other->channel);
    CHECK(last.type == job::type_of(Message::node_end));
  };
  stage.run(body(stage));
}

TEST_CASE("links: a copy that cannot be written is told, and goes on when it can") {
  Stage stage;
  std::signal(SIGXFSZ, SIG_IGN);
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr node = co_await join(on);
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const rlimit none{2, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    post(*node, Message::node_journal, piece(0, "abc"));
    const Frame closed = co_await receive(*node);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(closed.type == 0);
    REQUIRE(on.troubles.size() == 1);
    CHECK(on.troubles[0].find("algo-1/journal") != std::string::npos);
    const ChannelPtr again = co_await join(on, 2);  // What went in before the limit stays.
    post(*again, Message::node_journal, piece(2, "c"));
    static_cast<void>(co_await receive(*again));
    CHECK(on.copy() == "abc");
  };
  stage.run(body(stage));
}

TEST_CASE("links: a result that is no archive is told, and has no name") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr node = co_await join(on);
    static_cast<void>(co_await next(on, Kind::joined));
    on.attempt->give("algo-1");
    const Frame give = co_await receive(*node);
    CHECK(give.type == job::type_of(Message::node_give));
    post(*node, Message::node_result, piece(0, std::string(2000, 'x')));
    post(*node, Message::node_given, job::encode(job::NodeGiven{2000, ""}));
    const LinkEvent given = co_await next(on, Kind::given);
    CHECK(given.text.starts_with("result of algo-1: "));
    CHECK(::access((on.folder + "/algo-1/result").c_str(), F_OK) != 0);
    on.attempt->give("algo-2");  // Asked for when it is there.
    CHECK(!on.attempt->connected("algo-2"));
  };
  stage.run(body(stage));
}

TEST_CASE("links: a result that finds no room is tried again, and given up in the end") {
  Stage stage;
  std::signal(SIGXFSZ, SIG_IGN);
  const auto body = [](Stage& on) -> loop::Task<> {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const rlimit little{100, limit.rlim_max};
    const ChannelPtr node = co_await join(on);
    static_cast<void>(co_await next(on, Kind::joined));
    on.attempt->give("algo-1");
    static_cast<void>(co_await receive(*node));
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
    post(*node, Message::node_result, piece(0, std::string(2000, 'x')));
    if (on.room_max == 0s) {
      const LinkEvent given = co_await next(on, Kind::given);
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
      CHECK(given.text.find("File too large") != std::string::npos);
      co_return;
    }
    const Frame closed = co_await receive(*node);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(closed.type == 0);
    const ChannelPtr again = co_await join(on);
    const Frame give = co_await receive(*again);
    CHECK(give.type == job::type_of(Message::node_give));
    post(*again, Message::node_result, piece(100, std::string(1900, 'x')));
    post(*again, Message::node_given, job::encode(job::NodeGiven{2000, ""}));
    const LinkEvent given = co_await next(on, Kind::given);  // No archive, but all of it.
    CHECK(given.text.starts_with("result of algo-1: "));
    CHECK(*read_file(on.folder + "/algo-1/result.tar.partial") == std::string(2000, 'x'));
  };
  stage.run(body(stage));
  stage.room_max = 0s;
  REQUIRE(::unlink((stage.folder + "/algo-1/result.tar.partial").c_str()) == 0);
  stage.open();
  stage.run(body(stage));
}

TEST_CASE("links: a node that says nothing is dropped, silence and return cancel each other out") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    std::string identity = std::string(nonce) + "/algo-2";
    const Result<loop::TlsPeer> mute = co_await connect(on, std::move(identity));
    REQUIRE(mute);
    const ChannelPtr node = co_await join(on);
    static_cast<void>(co_await next(on, Kind::joined));
    const Frame dropped = co_await receive(*mute->channel);
    CHECK(dropped.type == 0);
    const Frame silent = co_await receive(*node);
    CHECK(silent.type == 0);
    const ChannelPtr again = co_await join(on);
    post(*again, Message::node_signalled, job::encode(job::NodeSignalled{15, 10s}));
    const LinkEvent signalled = co_await next(on, Kind::signalled);  // Nothing before it.
    CHECK(wall_time() - signalled.time >= 10s);
    CHECK(wall_time() - signalled.time < 20s);
  };
  stage.run(body(stage));
}

/// What algo-1's node answers to the question of what its host uses, whatever is asked.
loop::Task<Result<engine::Answer>> measured(Stage& on, loop::Channel& node, Message message,
                                            std::function<std::string(std::uint64_t)> answer) {
  const auto speak = [](loop::Channel& channel, Message as, auto text) -> loop::Task<> {
    const Frame asked = co_await receive(channel);
    REQUIRE(asked.type == job::type_of(Message::node_measure));
    post(channel, as, text(job::node_measure_from(asked.payload)->id));
  };
  loop::Tasks speaking(on.loop);
  speaking.start(speak(node, message, std::move(answer)));
  Result<engine::Answer> answered = co_await on.attempt->ask("algo-1", engine::Question::usage);
  co_await speaking.join();
  co_return answered;
}

TEST_CASE("links: a node that says it can is asked what its host uses") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    const ChannelPtr older = co_await join(on);
    post(*older, Message::node_began, "{}");
    static_cast<void>(co_await next(on, Kind::joined));
    static_cast<void>(co_await next(on, Kind::began));
    const Result<engine::Answer> unable =
        co_await on.attempt->ask("algo-1", engine::Question::usage);
    CHECK(unable.error().code == Errc::unsupported);
    const Result<engine::Answer> absent =
        co_await on.attempt->ask("algo-2", engine::Question::usage);
    CHECK(absent.error().code == Errc::closed);
    std::string identity = std::string(nonce) + "/algo-1";
    const Result<loop::TlsPeer> peer = co_await connect(on, std::move(identity));
    job::NodeHello able{.node = "n1", .address = "10.0.0.1", .state = job::NodeState::running};
    able.measures = true;
    post(*peer->channel, Message::node_hello, job::encode(able));
    static_cast<void>(co_await receive(*peer->channel));  // welcome
    const job::Usage used{.memory_bytes = 7, .processes = 1};
    const auto tell = [used](std::uint64_t id) { return job::encode(job::NodeUsage{id, used}); };
    const Result<engine::Answer> told =
        co_await measured(on, *peer->channel, Message::node_usage, tell);
    REQUIRE(told);
    CHECK(std::get<engine::Usage>(*told) == used);
    const auto refuse = [](std::uint64_t id) {
      return job::encode(job::NodeUsage{.id = id, .why = "busy"});
    };
    const Result<engine::Answer> why =
        co_await measured(on, *peer->channel, Message::node_usage, refuse);
    CHECK(why.error().text == "busy");
    post(*peer->channel, Message::node_usage, tell(999));  // Nobody asked.
    CHECK(on.attempt->connected("algo-1"));
  };
  stage.run(body(stage));
}

TEST_CASE("links: who waits for an event hears that the links are gone") {
  Stage stage;
  const auto body = [](Stage& on) -> loop::Task<> {
    on.links.reset();
    const Result<LinkEvent> none = co_await on.attempt->next_event();
    REQUIRE(!none);
    CHECK(none.error().code == Errc::closed);
  };
  stage.run(body(stage));
}

}  // namespace
}  // namespace muster::cluster
