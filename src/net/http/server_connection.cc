#include "net/http/server_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/dates.h"

namespace muster::http {
namespace {

constexpr std::size_t inbox_bytes = 16 << 10;
constexpr std::size_t inbox_bytes_max = 256 << 10;    ///< For long bodies.
constexpr std::uint64_t passed_over_max = 256 << 10;  ///< Skipped body bytes.
/// Bytes that no handler read and that are skipped before closing.
constexpr std::uint64_t linger_bytes_max = 16 << 20;
constexpr std::size_t unbroken_bytes_max = 2 << 20;
constexpr std::size_t file_piece_bytes = 512 << 10;
constexpr Duration linger_max = std::chrono::seconds(3);

/// "Sun, 06 Nov 1994 08:49:37 GMT", updated once a second.
std::string_view date_now() {
  thread_local std::time_t made_for = -1;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made_for) {
    text = http_date(std::chrono::seconds(now));
    made_for = now;
  }
  return text;
}

/// Writes a header; characters that would end its line become spaces.
void add_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  const std::size_t from = head.size();
  head.append(value);
  std::replace_if(
      head.begin() + static_cast<std::ptrdiff_t>(from), head.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  head.append("\r\n");
}

void add_number(std::string& text, std::uint64_t number, int base) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  text.append(digits.data(), end);
}

std::unique_ptr<loop::Wire> wire_over(const ServerShared& shared, int socket) {
  using loop::SslWire;
  if (!shared.tls) return loop::plain_wire(socket);
  return std::make_unique<SslWire>(shared.tls.get(), socket, SslWire::Side::server);
}

loop::Task<void> tick(ServerHome& home) {
  loop::Timer timer(home.loop);
  while (!home.connections.empty()) {
    const bool ticked = co_await timer.after(std::chrono::seconds(1));
    if (!ticked) break;
    ++home.tick;
    for (const auto& [id, connection] : home.connections)
      if (connection->overdue()) connection->cut();
  }
  home.ticking = false;
}

}  // namespace

void ServerConnection::start(std::shared_ptr<ServerHome> home, loop::ConnectionQuota::Id id,
                             Fd socket, Peer peer) {
  auto connection =
      std::make_unique<ServerConnection>(home, id, std::move(socket), std::move(peer));
  home->tasks.start(serve(std::move(connection)));
  if (home->ticking) return;
  home->ticking = true;
  home->tasks.start(tick(*home));
}

ServerConnection::ServerConnection(std::shared_ptr<ServerHome> home, loop::ConnectionQuota::Id id,
                                   Fd socket, Peer peer)
    : home_(std::move(home)),
      id_(id),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      wire_(wire_over(*home_->shared, socket_.get())),
      watch_(home_->loop, socket_.get()) {
  home_->connections[id_] = this;
}

ServerConnection::~ServerConnection() {
  home_->connections.erase(id_);
  {
    const std::lock_guard<std::mutex> lock(home_->shared->mutex);
    home_->shared->quota.closed(id_);
  }
  --home_->shared->connections;
  if (home_->stopping && home_->connections.empty() && home_->emptied) home_->emptied();
}

bool ServerConnection::proved(std::string_view key, std::string_view party) {
  progress_.key = key;
  ServerShared& shared = *home_->shared;
  loop::ConnectionQuota::Verdict verdict;
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    verdict = shared.quota.proved(id_, party);
  }
  if (verdict.ends) shared.end(*verdict.ends);
  if (verdict.stays) state_.prove();
  return verdict.stays;
}

bool ServerConnection::keeps(std::size_t bytes) {
  const Standing standing = state_.standing();
  if (standing == Standing::proved) return true;
  if (standing == Standing::stranger && bytes <= inbox_bytes) return true;
  ServerShared& shared = *home_->shared;
  loop::ConnectionQuota::Verdict verdict;
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    verdict = shared.quota.holds(id_, bytes);
  }
  state_.hold(bytes > 0);
  if (verdict.ends) shared.end(*verdict.ends);
  return verdict.stays;
}

std::function<bool()> ServerConnection::gone() const {
  // The function has its own descriptor, because the connection may end first.
  const auto socket = std::make_shared<const Fd>(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  return [socket] {
    pollfd asked{socket->get(), POLLRDHUP, 0};
    return ::poll(&asked, 1, 0) > 0;
  };
}

/// Informs the quota whether a request is being answered.
void ServerConnection::set_busy(bool busy) {
  const std::lock_guard<std::mutex> lock(home_->shared->mutex);
  if (busy)
    home_->shared->quota.busy(id_);
  else
    home_->shared->quota.idle(id_);
}

void ServerConnection::cut() {
  state_.worsen(overdue() ? Fate::expired : Fate::cut);
  ::shutdown(socket_.get(), SHUT_RDWR);
  watch_.cancel();
}

std::int64_t ServerConnection::in(Duration limit) const {
  return home_->tick + std::chrono::ceil<std::chrono::seconds>(limit).count();
}

Error ServerConnection::lost(std::string_view what) const {
  if (state_.fate() == Fate::expired)
    return fail(Errc::timeout, std::string(what) + ": no data was transferred before the timeout");
  return fail(Errc::closed, std::string(what) + ": the connection was closed");
}

loop::Task<void> ServerConnection::serve(std::unique_ptr<ServerConnection> self) {
  bool more = co_await self->handshake();
  while (more) more = co_await self->serve_one();
  self->wire_->goodbye();
}

loop::Task<bool> ServerConnection::handshake() {
  const std::int64_t deadline = in(home_->shared->options.head_max);
  while (true) {
    const loop::Wire::Attempt attempt = wire_->handshake();
    if (attempt.kind == loop::Wire::Kind::done) co_return true;
    if (attempt.kind == loop::Wire::Kind::failed) co_return false;
    const bool ready = co_await wait(attempt.kind, deadline);
    if (!ready) co_return false;
  }
}

/// False once the deadline is reached or the connection was cut.
loop::Task<bool> ServerConnection::wait(loop::Wire::Kind kind, std::int64_t deadline) {
  if (state_.is_cut()) co_return false;
  deadline_ = deadline;
  unbroken_ = 0;
  bool ready = false;
  if (kind == loop::Wire::Kind::want_write)
    ready = co_await watch_.writable();
  else
    ready = co_await watch_.readable();
  deadline_ = never;
  co_return ready && !state_.is_cut();
}

/// Lets other tasks of the loop run after many bytes were moved.
loop::Task<void> ServerConnection::breathe(std::size_t bytes) {
  unbroken_ += bytes;
  if (unbroken_ < unbroken_bytes_max) co_return;
  unbroken_ = 0;
  co_await home_->loop.turn();
}

/// Appends received bytes to the unread ones; false at the end of the stream.
loop::Task<Result<bool>> ServerConnection::fill(std::int64_t deadline) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == inbox_.size()) {
    std::copy(inbox_.begin() + static_cast<std::ptrdiff_t>(begin_), inbox_.end(), inbox_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  while (true) {
    const loop::Wire::Attempt attempt = wire_->read(inbox_.data() + end_, inbox_.size() - end_);
    switch (attempt.kind) {
      case loop::Wire::Kind::done:
        end_ += attempt.bytes;
        co_return true;
      case loop::Wire::Kind::end:
        co_return false;
      case loop::Wire::Kind::failed:
        co_return attempt.error;
      default:
        break;
    }
    const bool ready = co_await wait(attempt.kind, deadline);
    if (!ready) co_return lost("request");
  }
}

/// A whole body has a deadline, so a slow client cannot send it endlessly. The handler's time does
/// not count.
loop::Task<Result<bool>> ServerConnection::fill_body() {
  const Server::Options& options = home_->shared->options;
  const std::int64_t allowed =
      in(options.body_wait) - home_->tick +
      static_cast<std::int64_t>(progress_.body_came / options.body_bytes_a_second_min) -
      progress_.body_waited;
  const std::int64_t begun = home_->tick;
  Result<bool> more =
      co_await fill(std::min(in(options.idle_max), begun + std::max<std::int64_t>(allowed, 0)));
  progress_.body_waited += home_->tick - begun;
  co_return more;
}

void ServerConnection::begin_exchange() {
  if (state_.standing() == Standing::holding) keeps(0);
  progress_ = {};
  if (inbox_.size() > inbox_bytes && end_ - begin_ < inbox_bytes) {
    std::copy(inbox_.begin() + static_cast<std::ptrdiff_t>(begin_),
              inbox_.begin() + static_cast<std::ptrdiff_t>(end_), inbox_.begin());
    end_ -= begin_;
    begin_ = 0;
    inbox_.resize(inbox_bytes);
    inbox_.shrink_to_fit();
  }
}

/// Handles one request and its response. False if the connection must end.
loop::Task<bool> ServerConnection::serve_one() {
  begin_exchange();
  const bool came = co_await receive_head();
  if (!came) co_return false;
  set_busy(true);
  progress_.begun = Clock::now();
  co_await home_->shared->handler(*this);
  if (!state_.answered()) {
    Reply reply{.status = 500};
    (void)co_await this->reply(std::move(reply));
  }
  const bool kept = co_await finish();
  tell_served();
  set_busy(false);
  co_return kept;
}

void ServerConnection::tell_served() const {
  const auto& on_served = home_->shared->options.on_served;
  if (!on_served) return;
  const Incoming& incoming = head_.incoming;
  on_served({.method = incoming.method,
             .target = incoming.target,
             .peer = peer_.address,
             .service = progress_.service,
             .key = progress_.key,
             .status = progress_.status,
             .received_bytes = progress_.body_came,
             .sent_bytes = progress_.sent_bytes,
             .took = Clock::now() - progress_.begun});
}

/// False if the connection has ended, or a refusal was sent.
loop::Task<bool> ServerConnection::receive_head() {
  const Server::Options& options = home_->shared->options;
  std::size_t size = 0;
  std::size_t seen = 0;
  std::int64_t deadline = in(options.keep_alive_max);
  state_.await_request();
  const bool is_empty = begin_ == end_;
  if (is_empty && home_->stopping) co_return false;
  if (is_empty && !wire_->buffers()) {
    begin_ = end_ = 0;
    const bool ready = co_await wait(loop::Wire::Kind::want_read, deadline);
    if (!ready) co_return false;
  }
  if (inbox_.empty()) inbox_.resize(inbox_bytes);  // Only now: silent clients cost little.
  while (true) {
    while (begin_ < end_ && seen == 0 && (inbox_[begin_] == '\r' || inbox_[begin_] == '\n'))
      ++begin_;  // RFC 9112 section 2.2: empty lines before a request.
    size = head_end(unread(), seen);
    if (size != 0) break;
    seen = unread().size();
    if (seen > 0 && state_.stage() == Stage::idle) {
      state_.begin_head();
      deadline = in(options.head_max);
    }
    if (!may_begin_request(unread())) {
      const BadHead bad{400, "not an HTTP request; use http:// for a server without TLS"};
      const bool kept = co_await refuse(bad);
      co_return kept;
    }
    if (seen >= options.head_bytes_max) {
      const BadHead bad{431, "the message head is too long"};
      const bool kept = co_await refuse(bad);
      co_return kept;
    }
    if (seen == inbox_.size()) inbox_.resize(std::min(options.head_bytes_max, inbox_.size() * 2));
    Result<bool> more = co_await fill(deadline);
    if (!more || !*more) co_return false;
  }
  state_.begin_head();
  head_text_.assign(unread().substr(0, size));
  begin_ += size;
  Result<ParsedRequest, BadHead> parsed = parse_request(head_text_);
  if (!parsed) {
    const BadHead bad = parsed.error();
    const bool kept = co_await refuse(bad);
    co_return kept;
  }
  head_ = *std::move(parsed);
  expect_body();
  co_return true;
}

void ServerConnection::expect_body() {
  Incoming& incoming = head_.incoming;
  incoming.peer = peer_.address;
  incoming.peer_port = peer_.port;
  incoming.tls = home_->shared->tls != nullptr;
  if (!head_.keep_alive) state_.worsen(Fate::closing);
  progress_.body = incoming.chunked ? Body(Body::Framing::chunks)
                                    : Body(Body::Framing::length, incoming.body_bytes.value_or(0));
  state_.read_head(head_.expects_continue && !progress_.body.done());
}

loop::Task<bool> ServerConnection::refuse(BadHead bad) {
  Reply reply{.status = bad.status, .body = std::string(bad.why) + "\n", .close = true};
  reply.headers.emplace_back("Content-Type", "text/plain");
  head_ = ParsedRequest{};
  (void)co_await this->reply(std::move(reply));
  co_await linger();
  co_return false;
}

/// Removes framing, and finds the next piece of the body in the unread bytes, if it has arrived.
Result<void> ServerConnection::take_body(std::string_view& piece) {
  while (true) {
    const Body::Step step = TRY(progress_.body.next(unread()));
    begin_ += step.skipped;
    if (step.skipped > 0) continue;
    progress_.piece = step.data;
    piece = unread().substr(0, progress_.piece);
    return {};
  }
}

loop::Task<Result<std::string_view>> ServerConnection::read() {
  begin_ += std::exchange(progress_.piece, 0);
  while (true) {
    std::string_view piece;
    Result<void> taken = take_body(piece);
    if (!taken) {
      state_.worsen(Fate::closing);
      co_return taken.error();
    }
    if (!piece.empty() || progress_.body.done()) {
      progress_.body_came += piece.size();
      co_await breathe(piece.size());
      co_return piece;
    }
    if (state_.let_go_on() && unread().empty()) {
      const std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      Result<void> sent = co_await send(go_on, {}, false);
      if (!sent) co_return sent.error();
    }
    const bool is_long = head_.incoming.chunked || progress_.body.left() > inbox_bytes;
    if (state_.standing() == Standing::proved && is_long && inbox_.size() < inbox_bytes_max)
      inbox_.resize(inbox_bytes_max);
    Result<bool> more = co_await fill_body();
    if (more && *more) continue;
    state_.worsen(Fate::closing);
    if (!more) co_return more.error();
    co_return fail(Errc::closed, "the request's body ended too early");
  }
}

/// True if the rest of the body is small enough to skip it and keep the connection.
bool ServerConnection::body_may_stay() const {
  if (state_.stage() == Stage::held_back) return false;  // The client may or may not send the body.
  if (head_.incoming.chunked) return progress_.body.done() || unread().size() > progress_.piece;
  return progress_.body.left() <= passed_over_max;
}

std::string ServerConnection::head_of(const Reply& reply, std::optional<std::uint64_t> body_bytes) {
  if (reply.close || home_->stopping || !body_may_stay()) state_.worsen(Fate::closing);
  progress_.status = reply.status;
  std::string head;
  head.reserve(512);
  head.append("HTTP/1.1 ");
  add_number(head, static_cast<std::uint64_t>(reply.status), 10);
  head.append(" ").append(reason_of(reply.status)).append("\r\n");
  for (const auto& [name, value] : reply.headers) add_header(head, name, value);
  head.append("Date: ").append(date_now()).append("\r\n");
  if (body_bytes && reply.status != 204 && reply.status != 304) {
    head.append("Content-Length: ");
    add_number(head, *body_bytes, 10);
    head.append("\r\n");
  }
  if (!body_bytes && head_.http11) head.append("Transfer-Encoding: chunked\r\n");
  if (state_.fate() != Fate::open) head.append("Connection: close\r\n");
  head.append("\r\n");
  return head;
}

loop::Task<Result<void>> ServerConnection::send(std::string_view head, std::string_view body,
                                                bool more) {
  while (!head.empty() || !body.empty()) {
    const std::array<iovec, 2> pieces = {iovec{const_cast<char*>(head.data()), head.size()},
                                         iovec{const_cast<char*>(body.data()), body.size()}};
    const loop::Wire::Attempt attempt = wire_->write(pieces.data(), 2, more, nullptr);
    if (attempt.kind == loop::Wire::Kind::done) {
      const std::size_t of_head = std::min(head.size(), attempt.bytes);
      head.remove_prefix(of_head);
      body.remove_prefix(attempt.bytes - of_head);
      progress_.sent_bytes += attempt.bytes;
      co_await breathe(attempt.bytes);
      continue;
    }
    if (attempt.kind == loop::Wire::Kind::failed) co_return attempt.error;
    const bool ready = co_await wait(attempt.kind, in(home_->shared->options.idle_max));
    if (!ready) co_return lost("response");
  }
  co_return Result<void>();
}

loop::Task<Result<void>> ServerConnection::send_file(const Reply& reply) {
  std::uint64_t at = reply.file_offset;
  const std::uint64_t end = at + reply.file_bytes;
  while (at < end) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, file_piece_bytes));
    const loop::Wire::Attempt attempt = wire_->send_file(reply.file.get(), at, want);
    if (attempt.kind == loop::Wire::Kind::done) {
      at += attempt.bytes;
      progress_.sent_bytes += attempt.bytes;
      co_await breathe(attempt.bytes);
      continue;
    }
    if (attempt.kind == loop::Wire::Kind::failed) co_return attempt.error;
    if (attempt.kind == loop::Wire::Kind::end)
      co_return fail(Errc::system, "the file is smaller than its recorded size");
    const bool ready = co_await wait(attempt.kind, in(home_->shared->options.idle_max));
    if (!ready) co_return lost("response");
  }
  co_return Result<void>();
}

loop::Task<Result<void>> ServerConnection::reply(Reply reply) {
  const bool from_file = static_cast<bool>(reply.file);
  const std::string head = head_of(reply, from_file ? reply.file_bytes : reply.body.size());
  state_.reply();
  const bool bare = head_.incoming.method == "HEAD" || reply.status == 204 || reply.status == 304;
  const std::string_view body = bare || from_file ? std::string_view() : reply.body;
  const bool file_follows = from_file && !bare && reply.file_bytes > 0;
  Result<void> sent = co_await send(head, body, file_follows);
  if (sent && file_follows) sent = co_await send_file(reply);
  if (!sent) state_.worsen(Fate::broken);
  co_return sent;
}

loop::Task<Result<void>> ServerConnection::start(Reply head) {
  if (!head_.http11) state_.worsen(Fate::closing);
  const std::string text = head_of(head, std::nullopt);
  state_.start(head_.incoming.method != "HEAD");
  Result<void> sent = co_await send(text, {}, false);
  if (!sent) state_.worsen(Fate::broken);
  co_return sent;
}

loop::Task<Result<void>> ServerConnection::write(std::string_view bytes) {
  CHECK_THAT(state_.stage() > Stage::replied, "start() comes before write()");
  if (state_.fate() >= Fate::broken) co_return lost("response");
  if (bytes.empty() || state_.stage() == Stage::bodiless) co_return Result<void>();
  std::string frame;
  if (head_.http11) {
    add_number(frame, bytes.size(), 16);
    frame.append("\r\n");
  }
  Result<void> sent = co_await send(frame, bytes, head_.http11);
  const std::string_view end = head_.http11 ? "\r\n" : "";
  if (sent) sent = co_await send(end, {}, false);
  if (!sent) state_.worsen(Fate::broken);
  co_return sent;
}

/// Ends the response and skips the rest of the request. True if another request can follow.
loop::Task<bool> ServerConnection::finish() {
  if (state_.stage() == Stage::streaming && state_.fate() < Fate::broken && head_.http11) {
    const std::string_view last = "0\r\n\r\n";
    Result<void> sent = co_await send(last, {}, false);
    if (!sent) state_.worsen(Fate::broken);
  }
  if (state_.fate() >= Fate::broken) co_return false;
  std::uint64_t passed = 0;
  while (state_.fate() == Fate::open) {
    Result<std::string_view> rest = co_await read();
    if (!rest) co_return false;
    if (rest->empty()) co_return !home_->stopping;
    passed += rest->size();
    if (passed > passed_over_max) state_.worsen(Fate::closing);
  }
  if (state_.is_cut()) co_return false;
  co_await linger();
  co_return false;
}

/// If the socket were closed with unread bytes, the kernel would discard the response.
loop::Task<void> ServerConnection::linger() {
  wire_->goodbye();
  ::shutdown(socket_.get(), SHUT_WR);
  const std::int64_t deadline = in(linger_max);
  std::uint64_t passed = 0;
  while (passed < linger_bytes_max) {
    begin_ = end_ = 0;
    Result<bool> more = co_await fill(deadline);
    if (!more || !*more) break;
    passed += end_;
  }
}

}  // namespace muster::http
