#include "engine/linked/links.h"

#include <map>
#include <optional>

#include "engine/linked/linked_attempt.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/tls.h"

namespace muster::cluster {
namespace {

constexpr int troubles_max = 50;
constexpr int farewells_max = 64;  ///< Limit of fenced nodes that are notified at the same time.
constexpr std::chrono::seconds farewell_max{5};
constexpr std::chrono::seconds handshake_max{10};
constexpr const char* fenced_text = "its attempt has ended";

class ListeningLinks final : public Links {
 public:
  static Result<std::unique_ptr<Links>> open(loop::Loop& loop, Options options) {
    std::unique_ptr<ListeningLinks> links =
        std::make_unique<ListeningLinks>(loop, std::move(options));
    TRY(links->listen());
    return std::unique_ptr<Links>(std::move(links));
  }
  ListeningLinks(loop::Loop& loop, Options options)
      : loop_(loop), options_(std::move(options)), tasks_(loop) {}
  ListeningLinks(const ListeningLinks&) = delete;
  ListeningLinks& operator=(const ListeningLinks&) = delete;
  ~ListeningLinks() override {
    tasks_.end();
    for (const auto& [nonce, known] : attempts_)
      if (const std::shared_ptr<LinkedAttempt> attempt = known.lock()) attempt->close();
  }

  std::uint16_t port() const override { return listener_->port(); }
  Result<std::shared_ptr<AttemptLinks>> expect(ExpectedNodes attempt) override;
  void fence(const std::string& nonce, const std::string& key) override;

 private:
  Result<void> listen();
  std::optional<std::string> key_for(const std::string& identity) const;
  std::shared_ptr<LinkedAttempt> attempt_of(const std::string& nonce) const;
  loop::Task<> accept_all();
  loop::Task<> say_farewell(std::shared_ptr<loop::Channel> channel);
  void trouble(const std::string& text);

  loop::Loop& loop_;
  Options options_;
  int troubles_ = 0;
  int farewells_ = 0;
  std::map<std::string, std::weak_ptr<LinkedAttempt>> attempts_;  ///< By nonce.
  std::map<std::string, std::string> fenced_;                     ///< Keys by nonce.
  std::unique_ptr<loop::TlsListener> listener_;
  loop::Tasks tasks_;
};

Result<void> ListeningLinks::listen() {
  listener_ = TRY(loop::TlsListener::open(
      loop_, options_.port, [this](const std::string& identity) { return key_for(identity); },
      handshake_max, options_.address));
  listener_->on_refused([this](const std::string& address, const std::string& why) {
    trouble(address + " was refused: " + why);
  });
  tasks_.start(accept_all());
  return {};
}

Result<std::shared_ptr<AttemptLinks>> ListeningLinks::expect(ExpectedNodes attempt) {
  if (!job::is_nonce(attempt.nonce) || attempt_of(attempt.nonce) != nullptr ||
      fenced_.contains(attempt.nonce))
    return fail(Errc::invalid_input, "attempt " + attempt.nonce + " already exists");
  std::erase_if(attempts_, [](const auto& known) { return known.second.expired(); });
  const std::string nonce = attempt.nonce;
  const std::shared_ptr<LinkedAttempt> linked =
      TRY(LinkedAttempt::open(loop_, std::move(attempt), options_.timing,
                              [this](const std::string& text) { trouble(text); }));
  attempts_[nonce] = linked;
  return std::shared_ptr<AttemptLinks>(linked);
}

void ListeningLinks::fence(const std::string& nonce, const std::string& key) {
  if (const std::shared_ptr<LinkedAttempt> attempt = attempt_of(nonce))
    attempt->end_all(fenced_text);
  fenced_[nonce] = key;
}

std::shared_ptr<LinkedAttempt> ListeningLinks::attempt_of(const std::string& nonce) const {
  const auto found = attempts_.find(nonce);
  return found == attempts_.end() ? nullptr : found->second.lock();
}

std::optional<std::string> ListeningLinks::key_for(const std::string& identity) const {
  const std::optional<job::NodeIdentity> claimed = job::node_identity_from(identity);
  if (!claimed) return std::nullopt;
  if (const auto fenced = fenced_.find(claimed->nonce); fenced != fenced_.end())
    return fenced->second;
  const std::shared_ptr<LinkedAttempt> attempt = attempt_of(claimed->nonce);
  if (!attempt || !attempt->has(claimed->host)) return std::nullopt;
  return attempt->key();
}

/// A peer may have authenticated for an attempt that has ended in the meantime.
loop::Task<> ListeningLinks::accept_all() {
  while (true) {
    Result<loop::TlsPeer> peer = co_await listener_->accept();
    if (!peer) co_return;
    const std::optional<job::NodeIdentity> proved = job::node_identity_from(peer->identity);
    if (!proved) continue;
    const std::shared_ptr<LinkedAttempt> attempt = attempt_of(proved->nonce);
    if (fenced_.contains(proved->nonce)) {
      if (farewells_ < farewells_max) tasks_.start(say_farewell(std::move(peer->channel)));
    } else if (attempt && attempt->has(proved->host)) {
      attempt->take(proved->host, std::move(peer->channel));
    }
  }
}

/// The node closes the connection when it has read the message. If this side closed it, data that
/// the node sends in the meantime could make the kernel discard the message.
loop::Task<> ListeningLinks::say_farewell(std::shared_ptr<loop::Channel> channel) {
  ++farewells_;
  const auto hear_out = [](std::shared_ptr<loop::Channel> from) -> loop::Task<> {
    bool open = true;
    while (open) {
      const Result<Frame> frame = co_await from->receive();
      open = frame.has_value();
    }
  };
  channel->post(job::type_of(job::Message::node_end), job::encode(job::NodeEnd{fenced_text}));
  loop::Tasks hearing(loop_);
  hearing.start(hear_out(channel));
  static_cast<void>(co_await hearing.join_until(Clock::now() + farewell_max));
  hearing.end();
  channel->close();
  --farewells_;
}

void ListeningLinks::trouble(const std::string& text) {
  if (!options_.trouble || ++troubles_ > troubles_max) return;
  options_.trouble(text);
}

}  // namespace

Result<std::unique_ptr<Links>> Links::open(loop::Loop& loop, Options options) {
  return ListeningLinks::open(loop, std::move(options));
}

}  // namespace muster::cluster
