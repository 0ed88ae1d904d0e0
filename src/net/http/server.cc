#include "net/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "net/http/certificates.h"
#include "net/http/server_connection.h"
#include "net/loop/loop_thread.h"
#include "net/sockets/tcp.h"

namespace muster::http {
namespace {

constexpr int accepts_per_turn = 32;  ///< Then other tasks of the loop run.
/// Limit of connections that must end but have not ended yet; above it, new connections are not
/// accepted.
constexpr std::size_t ending_max = 64;
constexpr Duration ending_pause = std::chrono::milliseconds(5);

Result<loop::TcpAddress> address_of(const std::string& host, std::uint16_t port) {
  loop::TcpAddress address;
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&address.storage, &v4, address.size = sizeof v4);
    return address;
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&address.storage, &v6, address.size = sizeof v6);
    return address;
  }
  return fail(Errc::invalid_input, "\"" + host + "\" is not a numeric IP address");
}

Result<Fd> listen_at(const std::string& host, std::uint16_t port) {
  const loop::TcpAddress address = TRY(address_of(host, port));
  const std::string where = host + ":" + std::to_string(port);
  Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Errc::system, errno_text("cannot listen on " + where));
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::bind(socket.get(), name, address.size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return fail(Errc::system, errno_text("cannot listen on " + where));
  return socket;
}

struct Serving {
  Serving(loop::Loop& on, Fd listener, std::shared_ptr<ServerShared> common)
      : main(on),
        shared(std::move(common)),
        socket(std::move(listener)),
        watch(on, socket.get()),
        emptied(on) {}

  loop::Loop& main;
  std::shared_ptr<ServerShared> shared;
  Fd socket;
  loop::Watch watch;
  loop::Event emptied;  ///< Notified when a home loses its last connection while stopping.
  std::vector<std::shared_ptr<ServerHome>> homes;
  loop::ConnectionQuota::Id next = 0;
  bool closed = false;
};

const std::shared_ptr<ServerHome>& home_of(const Serving& serving, loop::ConnectionQuota::Id id) {
  return serving.homes[id % serving.homes.size()];
}

/// Callable on any thread. Runs after the connection's start, because both are in the queue of its
/// loop.
void end_connection(const Serving& serving, loop::ConnectionQuota::Id id) {
  const std::shared_ptr<ServerHome>& home = home_of(serving, id);
  home->loop.post([home, id] {
    const auto found = home->connections.find(id);
    if (found != home->connections.end() && found->second->may_go()) found->second->cut();
  });
}

/// Each connection goes to the next loop, so that few connections are spread evenly (the kernel's
/// SO_REUSEPORT spreads by hash: of 16 connections on 4 loops, one often gets 8).
void hand_out(Serving& serving, loop::ConnectionQuota::Id id, Fd socket, Peer peer) {
  std::shared_ptr<ServerHome> home = home_of(serving, id);
  ++serving.shared->connections;
  if (&home->loop == &serving.main) {
    ServerConnection::start(std::move(home), id, std::move(socket), std::move(peer));
    return;
  }
  const auto carried = std::make_shared<Fd>(std::move(socket));  // std::function is copyable.
  loop::Loop& loop = home->loop;
  loop.post([home, id, carried, peer = std::move(peer)]() mutable {
    ServerConnection::start(home, id, std::move(*carried), std::move(peer));
  });
}

/// False if there are no connections to accept for now.
bool accept_one(Serving& serving) {
  loop::TcpAddress from;
  Fd socket = loop::tcp_accept(serving.socket, from);
  if (!socket) return errno == EINTR || errno == ECONNABORTED;
  const loop::ConnectionQuota::Id id = serving.next++;
  Peer peer{loop::numeric(from), loop::port_of(from)};
  loop::ConnectionQuota::Verdict verdict;
  {
    const std::lock_guard<std::mutex> lock(serving.shared->mutex);
    verdict = serving.shared->quota.accepted(id, peer.address);
  }
  if (verdict.ends) end_connection(serving, *verdict.ends);
  if (verdict.stays) hand_out(serving, id, std::move(socket), std::move(peer));
  return true;
}

loop::Task<void> accept_all(Serving& serving) {
  loop::Timer pause(serving.main);
  int in_a_row = 0;
  const std::size_t open_max = serving.shared->options.limits.all + ending_max;
  while (!serving.closed) {
    if (serving.shared->connections >= open_max) {
      co_await pause.after(ending_pause);
    } else if (accept_one(serving)) {
      if (++in_a_row % accepts_per_turn == 0) co_await pause.after(Duration(0));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      co_await serving.watch.readable();
    } else {  // Out of descriptors or memory: retry when others have freed some.
      co_await pause.after(std::chrono::milliseconds(100));
    }
  }
}

void close_listener(Serving& serving) {
  serving.closed = true;
  serving.watch.cancel();
  ::shutdown(serving.socket.get(), SHUT_RDWR);
}

/// Ends connections on their own loop: idle ones, or all.
void end_connections(const std::shared_ptr<Serving>& serving, bool all) {
  for (const std::shared_ptr<ServerHome>& home : serving->homes) {
    home->loop.post([home, serving, all] {
      home->stopping = true;
      home->emptied = [weak = std::weak_ptr<Serving>(serving)] {
        const std::shared_ptr<Serving> whole = weak.lock();  // Keeps the owner of this home alive.
        if (whole) whole->main.post([whole] { whole->emptied.notify(); });
      };
      if (home->connections.empty()) home->emptied();  // The last connection had already ended.
      for (const auto& [id, connection] : home->connections)
        if (all || connection->idle()) connection->cut();
    });
  }
}

loop::Task<void> stop_all(std::shared_ptr<Serving> serving, TimePoint deadline) {
  close_listener(*serving);
  end_connections(serving, false);
  bool in_time = true;
  while (serving->shared->connections > 0 && in_time)
    in_time = co_await serving->emptied.wait_until(deadline);
  if (serving->shared->connections > 0) end_connections(serving, true);
  while (serving->shared->connections > 0) co_await serving->emptied.wait();
}

class ThreadedServer final : public Server {
 public:
  ThreadedServer(std::shared_ptr<Serving> serving,
                 std::vector<std::unique_ptr<loop::LoopThread>> threads)
      : serving_(std::move(serving)), threads_(std::move(threads)), accepting_(serving_->main) {
    accepting_.start(accept_all(*serving_));
  }
  ThreadedServer(const ThreadedServer&) = delete;
  ThreadedServer& operator=(const ThreadedServer&) = delete;
  ~ThreadedServer() override {
    if (!serving_->closed) close_listener(*serving_);
    for (const std::unique_ptr<loop::LoopThread>& thread : threads_) thread->stop();
    for (const std::shared_ptr<ServerHome>& home : serving_->homes) home->tasks.end();
  }

  std::uint16_t port() const override { return loop::port_of(loop::own_address(serving_->socket)); }
  std::size_t connections() const override { return serving_->shared->connections; }
  loop::Task<void> stop(TimePoint deadline) override { return stop_all(serving_, deadline); }

 private:
  std::shared_ptr<Serving> serving_;
  std::vector<std::unique_ptr<loop::LoopThread>> threads_;
  loop::Tasks accepting_;
};

}  // namespace

loop::Task<Result<std::string>> read_whole(Exchange& exchange, std::size_t bytes_max) {
  std::string whole;
  while (true) {
    Result<std::string_view> piece = co_await exchange.read();
    if (!piece) co_return piece.error();
    if (piece->empty()) co_return whole;
    if (piece->size() > bytes_max - whole.size())
      co_return fail(Errc::invalid_input,
                     "the body is larger than " + std::to_string(bytes_max) + " bytes");
    if (!exchange.keeps(whole.size() + piece->size()))
      co_return fail(Errc::denied, "the server is receiving too many request bodies at once");
    whole.append(*piece);
  }
}

Result<std::unique_ptr<Server>> Server::open(loop::Loop& main, Options options, Handler handler) {
  auto shared = std::make_shared<ServerShared>();
  if (!options.certificate_file.empty())
    shared->tls = TRY(https_server_context(options.certificate_file, options.key_file));
  Fd socket = TRY(listen_at(options.host, options.port));
  const int thread_count = options.threads;
  shared->quota = loop::ConnectionQuota(options.limits);
  shared->options = std::move(options);
  shared->handler = std::move(handler);
  auto serving = std::make_shared<Serving>(main, std::move(socket), shared);
  shared->end = [weak = std::weak_ptr<Serving>(serving)](loop::ConnectionQuota::Id id) {
    if (const std::shared_ptr<Serving> whole = weak.lock()) end_connection(*whole, id);
  };
  std::vector<std::unique_ptr<loop::LoopThread>> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.push_back(std::make_unique<loop::LoopThread>());
    serving->homes.push_back(std::make_shared<ServerHome>(threads.back()->loop(), shared));
  }
  if (threads.empty()) serving->homes.push_back(std::make_shared<ServerHome>(main, shared));
  return std::unique_ptr<Server>(
      std::make_unique<ThreadedServer>(std::move(serving), std::move(threads)));
}

}  // namespace muster::http
