#pragma once

// Inside http/ only: one connection of the HTTP server, and the loop that it lives on.

#include <atomic>
#include <limits>
#include <map>
#include <mutex>

#include "net/http/connection_state.h"
#include "net/http/grammar.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/ssl_wire.h"

namespace muster::http {

class ServerConnection;

/// State that all loops of a server share. Constant once the server listens, except for the quota.
struct ServerShared {
  Server::Options options;
  Handler handler;
  loop::SslContext tls{nullptr, SSL_CTX_free};
  std::function<void(loop::ConnectionQuota::Id)> end{};  ///< Ends a connection of any loop.
  std::atomic<std::size_t> connections = 0;  ///< Open connections, including those that are ending.
  std::mutex mutex{};                        ///< Guards the quota.
  loop::ConnectionQuota quota{loop::ConnectionQuota::Limits()};
};

/// The connections of one loop. On that loop's thread only.
struct ServerHome {
  ServerHome(loop::Loop& on, std::shared_ptr<ServerShared> common)
      : loop(on), shared(std::move(common)), tasks(on) {}
  loop::Loop& loop;
  std::shared_ptr<ServerShared> shared;
  std::map<loop::ConnectionQuota::Id, ServerConnection*> connections{};
  std::int64_t tick = 0;  ///< A coarse clock: seconds in which connections were open.
  bool ticking = false;
  bool stopping = false;
  std::function<void()> emptied{};  ///< While stopping: the last connection has gone.
  loop::Tasks tasks;                ///< One task per connection, and the clock.
};

/// The client of a connection.
struct Peer {
  std::string address;  ///< Numeric.
  std::uint16_t port = 0;
};

class ServerConnection final : public Exchange {
 public:
  /// Serves a connected socket until it closes.
  static void start(std::shared_ptr<ServerHome> home, loop::ConnectionQuota::Id id, Fd socket,
                    Peer peer);

  ServerConnection(std::shared_ptr<ServerHome> home, loop::ConnectionQuota::Id id, Fd socket,
                   Peer peer);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() override;

  const Incoming& request() const override { return head_.incoming; }
  loop::Loop& loop() override { return home_->loop; }
  loop::Task<Result<std::string_view>> read() override;
  loop::Task<Result<void>> reply(Reply reply) override;
  loop::Task<Result<void>> start(Reply head) override;
  loop::Task<Result<void>> write(std::string_view bytes) override;
  void finish_broken() override { state_.worsen(Fate::broken); }
  bool answered() const override { return state_.answered(); }
  bool proved(std::string_view key, std::string_view party) override;
  void is_for(std::string_view service) override { progress_.service = service; }
  bool keeps(std::size_t bytes) override;
  std::function<bool()> gone() const override;

  bool overdue() const { return home_->tick > deadline_; }
  bool idle() const { return state_.stage() == Stage::idle; }
  bool may_go() const { return state_.may_go(); }
  /// Ends all current and later waits for the socket.
  void cut();

 private:
  using Fate = ConnectionState::Fate;
  using Stage = ConnectionState::Stage;
  using Standing = ConnectionState::Standing;

  /// State of the current request, besides its head.
  struct Progress {
    Body body{};
    std::uint64_t body_came = 0;
    std::int64_t body_waited = 0;  ///< In ticks.
    std::size_t piece = 0;         ///< Bytes of the inbox, given out by the last read().
    int status = 0;
    std::uint64_t sent_bytes = 0;
    std::string key{};
    std::string_view service{};
    TimePoint begun{};
  };

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  static loop::Task<void> serve(std::unique_ptr<ServerConnection> self);
  loop::Task<bool> handshake();
  loop::Task<bool> serve_one();
  loop::Task<bool> receive_head();
  loop::Task<bool> refuse(BadHead bad);
  loop::Task<bool> finish();
  loop::Task<void> linger();
  loop::Task<bool> wait(loop::Wire::Kind kind, std::int64_t deadline);
  loop::Task<Result<bool>> fill(std::int64_t deadline);
  loop::Task<Result<void>> send(std::string_view head, std::string_view body, bool more);
  loop::Task<Result<void>> send_file(const Reply& reply);
  loop::Task<void> breathe(std::size_t bytes);
  Result<void> take_body(std::string_view& piece);
  std::string head_of(const Reply& reply, std::optional<std::uint64_t> body_bytes);
  void set_busy(bool busy);
  void begin_exchange();
  void tell_served() const;
  void expect_body();
  bool body_may_stay() const;
  Error lost(std::string_view what) const;
  std::int64_t in(Duration limit) const;
  loop::Task<Result<bool>> fill_body();
  std::string_view unread() const {
    return std::string_view(inbox_.data() + begin_, end_ - begin_);
  }

  std::shared_ptr<ServerHome> home_;
  loop::ConnectionQuota::Id id_;
  Fd socket_;
  Peer peer_;
  std::unique_ptr<loop::Wire> wire_;
  loop::Watch watch_;
  std::int64_t deadline_ = never;  ///< When the current wait ends, in ticks of the home.
  ConnectionState state_;
  std::size_t unbroken_ = 0;  ///< Bytes moved without letting others of the loop run.

  std::vector<char> inbox_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;

  std::string head_text_;
  ParsedRequest head_;
  Progress progress_;
};

}  // namespace muster::http
