#include "net/http/client_connection.h"

#include <algorithm>

#include "net/http/certificates.h"
#include "net/sockets/public_address.h"
#include "net/sockets/tcp.h"

namespace muster::http {
namespace {

constexpr std::size_t read_bytes = 64u << 10;
constexpr std::size_t turn_bytes = 1u << 20;  ///< Then other tasks of the loop run.

loop::Task<Result<void>> shake(loop::Loop& loop, loop::Wire& wire, int socket, TimePoint deadline) {
  while (true) {
    loop::Wire::Attempt attempt = wire.handshake();
    if (attempt.kind == loop::Wire::Kind::done) co_return Result<void>();
    if (attempt.kind == loop::Wire::Kind::failed) co_return attempt.error;
    loop::Watch watch(loop, socket);
    bool ready = false;
    if (attempt.kind == loop::Wire::Kind::want_write)
      ready = co_await watch.writable(deadline);
    else
      ready = co_await watch.readable(deadline);
    if (!ready) co_return fail(Errc::timeout, "the TLS handshake timed out");
  }
}

/// Rejects the name if any address is not public, because the name server chooses their order.
Result<void> check_public(const Origin& origin, const std::vector<loop::TcpAddress>& addresses) {
  for (const loop::TcpAddress& address : addresses) {
    const std::string text = loop::numeric(address);
    if (!loop::is_public_address(text) || loop::is_own_address(text))
      return fail(Errc::denied,
                  origin.authority() + " resolves to " + text +
                      ", which is not a public internet address; connecting to it is not allowed");
  }
  return {};
}

std::string seconds_text(Duration duration) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  std::string text = std::to_string(millis / 1000);
  if (millis % 1000 != 0) text += "." + std::to_string(millis % 1000 / 100);
  return text + " s";
}

}  // namespace

ClientConnection::ClientConnection(loop::Loop& loop, Fd socket, std::unique_ptr<loop::Wire> wire)
    : loop_(loop), socket_(std::move(socket)), wire_(std::move(wire)) {}

loop::Task<Result<std::unique_ptr<ClientConnection>>> ClientConnection::open(
    loop::Loop& loop, Origin origin, SSL_CTX* context, TimePoint deadline, bool public_only) {
  Result<std::vector<loop::TcpAddress>> addresses =
      co_await loop::resolve(loop, origin.host, origin.port, deadline);
  if (!addresses) co_return addresses.error();
  if (public_only)
    if (const Result<void> all = check_public(origin, *addresses); !all) co_return all.error();
  Error last = fail(Errc::not_found, origin.host + ": the name has no address");
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const loop::TcpAddress address = (*addresses)[i];
    const TimePoint now = Clock::now();  // Leaves time for the other addresses if one is silent.
    const auto left = static_cast<Duration::rep>(addresses->size() - i);
    Result<Fd> socket = co_await loop::tcp_connect(loop, address, now + (deadline - now) / left);
    if (!socket) {
      last = socket.error().in(origin.authority());
      continue;
    }
    if (!origin.tls) {
      const int number = socket->get();
      co_return std::make_unique<ClientConnection>(loop, std::move(*socket),
                                                   loop::plain_wire(number));
    }
    auto wire = std::make_unique<ClientTls>(context, socket->get(), origin.host);
    Result<void> shaken = co_await shake(loop, *wire, socket->get(), deadline);
    if (!shaken) co_return shaken.error().in(origin.authority());
    co_return std::make_unique<ClientConnection>(loop, std::move(*socket), std::move(wire));
  }
  co_return last;
}

loop::Task<ClientConnection::Wait> ClientConnection::wait(loop::Wire::Kind kind, Duration idle_max,
                                                          TimePoint deadline) {
  since_turn_ = 0;
  const TimePoint idle_at = Clock::now() + idle_max;
  loop::Watch watch(loop_, socket_.get());
  bool ready = false;
  if (kind == loop::Wire::Kind::want_write)
    ready = co_await watch.writable(std::min(idle_at, deadline));
  else
    ready = co_await watch.readable(std::min(idle_at, deadline));
  if (ready) co_return Wait::ready;
  co_return idle_at < deadline ? Wait::idle : Wait::deadline;
}

loop::Wire::Attempt ClientConnection::read_some() {
  if (taken_ > 0) {
    inbox_.erase(0, taken_);
    taken_ = 0;
  }
  const std::size_t before = inbox_.size();
  inbox_.resize(before + read_bytes);
  loop::Wire::Attempt attempt = wire_->read(inbox_.data() + before, read_bytes);
  inbox_.resize(before + (attempt.kind == loop::Wire::Kind::done ? attempt.bytes : 0));
  since_turn_ += attempt.bytes;
  return attempt;
}

bool ClientConnection::quiet() {
  return unread().empty() && read_some().kind == loop::Wire::Kind::want_read;
}

loop::Task<Result<bool>> ClientConnection::send(std::string_view bytes, Duration idle_max,
                                                TimePoint deadline) {
  while (!bytes.empty()) {
    // A response before everything was sent is a refusal, so the rest is not sent.
    const loop::Wire::Attempt early = read_some();
    if (early.kind == loop::Wire::Kind::done || early.kind == loop::Wire::Kind::end)
      co_return false;
    if (early.kind == loop::Wire::Kind::failed) co_return early.error;
    const loop::Wire::Attempt attempt = wire_->write(bytes);
    if (attempt.kind == loop::Wire::Kind::failed) co_return attempt.error;
    bytes.remove_prefix(attempt.bytes);
    since_turn_ += attempt.bytes;
    if (since_turn_ >= turn_bytes) {
      co_await loop_.turn();
      since_turn_ = 0;
    }
    if (attempt.kind == loop::Wire::Kind::done) continue;
    const Wait waited = co_await wait(attempt.kind, idle_max, deadline);
    if (waited == Wait::idle)
      co_return fail(Errc::timeout,
                     "the server did not accept any data for " + seconds_text(idle_max));
    if (waited == Wait::deadline) co_return fail(Errc::timeout, "the request timed out");
  }
  co_return true;
}

loop::Task<Result<bool>> ClientConnection::fill(Duration idle_max, TimePoint deadline) {
  while (true) {
    if (since_turn_ >= turn_bytes) {
      co_await loop_.turn();
      since_turn_ = 0;
    }
    const loop::Wire::Attempt attempt = read_some();
    if (attempt.kind == loop::Wire::Kind::done) co_return true;
    if (attempt.kind == loop::Wire::Kind::end) co_return false;
    if (attempt.kind == loop::Wire::Kind::failed) co_return attempt.error;
    const Wait waited = co_await wait(attempt.kind, idle_max, deadline);
    if (waited == Wait::idle)
      co_return fail(Errc::timeout,
                     "the server did not send any data for " + seconds_text(idle_max));
    if (waited == Wait::deadline) co_return fail(Errc::timeout, "the request timed out");
  }
}

}  // namespace muster::http
