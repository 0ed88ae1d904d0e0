#include "net/http/client.h"

#include <unistd.h>

#include <cerrno>
#include <map>

#include "base/text.h"
#include "net/http/certificates.h"
#include "net/http/client_connection.h"
#include "net/http/grammar.h"

namespace muster::http {
namespace {

constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::size_t idle_connections_max = 8;
constexpr int interim_heads_max = 8;

bool has_control(std::string_view text) {
  for (const char c : text)
    if ((c >= 0 && c < ' ' && c != '\t') || c == '\x7f') return true;
  return false;
}

Result<std::string> head_text(const Origin& origin, const Request& request) {
  const bool with_body = request.file.fd >= 0 || !request.body.empty() || request.method == "PUT" ||
                         request.method == "POST";
  const std::uint64_t length = request.file.fd >= 0 ? request.file.bytes : request.body.size();
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (has_control(request.target) || request.target.find(' ') != std::string::npos)
    return fail(Errc::invalid_input,
                "the request's target contains a character that must be percent-encoded");
  text += "Host: " + origin.authority() + "\r\n";
  for (const auto& [name, value] : request.headers) {
    if (has_control(name) || has_control(value))
      return fail(Errc::invalid_input, "header " + name + " contains a control character");
    text += name + ": " + value + "\r\n";
  }
  if (with_body) text += "Content-Length: " + std::to_string(length) + "\r\n";
  return text + "\r\n";
}

/// Reads one response from a connection.
class Response {
 public:
  Response(ClientConnection& connection, const Client::Options& options, TimePoint deadline)
      : connection_(connection), options_(options), deadline_(deadline) {}

  loop::Task<Result<void>> read(bool without_body, const OnBody& on_body);
  const Head& head() const { return head_; }
  bool started() const { return started_; }
  bool keep_alive() const { return keep_alive_; }

 private:
  loop::Task<Result<ParsedAnswer>> read_head(bool without_body);
  loop::Task<Result<void>> read_body(Body body, const OnBody& on_body);
  loop::Task<Result<bool>> more();

  ClientConnection& connection_;
  const Client::Options& options_;
  TimePoint deadline_;
  Head head_;
  bool started_ = false;  ///< True once any byte has arrived.
  bool keep_alive_ = false;
};

/// Waits for bytes; false at the end of the stream.
loop::Task<Result<bool>> Response::more() {
  Result<bool> filled = co_await connection_.fill(options_.idle_max, deadline_);
  if (filled && *filled) started_ = true;
  co_return filled;
}

loop::Task<Result<ParsedAnswer>> Response::read_head(bool without_body) {
  std::size_t seen = 0;
  while (true) {
    const std::string_view unread = connection_.unread();
    const std::size_t size = head_end(unread, seen);
    if (std::max(size, seen) > options_.head_bytes_max)
      co_return fail(Errc::protocol, "invalid HTTP response: the message head is too long");
    if (!may_begin_answer(unread)) co_return fail(Errc::protocol, "invalid HTTP response");
    if (size > 0) {
      Result<ParsedAnswer, BadHead> parsed = parse_answer(unread.substr(0, size), without_body);
      if (!parsed)
        co_return fail(Errc::protocol, "invalid HTTP response: " + std::string(parsed.error().why));
      connection_.take(size);
      co_return *std::move(parsed);
    }
    seen = unread.size();
    Result<bool> filled = co_await more();
    if (!filled) co_return filled.error();
    if (!*filled)
      co_return fail(Errc::closed, "the connection was closed before the response arrived");
  }
}

loop::Task<Result<void>> Response::read_body(Body body, const OnBody& on_body) {
  while (!body.done()) {
    const std::string_view unread = connection_.unread().substr(0, piece_bytes);
    const Result<Body::Step> step = body.next(unread);
    if (!step) co_return step.error().in("a broken HTTP body");
    if (step->data > 0 && on_body) {
      Result<void> taken = on_body(head_, unread.substr(step->skipped, step->data));
      if (!taken) co_return taken.error();
    }
    connection_.take(step->skipped + step->data);
    if (step->skipped + step->data > 0) continue;
    Result<bool> filled = co_await more();
    if (!filled) co_return filled.error();
    if (*filled) continue;
    if (body.framing() == Body::Framing::to_end) break;
    co_return fail(Errc::closed, "the connection was closed before the end of the body");
  }
  co_return Result<void>();
}

loop::Task<Result<void>> Response::read(bool without_body, const OnBody& on_body) {
  for (int heads = 0; heads < interim_heads_max; ++heads) {
    started_ = started_ || !connection_.unread().empty();
    Result<ParsedAnswer> answer = co_await read_head(without_body);
    if (!answer) co_return answer.error();
    head_ = std::move(answer->head);
    if (head_.status / 100 == 1) continue;  // An interim response, such as 100 Continue.
    Result<void> read = co_await read_body(answer->body, on_body);
    if (!read) co_return read.error();
    keep_alive_ = answer->keep_alive && connection_.unread().empty();
    co_return Result<void>();
  }
  co_return fail(Errc::protocol,
                 "invalid HTTP response: the server sent only interim (1xx) responses");
}

loop::Task<Result<bool>> send_file(ClientConnection& connection, FilePart part, Duration idle_max,
                                   TimePoint deadline) {
  std::string piece(piece_bytes, '\0');
  while (part.bytes > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(part.bytes, piece.size());
    const ssize_t count = ::pread(part.fd, piece.data(), wanted, static_cast<off_t>(part.offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) co_return fail_errno("cannot read the file");
    if (count == 0)
      co_return fail(Errc::invalid_input, "the file was truncated while it was being read");
    const auto bytes = static_cast<std::size_t>(count);
    part.offset += bytes;
    part.bytes -= bytes;
    const std::string_view view(piece.data(), bytes);
    Result<bool> sent = co_await connection.send(view, idle_max, deadline);
    if (!sent || !*sent) co_return sent;
  }
  co_return true;
}

loop::Task<Result<bool>> send_all(ClientConnection& connection, const std::string& head,
                                  const Request& request, Duration idle_max) {
  Result<bool> sent = co_await connection.send(head, idle_max, request.deadline);
  if (!sent || !*sent) co_return sent;
  if (request.file.fd >= 0)
    sent = co_await send_file(connection, request.file, idle_max, request.deadline);
  else
    sent = co_await connection.send(request.body, idle_max, request.deadline);
  co_return sent;
}

}  // namespace

struct Client::State {
  State(loop::Loop& on, Options with)
      : loop(on), options(std::move(with)), context(nullptr, nullptr) {}

  /// An idle connection on which nothing has arrived, or null.
  std::unique_ptr<ClientConnection> kept(const Origin& origin) {
    while (true) {
      const auto at = idle.find(origin);
      if (at == idle.end()) return nullptr;
      std::unique_ptr<ClientConnection> connection = std::move(at->second);
      idle.erase(at);
      if (connection->quiet()) return connection;
    }
  }
  void keep(const Origin& origin, std::unique_ptr<ClientConnection> connection) {
    if (idle.size() < idle_connections_max) idle.emplace(origin, std::move(connection));
  }
  Result<void> prepare_tls() {
    if (context) return {};
    context = TRY(https_context(options.ca_roots));
    return {};
  }

  loop::Loop& loop;
  Options options;
  loop::SslContext context;  ///< Before `idle`, whose connections need it.
  std::multimap<Origin, std::unique_ptr<ClientConnection>> idle;
};

Client::Client(loop::Loop& loop, Options options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

Client::~Client() = default;

loop::Task<Result<Head>> Client::exchange(Origin origin, Request request, OnBody on_body) {
  const std::shared_ptr<State> state = state_;
  const Options& options = state->options;
  Result<std::string> head = head_text(origin, request);
  if (!head) co_return head.error();
  while (true) {
    std::unique_ptr<ClientConnection> connection = state->kept(origin);
    const bool reused = connection != nullptr;
    if (!reused) {
      Result<void> prepared = origin.tls ? state->prepare_tls() : Result<void>();
      if (!prepared) co_return prepared.error();
      const TimePoint until = std::min(Clock::now() + options.connect_max, request.deadline);
      Result<std::unique_ptr<ClientConnection>> opened = co_await ClientConnection::open(
          state->loop, origin, state->context.get(), until, options.public_only);
      if (!opened) co_return opened.error();
      connection = std::move(*opened);
    }
    Result<bool> sent = co_await send_all(*connection, *head, request, options.idle_max);
    if (!sent && (sent.error().code == Errc::invalid_input || sent.error().code == Errc::timeout))
      co_return sent.error();
    Response response(*connection, options, request.deadline);
    Result<void> read = fail(Errc::closed, "");
    // The server's response explains more than the closed connection.
    read = co_await response.read(request.method == "HEAD", on_body);
    const bool gave_up = !read && read.error().code != Errc::timeout;
    if (gave_up && reused && !response.started()) continue;  // Closed while idle.
    if (!read && !sent && !response.started()) co_return sent.error();
    if (!read) co_return read.error();
    const bool whole = sent && *sent;
    if (response.keep_alive() && whole) state->keep(origin, std::move(connection));
    co_return response.head();
  }
}

std::string find_ca_roots(const Env& env) {
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const auto at = env.find(name);
    if (at != env.end() && !at->second.empty()) return at->second;
  }
  for (const char* path : {
           "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch
           "/etc/pki/tls/certs/ca-bundle.crt",    // RHEL, Amazon Linux
           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
           "/etc/ssl/ca-bundle.pem",  // SUSE
           "/etc/ssl/cert.pem",       // Alpine
       })
    if (::access(path, R_OK) == 0) return path;
  return "";
}

std::string Head::value(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_letters(key, name)) return value;
  return "";
}

}  // namespace muster::http
