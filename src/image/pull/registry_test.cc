#include "image/pull/registry.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "aws/sign.h"
#include "base/text.h"
#include "net/http/server.h"
#include "net/loop/testing.h"

using namespace std::chrono_literals;

namespace muster::image {
namespace {

std::string digest(const std::string& bytes) {
  return "sha256:" + aws::sha256_hex(bytes);
}

/// A registry, and what it does to one path. Blobs are known by their digest.
struct Fake {
  struct Fault {
    int status = 0;             ///< In place of the answer.
    std::string header{};       ///< "Name: value", also in it.
    std::size_t cut_after = 0;  ///< Bytes of the body, then the connection ends.
    std::size_t trickle = 0;    ///< Bytes of the body, then one every 20 ms.
    int times = 1;
  };
  std::map<std::string, std::string> bodies{};  ///< By path.
  std::map<std::string, Fault> faults{};        ///< By path.
  bool ranges = true;
  std::string token{};     ///< The token that comes in; empty: anybody does.
  std::string password{};  ///< The header that comes in: "Basic …".
  int tokens_given = 0;
  int first_serves = 100;  ///< Requests that the first token serves; the others 100.
  int token_serves = 0;
  std::size_t endless_max = 0;      ///< A body of so many bytes in chunks, whatever was said.
  std::vector<std::string> seen{};  ///< "PATH RANGE AUTHORIZATION" of each request.
  std::uint16_t port = 0;

  std::string at(const std::string& bytes) {
    bodies["/v2/box/blobs/" + digest(bytes)] = bytes;
    return digest(bytes);
  }
  std::string here() const { return "127.0.0.1:" + std::to_string(port); }
};

std::string header_of(http::Exchange& exchange, std::string_view name) {
  return std::string(exchange.request().value(name).value_or(""));
}

/// Whether the request may come in; else what it is asked for.
bool comes_in(Fake& fake, const std::string& authorization, http::Reply& reply) {
  if (fake.token.empty() && fake.password.empty()) return true;
  if (!fake.password.empty() && authorization == fake.password) return true;
  if (!fake.token.empty() && authorization == "Bearer " + fake.token && fake.token_serves-- > 0)
    return true;
  reply.status = 401;
  const std::string bearer =
      "Bearer realm=\"http://" + fake.here() + "/token\",service=\"fake\",scope=\"other\"";
  reply.headers.emplace_back("WWW-Authenticate",
                             fake.token.empty() ? std::string("Basic realm=\"x\"") : bearer);
  return false;
}

loop::Task<void> serve_body(http::Exchange& exchange, const Fake& fake, Fake::Fault fault,
                            std::string body) {
  http::Reply reply;
  const std::string range = header_of(exchange, "Range");
  if (fake.ranges && range.starts_with("bytes=")) {
    const auto from = static_cast<std::size_t>(*parse_integer(range.substr(6, range.size() - 7)));
    reply.status = 206;
    reply.headers.emplace_back("Content-Range", "bytes " + std::to_string(from) + "-" +
                                                    std::to_string(body.size() - 1) + "/" +
                                                    std::to_string(body.size()));
    body.erase(0, from);
  }
  if (fault.cut_after == 0 && fault.trickle == 0 && fake.endless_max == 0) {
    reply.body = std::move(body);
    const Result<void> sent = co_await exchange.reply(std::move(reply));
    co_return;
  }
  const Result<void> started = co_await exchange.start(std::move(reply));
  if (!started) co_return;
  const std::string first = body.substr(0, fault.cut_after + fault.trickle);
  const Result<void> sent = co_await exchange.write(first);
  loop::Timer timer(exchange.loop());
  for (std::size_t i = first.size(); fault.trickle > 0 && i < body.size(); ++i) {
    co_await timer.after(20ms);
    const Result<void> one = co_await exchange.write(std::string_view(body).substr(i, 1));
    if (!one) co_return;
  }
  const std::string piece(64u << 10, 'x');
  for (std::size_t i = 0; i < fake.endless_max; i += piece.size()) {
    const Result<void> more = co_await exchange.write(piece);
    if (!more) co_return;
  }
  if (fault.cut_after > 0) exchange.finish_broken();
}

Fake::Fault fault_of(Fake& fake, const std::string& path) {
  const auto at = fake.faults.find(path);
  return at != fake.faults.end() && at->second.times-- > 0 ? at->second : Fake::Fault();
}

loop::Task<void> serve(http::Exchange& exchange, Fake& fake) {
  const std::string target(exchange.request().target);
  const std::string path = target.substr(0, target.find('?'));
  const std::string authorization = header_of(exchange, "Authorization");
  fake.seen.push_back(target + " " + header_of(exchange, "Range") + " " + authorization);
  http::Reply reply;
  if (path == "/token") {
    ++fake.tokens_given;
    fake.token = "token" + std::to_string(fake.tokens_given);
    fake.token_serves = fake.tokens_given == 1 ? fake.first_serves : 100;
    reply.body = "{\"token\":\"" + fake.token + "\"}";
  } else if (!comes_in(fake, authorization, reply)) {
    reply.body = R"({"errors":[{"code":"UNAUTHORIZED"}]})";
  } else if (const Fake::Fault fault = fault_of(fake, path); fault.status != 0) {
    reply.status = fault.status;
    const std::size_t colon = fault.header.find(": ");
    if (colon != std::string::npos)
      reply.headers.emplace_back(fault.header.substr(0, colon), fault.header.substr(colon + 2));
  } else if (const auto at = fake.bodies.find(path); at != fake.bodies.end()) {
    std::string body = at->second;
    co_await serve_body(exchange, fake, fault, std::move(body));
    co_return;
  } else {
    reply.status = 404;
    reply.body = R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]})";
  }
  const Result<void> sent = co_await exchange.reply(std::move(reply));
}

using Work = std::function<loop::Task<void>(loop::Loop& loop, Registry& registry)>;

/// Runs `work` against `fake`, with `other` beside it if there is one.
void with_registry(Fake& fake, const Work& work, std::optional<Login> login = {},
                   Fake* other = nullptr) {
  loop::Loop loop;
  const Log log(STDERR_FILENO, "test", Log::Level::error);
  Registry::Options options;
  options.retry.pauses = {.first = 1ms, .most = 5ms};
  options.slow_max = 200ms;
  const auto open = [&loop](Fake& of) {
    http::Server::Options own;
    Result<std::unique_ptr<http::Server>> opened = http::Server::open(
        loop, std::move(own), [&of](http::Exchange& exchange) { return serve(exchange, of); });
    CHECK_THAT(opened, "a server");
    of.port = (*opened)->port();
    return std::move(*opened);
  };
  const std::unique_ptr<http::Server> server = open(fake);
  const std::unique_ptr<http::Server> beside = other != nullptr ? open(*other) : nullptr;
  const auto body = [&]() -> loop::Task<void> {
    const auto find = [&]() -> loop::Task<Result<std::optional<FoundLogin>>> {
      if (!login) co_return std::optional<FoundLogin>();
      co_return std::optional<FoundLogin>(FoundLogin{*login, "a test"});
    };
    {
      Registry registry(loop, log, options, *reference_from(fake.here() + "/box"), find);
      co_await work(loop, registry);
    }
    const TimePoint late = Clock::now() + 10s;
    co_await server->stop(late);
    CHECK(Clock::now() < late);  // No exchange was left open.
    if (beside) co_await beside->stop(Clock::now() + 10s);
  };
  loop::run_task(loop, body());
}

struct Got {
  Result<void> result = fail(Errc::closed, "");
  std::string bytes;
};

Got blob(Fake& fake, std::string name, std::uint64_t bytes, Fake* other = nullptr) {
  Got got;
  with_registry(
      fake,
      [&](loop::Loop&, Registry& registry) -> loop::Task<void> {
        const Registry::Take take = [&got](std::string_view piece) {
          got.bytes += piece;
          return Result<void>();
        };
        got.result = co_await registry.blob(name, bytes, take);
      },
      {}, other);
  return got;
}

Result<std::string> manifest(Fake& fake, std::string which, std::optional<Login> login = {}) {
  Result<std::string> got = fail(Errc::closed, "");
  with_registry(
      fake,
      [&](loop::Loop&, Registry& registry) -> loop::Task<void> {
        got = co_await registry.manifest(which);
      },
      std::move(login));
  return got;
}

std::string much(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i * 31 / 7 % 26);
  return text;
}

}  // namespace

TEST_CASE("image registry: a manifest is fetched by tag and by digest, and must match its hash") {
  Fake fake;
  const std::string bytes = R"({"schemaVersion":2})";
  fake.bodies["/v2/box/manifests/v1"] = bytes;
  fake.bodies["/v2/box/manifests/" + digest(bytes)] = bytes;
  fake.bodies["/v2/box/manifests/" + digest("other")] = bytes;
  CHECK(*manifest(fake, "v1") == bytes);
  CHECK(*manifest(fake, digest(bytes)) == bytes);
  const Result<std::string> wrong = manifest(fake, digest("other"));
  REQUIRE(!wrong);
  CHECK(wrong.error().code == Errc::protocol);
  CHECK(wrong.error().text.find("the manifest has the wrong digest: " + digest(bytes)) !=
        std::string::npos);
  const Result<std::string> none = manifest(fake, "v2");
  REQUIRE(!none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().text ==
        fake.here() + "/box:v2: no such image; the registry says: MANIFEST_UNKNOWN: unknown");
}

TEST_CASE("image registry: a manifest has a limit") {
  Fake fake;
  fake.bodies["/v2/box/manifests/v1"] = "{";
  fake.endless_max = 64u << 20;
  const Result<std::string> got = manifest(fake, "v1");
  REQUIRE(!got);
  CHECK(got.error().code == Errc::protocol);
  CHECK(got.error().text.ends_with("larger than 4 MiB"));
}

TEST_CASE("image registry: temporary errors are retried, and others are reported at once") {
  const std::string bytes = "{}";
  struct {
    Fake::Fault fault;
    bool comes;
    std::size_t asked;
  } const cases[] = {
      {{.status = 500}, true, 2},
      {{.status = 503, .times = 3}, true, 4},
      {{.status = 429, .header = "Retry-After: 0"}, true, 2},
      {{.status = 500, .times = 99}, false, 5},
      {{.status = 403}, false, 1},
      {{.status = 418}, false, 1},
      {{.status = 307, .header = "Location: http://10.0.0.1/hush"}, false, 1},
      {{.status = 307, .header = "Location: hush"}, false, 1},
      {{.status = 302, .header = "Location: /v2/box/manifests/v1", .times = 99}, false, 6},
      {{.status = 302, .header = "Location: /v2/box/manifests/v1", .times = 5}, true, 6},
  };
  for (const auto& c : cases) {
    CAPTURE(c.fault.status);
    Fake fake;
    fake.bodies["/v2/box/manifests/v1"] = bytes;
    fake.faults["/v2/box/manifests/v1"] = c.fault;
    const Result<std::string> got = manifest(fake, "v1");
    CHECK(got.has_value() == c.comes);
    const auto asked = std::count_if(fake.seen.begin(), fake.seen.end(), [](const auto& line) {
      return line.find("/manifests/") != std::string::npos;
    });
    CHECK(static_cast<std::size_t>(asked) == c.asked);
    if (!got) CHECK(got.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("image registry: an interrupted blob continues where it ended, with ranges and without") {
  const std::string bytes = much(3u << 20);
  for (const bool ranges : {true, false}) {
    CAPTURE(ranges);
    Fake fake;
    fake.ranges = ranges;
    const std::string name = fake.at(bytes);
    fake.faults["/v2/box/blobs/" + name] = {.cut_after = 700'000, .times = 3};
    const Got got = blob(fake, name, bytes.size());
    REQUIRE_MESSAGE(got.result, got.result.error().text);
    CHECK(got.bytes == bytes);
    CHECK(fake.seen.back().find("bytes=") != std::string::npos);
  }
}

TEST_CASE("image registry: a blob that is not what the manifest says is refused") {
  const std::string bytes = much(300'000);
  struct {
    const char* name;
    std::string body;
    std::size_t endless;
    const char* want;
  } const cases[] = {
      {"corrupt", "X" + bytes.substr(1), 0, "wrong digest: sha256:"},
      {"longer", bytes + "X", 0,
       "the registry's copy has 300001 bytes, but the manifest specifies 300000"},
      {"shorter", bytes.substr(1), 0,
       "the registry's copy has 299999 bytes, but the manifest specifies 300000"},
      {"endless", "X", 1u << 30, "received more than the 300000 bytes"},
      {"chunks that end early", "", 64u << 10,
       "65536 bytes were received, but the manifest specifies 300000"},
      {"empty", "", 0, "0 bytes were received, but the manifest specifies 300000"},
  };
  for (const auto& c : cases) {
    CAPTURE(std::string(c.name));
    Fake fake;
    fake.bodies["/v2/box/blobs/" + digest(bytes)] = c.body;
    fake.endless_max = c.endless;
    const Got got = blob(fake, digest(bytes), bytes.size());
    REQUIRE(!got.result);
    CHECK(got.result.error().code == Errc::protocol);
    CHECK_MESSAGE(got.result.error().text.find(c.want) != std::string::npos,
                  got.result.error().text);
    CHECK(got.bytes.size() <= bytes.size());
  }
}

TEST_CASE("image registry: an empty blob is valid") {
  Fake fake;
  const std::string name = fake.at("");
  CHECK(blob(fake, name, 0).result);
}

TEST_CASE("image registry: a trickle is given up, and got by another try") {
  const std::string bytes = much(100'000);
  Fake fake;
  const std::string name = fake.at(bytes);
  fake.faults["/v2/box/blobs/" + name] = {.trickle = 100, .times = 2};
  const Got got = blob(fake, name, bytes.size());
  REQUIRE_MESSAGE(got.result, got.result.error().text);
  CHECK(got.bytes == bytes);
  fake.faults["/v2/box/blobs/" + name] = {.trickle = 100, .times = 99};
  const Got never = blob(fake, name, bytes.size());
  REQUIRE(!never.result);
  CHECK(never.result.error().code == Errc::timeout);
}

TEST_CASE("image registry: the receiver of the bytes may refuse them, once") {
  Fake fake;
  const std::string name = fake.at("bytes");
  Result<void> got;
  with_registry(fake, [&](loop::Loop&, Registry& registry) -> loop::Task<void> {
    const Registry::Take take = [](std::string_view) -> Result<void> {
      return fail(Errc::system, "disk full");
    };
    got = co_await registry.blob(name, 5, take);
  });
  REQUIRE(!got);
  CHECK(got.error().code == Errc::system);
  CHECK(fake.seen.size() == 1);
}

TEST_CASE("image registry: a redirect to another host takes no Authorization along") {
  Fake fake;
  Fake other;
  const std::string bytes = much(3u << 20);
  const std::string name = fake.at(bytes);
  other.bodies["/place"] = bytes;
  other.faults["/place"] = {.cut_after = 1'000'000};
  fake.password = "Basic YW5uOmh1c2g=";  // ann:hush
  Got got;
  with_registry(
      fake,
      [&](loop::Loop&, Registry& registry) -> loop::Task<void> {
        fake.faults["/v2/box/blobs/" + name] = {
            .status = 307, .header = "Location: http://" + other.here() + "/place", .times = 99};
        const Registry::Take take = [&got](std::string_view piece) {
          got.bytes += piece;
          return Result<void>();
        };
        got.result = co_await registry.blob(name, bytes.size(), take);
      },
      Login{"ann", "hush", ""}, &other);
  REQUIRE_MESSAGE(got.result, got.result.error().text);
  CHECK(got.bytes == bytes);
  CHECK(fake.seen.back().ends_with(fake.password));
  REQUIRE(other.seen.size() == 2);
  CHECK(other.seen[0] == "/place  ");
  CHECK(other.seen[1].starts_with("/place bytes="));
  CHECK(other.seen[1].ends_with(" "));
}

TEST_CASE("image registry: logins: Basic, a token, none, a wrong one") {
  Fake fake;
  fake.bodies["/v2/box/manifests/v1"] = "{}";
  fake.password = "Basic YW5uOmh1c2g=";
  CHECK(manifest(fake, "v1", Login{"ann", "hush", ""}));
  const Result<std::string> none = manifest(fake, "v1");
  REQUIRE(!none);
  CHECK(none.error().code == Errc::denied);
  CHECK(none.error().text.find("docker login " + fake.here()) != std::string::npos);
  const Result<std::string> wrong = manifest(fake, "v1", Login{"bob", "hush", ""});
  REQUIRE(!wrong);
  CHECK(wrong.error().code == Errc::denied);
  CHECK(wrong.error().text.find("the login from a test") != std::string::npos);
  CHECK(wrong.error().text.find("hush") == std::string::npos);

  fake.password.clear();
  fake.token = "not yet";
  fake.seen.clear();
  CHECK(manifest(fake, "v1", Login{"ann", "hush", ""}));
  const auto asked = std::find_if(fake.seen.begin(), fake.seen.end(),
                                  [](const auto& line) { return line.starts_with("/token?"); });
  REQUIRE(asked != fake.seen.end());
  CHECK(*asked == "/token?scope=repository%3Abox%3Apull&service=fake  Basic YW5uOmh1c2g=");
  fake.token = "not yet";
  fake.seen.clear();
  CHECK(manifest(fake, "v1", Login{"", "", "refresh"}));
  CHECK(std::find(fake.seen.begin(), fake.seen.end(), "/token  ") != fake.seen.end());
}

TEST_CASE("image registry: a token that expires midway is got again, once for all blobs") {
  Fake fake;
  fake.token = "not yet";
  fake.first_serves = 4;  // Each blob's first request; what follows finds it expired.
  std::vector<std::string> blobs;
  for (std::size_t i = 0; i < 4; ++i) blobs.push_back(much(2'000'000 + i));
  for (const std::string& bytes : blobs)
    fake.faults["/v2/box/blobs/" + fake.at(bytes)] = {.cut_after = 1'000'000};
  std::vector<Got> got(blobs.size());
  with_registry(fake, [&](loop::Loop& loop, Registry& registry) -> loop::Task<void> {
    const auto bring = [](Registry& from, const std::string& bytes, Got& into) -> loop::Task<void> {
      const Registry::Take take = [&into](std::string_view piece) {
        into.bytes += piece;
        return Result<void>();
      };
      std::string name = digest(bytes);
      into.result = co_await from.blob(std::move(name), bytes.size(), take);
    };
    loop::Tasks tasks(loop);
    for (std::size_t i = 0; i < blobs.size(); ++i) tasks.start(bring(registry, blobs[i], got[i]));
    co_await tasks.join();
  });
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    REQUIRE_MESSAGE(got[i].result, got[i].result.error().text);
    CHECK(got[i].bytes == blobs[i]);
  }
  CHECK(fake.tokens_given == 2);
}

}  // namespace muster::image
