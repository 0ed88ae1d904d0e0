#include "net/http/client.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "net/loop/testing.h"

using namespace muster;
using namespace muster::http;
using namespace std::chrono_literals;

namespace {

/// Serves connections one after the other with fixed bytes, once it has read `want` bytes (or a
/// head, if 0), in a separate thread. Each text is one connection; '|' in it means: read another
/// request first.
class Server {
 public:
  explicit Server(std::vector<std::string> answers, std::size_t want = 0, SSL_CTX* tls = nullptr)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    socklen_t size = sizeof name;
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0);
    port = ntohs(name.sin_port);
    thread_ = std::thread([this, answers, want, tls] {
      for (const std::string& answer : answers) serve(answer, want, tls);
    });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // Wakes a thread that still accepts.
    thread_.join();
  }
  Origin origin(bool tls = false, std::string host = "127.0.0.1") const {
    return {.tls = tls, .host = std::move(host), .port = port};
  }

  std::uint16_t port = 0;
  std::string seen;  ///< All that came, once the server has ended.

 private:
  void serve(const std::string& answer, std::size_t want, SSL_CTX* tls) {
    const Fd socket(::accept(listener_.get(), nullptr, nullptr));
    if (!socket) return;
    const std::unique_ptr<SSL, void (*)(SSL*)> ssl(tls ? SSL_new(tls) : nullptr, SSL_free);
    if (ssl) SSL_set_fd(ssl.get(), socket.get());
    if (ssl && SSL_accept(ssl.get()) != 1) return;
    for (const std::string& text : split_at_bars(answer)) {
      std::string got;
      char buffer[4096];
      const auto enough = [&] {
        return want > 0 ? got.size() >= want : got.find("\r\n\r\n") != std::string::npos;
      };
      while (!enough()) {
        const ssize_t count = ssl ? SSL_read(ssl.get(), buffer, sizeof buffer)
                                  : ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (count <= 0) break;
        got.append(buffer, static_cast<std::size_t>(count));
      }
      seen += got;
      if (ssl)
        SSL_write(ssl.get(), text.data(), static_cast<int>(text.size()));
      else
        ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
    if (ssl) SSL_shutdown(ssl.get());
  }
  static std::vector<std::string> split_at_bars(const std::string& text) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
      if (c == '|')
        parts.emplace_back();
      else
        parts.back() += c;
    }
    return parts;
  }

  Fd listener_;
  std::thread thread_;
};

struct Got {
  std::optional<Result<Head>> head;
  std::string body;
  int status() const { return *head ? (*head)->status : -1; }
};

loop::Task<void> exchange(Client& client, Origin origin, Request request, Got& got) {
  const OnBody collect = [&got](const Head&, std::string_view bytes) {
    got.body += bytes;
    return Result<void>();
  };
  Result<Head> head = co_await client.exchange(std::move(origin), std::move(request), collect);
  got.head.emplace(std::move(head));
}

Got ask(Origin origin, Request request = {}, Client::Options options = {}) {
  loop::Loop loop;
  Client client(loop, std::move(options));
  Got got;
  loop::run_task(loop, exchange(client, std::move(origin), std::move(request), got));
  return got;
}

}  // namespace

TEST_CASE("http: URLs are parsed") {
  struct {
    const char* text;
    Origin origin;
    const char* target;
    const char* authority;
  } const cases[] = {
      {"http://a", {false, "a", 80}, "/", "a"},
      {"https://a.example/", {true, "a.example", 443}, "/", "a.example"},
      {"https://a:80/b?c=%20", {true, "a", 80}, "/b?c=%20", "a:80"},
      {"http://127.0.0.1:9000?x", {false, "127.0.0.1", 9000}, "/?x", "127.0.0.1:9000"},
      {"http://[::1]:8080/x", {false, "::1", 8080}, "/x", "[::1]:8080"},
      {"https://[fd00::1]", {true, "fd00::1", 443}, "/", "[fd00::1]"},
      {"http://a_b:65535/", {false, "a_b", 65535}, "/", "a_b:65535"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Url> got = parse_url(c.text);
    REQUIRE(got);
    CHECK(got->origin == c.origin);
    CHECK(got->target == c.target);
    CHECK(got->origin.authority() == c.authority);
  }
  for (const char* bad : {"",
                          "a",
                          "a:80",
                          "HTTP://a",
                          "ftp://a",
                          "http://",
                          "http:///x",
                          "http://a b/",
                          "http://user:hush@a/",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:-1",
                          "http://a:x",
                          "http://[::1",
                          "http://[::1]x",
                          "http://[]/",
                          "http://a#b",
                          "http://a/\n",
                          "http://a<b",
                          "http://\xc3\xa4/",
                          "http://a:80:80"}) {
    CAPTURE(bad);
    const Result<Url> got = parse_url(bad);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("http: names of this machine itself") {
  for (const char* here : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) CHECK(is_loopback(here));
  for (const char* other : {"", "127.0.0.1.example", "10.0.0.1", "128.0.0.1", "localhost.example"})
    CHECK(!is_loopback(other));
}

TEST_CASE("http: answers with a length, in chunks, or to the end of the stream") {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  struct {
    const char* name;
    std::string answer;
    std::string body;
  } const cases[] = {
      {"length", head + "Content-Length: 5\r\n\r\nhello", "hello"},
      {"no body", head + "Content-Length: 0\r\n\r\n", ""},
      {"chunks",
       head + "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: x\r\n\r\n",
       "hello"},
      {"to the end", head + "Connection: close\r\n\r\nhello", "hello"},
      {"interim", "HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 5\r\n\r\nhello",
       "hello"},
      {"large", head + "Content-Length: 300000\r\n\r\n" + std::string(300000, 'x'),
       std::string(300000, 'x')},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Server server({c.answer});
    const Got got = ask(server.origin());
    REQUIRE_MESSAGE(*got.head, got.head->error().text);
    CHECK(got.status() == 200);
    CHECK(got.body == c.body);
  }
}

TEST_CASE("http: an incomplete response is an error") {
  struct {
    const char* name;
    std::string answer;
    Errc want;
  } const cases[] = {
      {"nothing", "", Errc::closed},
      {"half a head", "HTTP/1.1 200 OK\r\nContent-", Errc::closed},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", Errc::closed},
      {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
       Errc::closed},
      {"a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello",
       Errc::protocol},
      {"another protocol", "220 mail.example ESMTP\r\n\r\n", Errc::protocol},
      {"an endless head", "HTTP/1.1 200 OK\r\nA: " + std::string(200000, 'a'), Errc::protocol},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
       Errc::protocol},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Server server({c.answer});
    const Got got = ask(server.origin());
    REQUIRE(!*got.head);
    CAPTURE(got.head->error().text);
    CHECK(got.head->error().code == c.want);
  }
}

TEST_CASE("http: a request is sent whole, from memory or from a file") {
  const std::string answer = "HTTP/1.1 204 No Content\r\n\r\n";
  Request request{.method = "PUT", .target = "/a?b=c", .headers = {{"x-y", "z"}}};
  request.body = "hello";
  const std::string want =
      "PUT /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nx-y: z\r\n"
      "Content-Length: 5\r\n\r\nhello";
  const auto with_port = [](std::string text, std::uint16_t port) {
    return text.replace(text.find("PORT"), 4, std::to_string(port));
  };
  auto server = std::make_unique<Server>(std::vector{answer}, want.size());
  const std::string expected = with_port(want, server->port);
  CHECK(ask(server->origin(), request).status() == 204);
  CHECK(server->seen == expected);

  const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  request.body.clear();
  request.file = {file.get(), 1, 3};  // "ELF"
  server = std::make_unique<Server>(std::vector{answer}, want.size() - 2);
  CHECK(ask(server->origin(), request).status() == 204);
  CHECK(server->seen.ends_with("Content-Length: 3\r\n\r\nELF"));
}

TEST_CASE("http: a header with a line break never leaves") {
  for (const char* bad : {"a\r\nHost: evil", "a\nb", "a\x7f"}) {
    const Got got = ask({.tls = false, .host = "127.0.0.1", .port = 1}, {.headers = {{"x", bad}}});
    REQUIRE(!*got.head);
    CHECK(got.head->error().code == Errc::invalid_input);
  }
}

TEST_CASE("http: a refusal before all was sent is read, not the broken pipe") {
  const Fd file(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  Request request{.method = "PUT"};
  request.file = {file.get(), 0, 64u << 20};
  const Server server({"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"});
  CHECK(ask(server.origin(), request).status() == 403);
}

TEST_CASE("http: a kept connection is used again, and a dead one is not") {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  Server server({answer + "|" + answer, answer});  // Two on the first, one on the second.
  loop::Loop loop;
  Client client(loop, {});
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    Got got;
    loop::run_task(loop, exchange(client, server.origin(), {}, got));
    REQUIRE(*got.head);
    CHECK(got.body == "ok");
  }
}

TEST_CASE("http: silence ends at the idle limit, and all of it at the deadline") {
  Server server({"|", "|"}, 1u << 20);  // Waits for more than ever comes.
  Client::Options options;
  options.idle_max = 200ms;
  const Got idle = ask(server.origin(), {}, options);
  REQUIRE(!*idle.head);
  CHECK(idle.head->error().code == Errc::timeout);
  CHECK(idle.head->error().text == "the server did not send any data for 0.2 s");
  options.idle_max = 60s;
  Request request;
  request.deadline = Clock::now() + 50ms;
  const Got late = ask(server.origin(), request, options);
  REQUIRE(!*late.head);
  CHECK(late.head->error().code == Errc::timeout);
}

TEST_CASE("http: silence on a kept connection is silence, not a reason to send it all again") {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const Server server({answer + "||", answer});  // Hears a second request and says nothing.
  loop::Loop loop;
  Client::Options options;
  options.idle_max = 200ms;
  Client client(loop, options);
  Got first;
  loop::run_task(loop, exchange(client, server.origin(), {}, first));
  REQUIRE(*first.head);
  Got second;
  loop::run_task(loop, exchange(client, server.origin(), {}, second));
  REQUIRE(!*second.head);
  CHECK(second.head->error().code == Errc::timeout);
}

TEST_CASE("http: no listener") {
  std::uint16_t port = 0;
  {
    const Server server({});
    port = server.port;
  }
  const Got got = ask({.tls = false, .host = "127.0.0.1", .port = port});
  REQUIRE(!*got.head);
  CHECK(got.head->error().text == "127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

namespace {

/// A certificate for `name` that signs itself, and where it lies as a PEM file.
class Identity {
 public:
  explicit Identity(const char* alternative_name)
      : key_(EVP_RSA_gen(2048), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
    X509* made = certificate_.get();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key_.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(made));
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative_name);
    X509_add_ext(made, names, -1);
    X509_EXTENSION_free(names);
    REQUIRE(X509_sign(made, key_.get(), EVP_sha256()) > 0);
    path_ = *make_private_folder("/tmp", "http-test-") + "/ca.pem";
    std::FILE* file = std::fopen(path_.c_str(), "w");
    REQUIRE(file != nullptr);
    PEM_write_X509(file, made);
    std::fclose(file);
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), made);
    SSL_CTX_use_PrivateKey(context_.get(), key_.get());
  }
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;
  ~Identity() {
    ::unlink(path_.c_str());
    ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
  SSL_CTX* context() const { return context_.get(); }
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_{nullptr, SSL_CTX_free};
  std::string path_;
};

}  // namespace

TEST_CASE("http: TLS holds where the certificate is trusted and names the host") {
  const Identity local("DNS:localhost,IP:127.0.0.1");
  const Identity stranger("DNS:elsewhere.example");
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  struct {
    const char* name;
    const Identity& server;
    const char* host;
    std::string roots;
    const char* want;  ///< Empty: it holds.
  } const cases[] = {
      {"by name", local, "localhost", local.path(), ""},
      {"by address", local, "127.0.0.1", local.path(), ""},
      {"another's name", stranger, "localhost", stranger.path(), "not trusted"},
      {"another's address", stranger, "127.0.0.1", stranger.path(), "not trusted"},
      {"an unknown root", local, "localhost", stranger.path(), "not trusted"},
      {"no root", local, "localhost", "", "no CA roots"},
      {"no such file", local, "localhost", "/nonexistent.pem", "CA roots: /nonexistent.pem"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Server server({answer}, 0, c.server.context());
    Client::Options options;
    options.ca_roots = c.roots;
    const Got got = ask(server.origin(true, c.host), {}, options);
    if (*c.want == '\0') {
      REQUIRE_MESSAGE(*got.head, got.head->error().text);
      CHECK(got.body == "ok");
      continue;
    }
    REQUIRE(!*got.head);
    CHECK(got.head->error().text.find(c.want) != std::string::npos);
  }
}

TEST_CASE("http: a server without TLS is not an https server") {
  const Identity local("DNS:localhost");
  const Server server({"HTTP/1.1 400 Bad Request\r\n\r\n"}, 10);
  Client::Options options;
  options.ca_roots = local.path();
  const Got got = ask(server.origin(true, "localhost"), {}, options);
  REQUIRE(!*got.head);
  CHECK(got.head->error().code == Errc::protocol);
}

TEST_CASE("http: CA roots are where the environment says, else where systems keep them") {
  CHECK(find_ca_roots({{"AWS_CA_BUNDLE", "/a"}, {"SSL_CERT_FILE", "/b"}}) == "/a");
  CHECK(find_ca_roots({{"AWS_CA_BUNDLE", ""}, {"SSL_CERT_FILE", "/b"}}) == "/b");
  const std::string found = find_ca_roots({});
  CHECK((found.empty() || ::access(found.c_str(), R_OK) == 0));
}
