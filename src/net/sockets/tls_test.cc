#include "net/sockets/tls.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/fd.h"
#include "net/loop/testing.h"

using namespace muster;
using namespace std::chrono_literals;
using loop::Loop;
using loop::Task;
using loop::Tasks;
using loop::TlsPeer;

namespace {

const std::string right_key(32, 'k');
const std::string wrong_key(32, 'w');

std::optional<std::string> key_for(const std::string& identity) {
  if (identity.starts_with("job/")) return right_key;
  return std::nullopt;
}

struct Server {
  explicit Server(Loop& loop, Duration handshake_max = 10s)
      : listener(*loop::TlsListener::open(loop, 0, key_for, handshake_max)) {
    listener->on_refused([this](const std::string& address, const std::string& why) {
      CHECK(address == "127.0.0.1");
      refused.push_back(why);
    });
  }
  std::vector<std::string> refused;
  std::unique_ptr<loop::TlsListener> listener;
};

TimePoint soon() {
  return Clock::now() + 20s;
}

Task<Result<TlsPeer>> connect(Loop& loop, std::uint16_t port, std::string identity,
                              std::string key) {
  return loop::tls_connect(loop, "127.0.0.1", port, std::move(identity), std::move(key), soon());
}

Task<void> until_refused(Loop& loop, const Server& server, std::size_t count) {
  loop::Timer pause(loop);
  while (server.refused.size() < count) co_await pause.after(1ms);
}

/// A plain TCP listener or connection, blocking, for bytes that are not TLS.
sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return name;
}
Fd plain_connect(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in name = loopback(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  return socket;
}
Fd plain_listen(std::uint16_t& port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name = loopback(0);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  REQUIRE(::listen(socket.get(), 8) == 0);
  socklen_t size = sizeof name;
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0);
  port = ntohs(name.sin_port);
  return socket;
}

/// Serves one TLS 1.3 connection with a certificate of its own making and no pre-shared key.
void serve_with_certificate(const Fd& listener) {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  Fd socket(::accept(listener.get(), nullptr, nullptr));
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, socket.get());
  if (SSL_accept(ssl) == 1) SSL_write(ssl, "hello", 5);
  SSL_free(ssl);
  SSL_CTX_free(context);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace

TEST_CASE("tls: both sides with the key can talk, and the server knows the client's identity") {
  Loop loop;
  Server server(loop);
  const auto test = [](Loop& on, Server& with) -> Task<void> {
    Result<TlsPeer> client = co_await connect(on, with.listener->port(), "job/algo-2", right_key);
    REQUIRE(client);
    CHECK(client->address == "127.0.0.1");
    Result<TlsPeer> accepted = co_await with.listener->accept();
    REQUIRE(accepted);
    CHECK(accepted->identity == "job/algo-2");
    const std::vector<std::size_t> sizes{0, 5, 16384, 100000, frame_payload_bytes_max, 1};
    for (std::size_t size : sizes) client->channel->post(10, std::string(size, 'x'));
    accepted->channel->post(4, "beat");
    for (std::size_t size : sizes) {
      Result<Frame> frame = co_await accepted->channel->receive();
      REQUIRE(frame);
      CHECK(frame->payload.size() == size);
    }
    Result<Frame> beat = co_await client->channel->receive();
    REQUIRE(beat);
    CHECK(beat->payload == "beat");
    client->channel->close();
    CHECK((co_await accepted->channel->receive()).error().code == Errc::closed);
    CHECK(with.refused.empty());
  };
  run_task(loop, test(loop, server));
}

TEST_CASE(
    "tls: a wrong key or an unknown identity is denied to the client and reported to the server") {
  struct {
    const char* name;
    const char* identity;
    const std::string& key;
  } const cases[] = {{"wrong key", "job/algo-2", wrong_key},
                     {"unknown identity", "other/algo-2", right_key},
                     {"strange identity", "\x01\xff'\n", right_key}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Loop loop;
    Server server(loop);
    const auto test = [](Loop& on, Server& with, std::string identity,
                         std::string key) -> Task<void> {
      Result<TlsPeer> client = co_await connect(on, with.listener->port(), identity, key);
      REQUIRE_FALSE(client);
      CHECK(client.error().code == Errc::denied);
      CHECK(client.error().text.find("rejected this side's key") != std::string::npos);
      co_await until_refused(on, with, 1);
      // The listener goes on.
      CHECK(co_await connect(on, with.listener->port(), "job/algo-3", right_key));
    };
    run_task(loop, test(loop, server, c.identity, c.key));
    REQUIRE(server.refused.size() == 1);
    CHECK(server.refused[0].find("key") != std::string::npos);
  }
}

TEST_CASE("tls: a server that has a certificate and not the key is refused") {
  Loop loop;
  std::uint16_t port = 0;
  const Fd listener = plain_listen(port);
  std::thread stranger([&listener] { serve_with_certificate(listener); });
  const auto test = [](Loop& on, std::uint16_t to) -> Task<void> {
    Result<TlsPeer> client = co_await connect(on, to, "job/algo-2", right_key);
    REQUIRE_FALSE(client);
    CHECK(client.error().code == Errc::denied);
    CHECK(client.error().text.find("does not have the job's key") != std::string::npos);
  };
  run_task(loop, test(loop, port));
  stranger.join();
}

TEST_CASE("tls: bytes that are no TLS are refused on either side") {
  Loop loop;
  Server server(loop);
  std::uint16_t port = 0;
  const Fd listener = plain_listen(port);
  std::thread web([&listener] {
    const Fd socket(::accept(listener.get(), nullptr, nullptr));
    CHECK(write_all(socket.get(), "HTTP/1.1 400 Bad Request\r\n\r\n"));
    std::string rest(4096, ' ');
    while (::read(socket.get(), rest.data(), rest.size()) > 0) continue;
  });
  const auto test = [](Loop& on, Server& with, std::uint16_t to) -> Task<void> {
    const Fd stranger = plain_connect(with.listener->port());
    CHECK(write_all(stranger.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    co_await until_refused(on, with, 1);
    Result<TlsPeer> client = co_await connect(on, to, "job/algo-2", right_key);
    REQUIRE_FALSE(client);
    CHECK(client.error().code == Errc::protocol);
  };
  run_task(loop, test(loop, server, port));
  web.join();
}

TEST_CASE("tls: a handshake that is never finished is refused at its deadline, others go on") {
  Loop loop;
  Server server(loop, 100ms);
  const auto test = [](Loop& on, Server& with) -> Task<void> {
    const Fd half_open = plain_connect(with.listener->port());
    CHECK(co_await connect(on, with.listener->port(), "job/algo-2", right_key));
    co_await until_refused(on, with, 1);
    CHECK(with.refused[0].find("the handshake timed out") != std::string::npos);
  };
  run_task(loop, test(loop, server));
}

TEST_CASE("tls: a client's deadline, a refused port and an unknown name each have their error") {
  Loop loop;
  std::uint16_t silent_port = 0;
  const Fd silent = plain_listen(silent_port);
  std::uint16_t free_port = 0;
  plain_listen(free_port).reset();
  const auto test = [](Loop& on, std::uint16_t never, std::uint16_t none) -> Task<void> {
    Result<TlsPeer> got =
        co_await loop::tls_connect(on, "127.0.0.1", never, "job/a", right_key, Clock::now() + 50ms);
    CHECK(got.error().code == Errc::timeout);
    got = co_await connect(on, none, "job/a", right_key);
    CHECK(got.error().code == Errc::system);
    CHECK(got.error().text.find("refused") != std::string::npos);
    got = co_await loop::tls_connect(on, "no-such-host.invalid", none, "job/a", right_key, soon());
    CHECK(got.error().code == Errc::not_found);
    got = co_await loop::tls_connect(on, "localhost", none, "job/a", right_key, soon());
    CHECK(got.error().code == Errc::system);
  };
  run_task(loop, test(loop, silent_port, free_port));
}

TEST_CASE("tls: a listener has one address alone, or all") {
  Loop loop;
  const auto listener = *loop::TlsListener::open(loop, 0, key_for, 10s, "127.0.0.1");
  const auto test = [](Loop& on, std::uint16_t port) -> Task<void> {
    Result<TlsPeer> got =
        co_await loop::tls_connect(on, "127.0.0.2", port, "job/a", right_key, soon());
    CHECK(got.error().code == Errc::system);
    got = co_await connect(on, port, "job/a", right_key);
    CHECK(got);
  };
  run_task(loop, test(loop, listener->port()));
  CHECK(loop::TlsListener::open(loop, 0, key_for, 10s, "algo-1").error().code ==
        Errc::invalid_input);
}

TEST_CASE("tls: a holder of the key gets in next to silent strangers") {
  Loop loop;
  Server server(loop);
  std::vector<Fd> strangers;
  const auto test = [&strangers](Loop& on, Server& with) -> Task<void> {
    for (int i = 0; i < 600; ++i) {
      strangers.push_back(plain_connect(with.listener->port()));
      if (i % 200 != 199) continue;
      Result<TlsPeer> client = co_await connect(on, with.listener->port(), "job/algo-2", right_key);
      REQUIRE(client);
      Result<TlsPeer> accepted = co_await with.listener->accept();
      REQUIRE(accepted);
      CHECK(accepted->identity == "job/algo-2");
    }
  };
  run_task(loop, test(loop, server));
  CHECK(std::count_if(server.refused.begin(), server.refused.end(), [](const std::string& each) {
          return each.find("too many connections at once") != std::string::npos;
        }) >= 500);
}

TEST_CASE("tls: a port in use is an error that names it") {
  Loop loop;
  Server server(loop);
  const auto second = loop::TlsListener::open(loop, server.listener->port(), key_for);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::system);
  CHECK(second.error().text == "cannot listen on port " + std::to_string(server.listener->port()) +
                                   ": Address already in use");
}

TEST_CASE("tls: a session cut inside a frame is a protocol error") {
  Loop loop;
  Server server(loop);
  const auto test = [](Loop& on, Server& with) -> Task<void> {
    Result<TlsPeer> client = co_await connect(on, with.listener->port(), "job/algo-2", right_key);
    REQUIRE(client);
    Result<TlsPeer> accepted = co_await with.listener->accept();
    REQUIRE(accepted);
    for (int i = 0; i < 64; ++i) client->channel->post(10, std::string(1u << 20, 'x'));
    Result<Frame> frame = co_await accepted->channel->receive();
    REQUIRE(frame);
    client->channel->close();  // Far more is queued than sockets hold.
    while (frame) frame = co_await accepted->channel->receive();
    CHECK(frame.error().code == Errc::protocol);
  };
  run_task(loop, test(loop, server));
}

TEST_CASE("tls: a client that never reads ends at the listener's bound, whatever it sends") {
  Loop loop;
  Server server(loop);
  const auto test = [](Loop& on, Server& with) -> Task<void> {
    Result<TlsPeer> client = co_await connect(on, with.listener->port(), "job/algo-2", right_key);
    Result<TlsPeer> accepted = co_await with.listener->accept();
    REQUIRE(accepted);
    Tasks tasks(on);
    std::optional<Error> ended;
    const auto receiver = [](loop::Channel& of, std::optional<Error>& end) -> Task<void> {
      Result<Frame> frame = co_await of.receive();
      while (frame) frame = co_await of.receive();
      end = frame.error();
    };
    tasks.start(receiver(*accepted->channel, ended));
    const std::size_t in_sockets = 8u << 20;  // More than what the kernel takes.
    std::size_t posted = 0;
    while (!ended && posted < 4 * loop::channel_backlog_bytes_max) {
      accepted->channel->post(10, std::string(1u << 20, 'x'));
      posted += 1u << 20;
      client->channel->post(4, "beat");
      co_await on.turn();
    }
    co_await tasks.join();
    CHECK(posted >= loop::channel_backlog_bytes_max);
    CHECK(posted <= loop::channel_backlog_bytes_max + in_sockets);
    CHECK(ended->code == Errc::closed);
    CHECK(ended->text == "the other side is not reading: 16 MiB of messages are pending");
    CHECK((co_await accepted->channel->room()).error().text == ended->text);
    CHECK((co_await accepted->channel->flushed()).error().text == ended->text);
    accepted->channel->post(10, "nothing more");
  };
  run_task(loop, test(loop, server));
}

TEST_CASE("tls: room waits for a peer that does not read, destroying the channel ends the wait") {
  Loop loop;
  Server server(loop);
  const auto test = [](Loop& on, Server& with) -> Task<void> {
    Result<TlsPeer> client = co_await connect(on, with.listener->port(), "job/algo-2", right_key);
    Result<TlsPeer> accepted = co_await with.listener->accept();
    REQUIRE(accepted);
    for (int i = 0; i < 64; ++i) client->channel->post(10, std::string(1u << 20, 'x'));
    int ended = 0;
    const auto waiter = [](loop::Channel& of, int& count) -> Task<void> {
      CHECK((co_await of.room()).error().code == Errc::closed);
      ++count;
    };
    const auto receiver = [](loop::Channel& of, int& count) -> Task<void> {
      CHECK((co_await of.receive()).error().code == Errc::closed);
      ++count;
    };
    Tasks tasks(on);
    tasks.start(waiter(*client->channel, ended));
    tasks.start(receiver(*client->channel, ended));
    loop::Timer pause(on);
    co_await pause.after(20ms);
    CHECK(ended == 0);
    client->channel.reset();
    co_await tasks.join();
    CHECK(ended == 2);
  };
  run_task(loop, test(loop, server));
}

TEST_CASE("tls: closing the listener ends accept and the handshakes under way") {
  Loop loop;
  auto server = std::make_unique<Server>(loop);
  const Fd half_open = plain_connect(server->listener->port());
  bool ended = false;
  const auto accepter = [](loop::TlsListener& of, bool& done) -> Task<void> {
    CHECK((co_await of.accept()).error().code == Errc::closed);
    done = true;
  };
  Tasks tasks(loop);
  tasks.start(accepter(*server->listener, ended));
  loop.post([&server] { server.reset(); });
  loop.run();  // Ends because nothing waits any more.
  CHECK(ended);
}
