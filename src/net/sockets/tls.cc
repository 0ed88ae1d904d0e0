#include "net/sockets/tls.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <set>

#include "base/text.h"
#include "net/addresses/interfaces.h"
#include "net/loop/tasks.h"
#include "net/sockets/channel_core.h"
#include "net/sockets/connection_quota.h"
#include "net/sockets/psk.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

/// Limit of peers that were not accepted yet. Authenticated peers are kept; the oldest of the
/// others is closed.
constexpr ConnectionQuota::Limits pending_limits{.all = 256, .of_peer = 32, .of_party = 256};
constexpr int accepts_per_turn = 32;  ///< Then other tasks of the loop run.

/// Bytes of a stranger, escaped for a message.
std::string printable(const std::string& bytes) {
  std::string text = to_utf8(bytes.substr(0, 100));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return text;
}

/// `given_up` may be set during the wait, together with a cancel() of the watch.
Task<Result<void>> shake(PskSession& session, Watch& watch, TimePoint deadline,
                         const bool& given_up) {
  while (true) {
    const Wire::Attempt attempt = session.handshake();
    if (attempt.kind == Wire::Kind::done) co_return Result<void>();
    if (attempt.kind == Wire::Kind::failed) co_return attempt.error;
    bool ready = false;
    if (attempt.kind == Wire::Kind::want_write)
      ready = co_await watch.writable(deadline);
    else
      ready = co_await watch.readable(deadline);
    if (given_up) co_return fail(Errc::closed, "too many connections at once");
    if (!ready) co_return fail(Errc::timeout, "the handshake timed out");
  }
}

std::unique_ptr<Channel> channel_of(Loop& loop, Fd socket, std::unique_ptr<PskSession> session,
                                    std::size_t backlog_max) {
  return std::make_unique<CoreChannel<Channel>>(
      std::make_shared<ChannelCore>(loop, std::move(socket), std::move(session), backlog_max));
}

/// A connection that has not authenticated yet.
struct Handshake {
  Handshake(Loop& loop, Fd newcomer, std::string from)
      : socket(std::move(newcomer)), address(std::move(from)) {
    watch.emplace(loop, socket.get());
  }
  Fd socket;
  std::string address;
  std::optional<Watch> watch;
  bool crowded_out = false;
};

struct Listening {
  using Id = ConnectionQuota::Id;
  struct Ready {
    Id id;
    TlsPeer peer;
  };

  Listening(Loop& on, Fd listener, SslContext made, KeyFor keys, Duration handshake)
      : loop(on),
        context(std::move(made)),
        key_for(std::move(keys)),
        handshake_max(handshake),
        socket(std::move(listener)),
        watch(on, socket.get()),
        arrived(on),
        tasks(on) {}

  Loop& loop;
  SslContext context;
  KeyFor key_for;
  Duration handshake_max;
  Fd socket;
  Watch watch;
  Event arrived;
  std::function<void(std::string, std::string)> refused;
  std::deque<Ready> ready;
  std::map<Id, std::shared_ptr<Handshake>> shaking;
  ConnectionQuota quota{pending_limits};
  Id next = 0;
  bool closed = false;
  Tasks tasks;
};

/// Makes room: ends a handshake, even if it has not started.
void crowd_out(Listening& listening, ConnectionQuota::Id id) {
  const auto found = listening.shaking.find(id);
  if (found == listening.shaking.end()) return;
  found->second->crowded_out = true;
  found->second->watch->cancel();
}

Task<void> admit(std::shared_ptr<Listening> listening, ConnectionQuota::Id id,
                 std::shared_ptr<Handshake> newcomer) {
  std::unique_ptr<PskSession> session =
      PskSession::server(listening->context.get(), newcomer->socket.get(), &listening->key_for);
  const TimePoint deadline = Clock::now() + listening->handshake_max;
  Result<void> shaken = fail(Errc::closed, "too many connections at once");
  if (!newcomer->crowded_out)
    shaken = co_await shake(*session, *newcomer->watch, deadline, newcomer->crowded_out);
  listening->shaking.erase(id);
  if (!shaken) {
    listening->quota.closed(id);
    std::string why = shaken.error().text;
    if (!session->identity().empty()) why = printable(session->identity()) + ": " + why;
    const auto refused = listening->refused;  // The callee may close the listener.
    if (refused) refused(std::move(newcomer->address), std::move(why));
    co_return;
  }
  newcomer->watch.reset();
  std::string identity = session->identity();
  std::unique_ptr<Channel> channel = channel_of(listening->loop, std::move(newcomer->socket),
                                                std::move(session), channel_backlog_bytes_max);
  listening->quota.busy(id);  // A busy connection that has authenticated is not closed.
  listening->quota.proved(id, {});
  listening->ready.push_back(
      {id, {std::move(channel), std::move(identity), std::move(newcomer->address)}});
  listening->arrived.notify();
}

/// False if there are no connections to accept for now.
bool accept_one(const std::shared_ptr<Listening>& listening) {
  TcpAddress from;
  Fd socket = tcp_accept(listening->socket, from);
  if (!socket) return errno == EINTR || errno == ECONNABORTED;
  const ConnectionQuota::Id id = listening->next++;
  std::string address = numeric(from);
  const ConnectionQuota::Verdict verdict = listening->quota.accepted(id, address);
  if (verdict.ends) crowd_out(*listening, *verdict.ends);
  if (!verdict.stays) {
    const auto refused = listening->refused;
    if (refused) refused(std::move(address), "too many connections at once");
    return true;
  }
  auto newcomer =
      std::make_shared<Handshake>(listening->loop, std::move(socket), std::move(address));
  listening->shaking[id] = newcomer;
  listening->tasks.start(admit(listening, id, std::move(newcomer)));
  return true;
}

Task<void> serve(std::shared_ptr<Listening> listening) {
  Timer pause(listening->loop);
  int in_a_row = 0;
  while (!listening->closed) {
    if (accept_one(listening)) {
      if (++in_a_row % accepts_per_turn == 0) co_await pause.after(Duration(0));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      co_await listening->watch.readable();
    } else {  // Out of descriptors or memory: retry when others have freed some.
      co_await pause.after(std::chrono::milliseconds(100));
    }
  }
}

Task<Result<TlsPeer>> accept_next(std::shared_ptr<Listening> listening) {
  while (!listening->closed && listening->ready.empty()) co_await listening->arrived.wait();
  if (listening->closed) co_return fail(Errc::closed, "no longer listening");
  Listening::Ready first = std::move(listening->ready.front());
  listening->ready.pop_front();
  listening->quota.closed(first.id);
  co_return std::move(first.peer);
}

class PskListener final : public TlsListener {
 public:
  explicit PskListener(std::shared_ptr<Listening> listening) : listening_(std::move(listening)) {}
  PskListener(const PskListener&) = delete;
  PskListener& operator=(const PskListener&) = delete;
  ~PskListener() override { close(); }

  std::uint16_t port() const override { return port_of(own_address(listening_->socket)); }
  Task<Result<TlsPeer>> accept() override { return accept_next(listening_); }
  void on_refused(std::function<void(std::string, std::string)> refused) override {
    listening_->refused = std::move(refused);
  }
  void close() override {
    listening_->closed = true;
    listening_->tasks.end();
    listening_->shaking.clear();
    listening_->ready.clear();
    listening_->refused = nullptr;
    listening_->arrived.notify();
  }

 private:
  std::shared_ptr<Listening> listening_;
};

Task<Result<TlsPeer>> prove(Loop& loop, Fd socket, SslContext context, std::string identity,
                            std::string key, TimePoint deadline) {
  std::unique_ptr<PskSession> session =
      PskSession::client(context.get(), socket.get(), std::move(identity), std::move(key));
  {
    Watch watch(loop, socket.get());
    const bool given_up = false;
    Result<void> shaken = co_await shake(*session, watch, deadline, given_up);
    if (!shaken) co_return shaken.error();
  }
  TlsPeer peer;
  // The client chose its peer, and its many producers of lines may exceed the room together.
  peer.channel = channel_of(loop, std::move(socket), std::move(session),
                            std::numeric_limits<std::size_t>::max());
  co_return peer;
}

}  // namespace

Result<std::unique_ptr<TlsListener>> TlsListener::open(Loop& loop, std::uint16_t port,
                                                       KeyFor key_for, Duration handshake_max,
                                                       const std::string& address) {
  SslContext context = psk_server_context();
  if (!context) return fail(Errc::system, "TLS: OpenSSL does not support TLS_AES_128_GCM_SHA256");
  Fd socket = TRY(tcp_listen(port, address));
  auto listening = std::make_shared<Listening>(loop, std::move(socket), std::move(context),
                                               std::move(key_for), handshake_max);
  listening->tasks.start(serve(listening));
  return std::unique_ptr<TlsListener>(std::make_unique<PskListener>(std::move(listening)));
}

Task<std::string> own_address_of(Loop& loop, std::string host, TimePoint deadline) {
  const Result<std::vector<TcpAddress>> named = co_await resolve(loop, host, 0, deadline);
  const Result<std::vector<InterfaceAddress>> own = interface_addresses();
  std::set<std::string> found;
  if (!named || !own) co_return std::string();
  for (const TcpAddress& address : *named)
    for (const InterfaceAddress& each : *own)
      if (each.address == numeric(address) && !each.is_loopback) found.insert(each.address);
  co_return found.size() == 1 ? *found.begin() : std::string();
}

Task<Result<TlsPeer>> tls_connect(Loop& loop, std::string host, std::uint16_t port,
                                  std::string identity, std::string key, TimePoint deadline) {
  Result<std::vector<TcpAddress>> addresses = co_await resolve(loop, host, port, deadline);
  if (!addresses) co_return addresses.error();
  Error last = fail(Errc::not_found, host + ": the name has no address");
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const TcpAddress address = (*addresses)[i];
    const TimePoint now = Clock::now();  // Leaves time for the other addresses if one is silent.
    const auto left = static_cast<Duration::rep>(addresses->size() - i);
    Result<Fd> socket = co_await tcp_connect(loop, address, now + (deadline - now) / left);
    if (!socket) {
      last = socket.error();
      continue;
    }
    const std::string from = numeric(own_address(*socket));
    SslContext context = psk_client_context();
    if (!context)
      co_return fail(Errc::system, "TLS: OpenSSL does not support TLS_AES_128_GCM_SHA256");
    Result<TlsPeer> peer = co_await prove(loop, std::move(*socket), std::move(context),
                                          std::move(identity), std::move(key), deadline);
    if (!peer) co_return peer;
    peer->address = numeric(address);
    peer->own_address = from;
    co_return peer;
  }
  co_return last;
}

}  // namespace muster::loop
