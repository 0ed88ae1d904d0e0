#include "host/coordinate/leader.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/coordinate/leader_call.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/tls.h"

namespace muster::coordinate {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr int refusals_logged_max = 50;  ///< Unknown peers must not fill the log.

using SessionId = LeaderCall::Session;
using Action = LeaderCall::Action;

}  // namespace

struct Leader::State {
  struct Session {
    std::shared_ptr<loop::Channel> channel;
    std::string host;
    bool held = false;
  };

  State(loop::Loop& on, Options with, Log to)
      : loop(on),
        options(std::move(with)),
        log(std::move(to)),
        call({.host = options.host,
              .hosts = options.hosts,
              .muster = MUSTER_VERSION,
              .join_deadline = options.join_deadline,
              .heartbeat = options.heartbeat,
              .lost_after = options.lost_after,
              .say_missing_every = options.say_missing_every,
              .start = options.start},
             Clock::now()),
        changed(on),
        tasks(on) {}

  void admit(loop::TlsPeer peer);
  void apply();
  void carry_out(Action action);
  void end_session(SessionId id);
  void close();
  std::shared_ptr<Session> session_of(const std::string& host) const;
  bool done_gathering() const { return closed || failed || call.started(); }

  loop::Task<void> accept();
  loop::Task<void> tick();
  loop::Task<void> read(SessionId id, std::shared_ptr<Session> session);
  loop::Task<Result<void>> wait_while_held(std::shared_ptr<Session> session);
  static loop::Task<Result<void>> gather(std::shared_ptr<State> state);
  static loop::Task<void> until_empty(std::shared_ptr<State> state, TimePoint deadline);

  loop::Loop& loop;
  Options options;
  Log log;
  LeaderCall call;
  std::unique_ptr<loop::TlsListener> listener;
  std::map<SessionId, std::shared_ptr<Session>> sessions;
  SessionId sessions_made = 0;
  std::function<void(const std::string&, Frame)> on_frame;
  std::function<void(const std::string&, const std::string&)> on_lost;
  std::optional<Error> failed;
  bool gathered = false;  ///< gather() was called.
  bool cancelled = false;
  bool closed = false;
  loop::Event changed;  ///< Set on every change that a waiter may need.
  loop::Tasks tasks;    ///< End with close(); callers that wait keep this State alive.
};

// Sessions.

loop::Task<void> Leader::State::accept() {
  while (true) {
    Result<loop::TlsPeer> peer = co_await listener->accept();
    if (!peer) co_return;
    admit(std::move(*peer));
  }
}

void Leader::State::admit(loop::TlsPeer peer) {
  const SessionId id = ++sessions_made;
  auto session = std::make_shared<Session>();
  session->channel = std::move(peer.channel);
  session->host = host_in(peer.identity, options.job);
  sessions[id] = session;
  call.opened(id, session->host, peer.address, Clock::now());
  tasks.start(read(id, std::move(session)));
  apply();
}

loop::Task<void> Leader::State::read(SessionId id, std::shared_ptr<Session> session) {
  while (true) {
    Result<Frame> frame = co_await session->channel->receive();
    if (!sessions.contains(id)) co_return;  // We ended it.
    if (frame && session->held) {
      const Result<void> held = co_await wait_while_held(session);
      if (!sessions.contains(id)) co_return;
      if (!held) frame = held.error();
    }
    if (!frame) {
      end_session(id);
      call.closed(id, frame.error().text, Clock::now());
      co_return apply();
    }
    const bool for_caller = call.frame(id, *frame, Clock::now());
    apply();
    const auto give = for_caller ? on_frame : nullptr;  // The callee may close us.
    if (give) give(session->host, std::move(*frame));
  }
}

/// A held session is not read, so its end shows only when heartbeats cannot be written.
loop::Task<Result<void>> Leader::State::wait_while_held(std::shared_ptr<Session> session) {
  while (session->held) {
    co_await changed.wait_until(Clock::now() + options.heartbeat);
    Result<void> alive = co_await session->channel->room();
    if (!alive) co_return alive.error();
  }
  co_return Result<void>();
}

void Leader::State::end_session(SessionId id) {
  const auto found = sessions.find(id);
  if (found == sessions.end()) return;
  found->second->channel->close();
  sessions.erase(found);
  changed.notify();
}

std::shared_ptr<Leader::State::Session> Leader::State::session_of(const std::string& host) const {
  const std::optional<SessionId> id = call.session_of(host);
  const auto found = id ? sessions.find(*id) : sessions.end();
  return found == sessions.end() ? nullptr : found->second;
}

// The call's decisions.

void Leader::State::apply() {
  for (std::vector<Action> actions = call.take_actions(); !actions.empty();
       actions = call.take_actions())
    for (Action& action : actions) carry_out(std::move(action));
  changed.notify();
}

void Leader::State::carry_out(Action action) {
  if (closed) return;
  switch (action.kind) {
    case Action::Kind::send: {
      const auto found = sessions.find(action.session);
      if (found != sessions.end()) found->second->channel->post(action.type, action.text);
      break;
    }
    case Action::Kind::close:
      end_session(action.session);
      break;
    case Action::Kind::say:
      log.info("roll call: " + action.text);
      break;
    case Action::Kind::start:
      break;
    case Action::Kind::give_up:
      failed = fail(cancelled ? Errc::closed : Errc::timeout, action.text);
      break;
    case Action::Kind::lost:
      if (const auto callback = on_lost)
        callback(action.host, action.text);  // The callee may close us.
      break;
  }
}

loop::Task<void> Leader::State::tick() {
  while (!closed) {
    const std::optional<TimePoint> deadline = call.next_deadline();
    if (deadline && *deadline <= Clock::now()) {
      call.step(Clock::now());
      apply();
    } else {
      co_await changed.wait_until(deadline.value_or(TimePoint::max()));
    }
  }
}

void Leader::State::close() {
  if (closed) return;
  closed = true;
  if (listener) listener->close();
  for (auto& [id, session] : sessions) session->channel->close();
  sessions.clear();
  on_frame = nullptr;
  on_lost = nullptr;
  changed.notify();
  tasks.end();
}

// Waiting.

loop::Task<Result<void>> Leader::State::gather(std::shared_ptr<State> state) {
  while (!state->done_gathering()) co_await state->changed.wait();
  if (!state->failed && !state->closed) co_return Result<void>();
  // The call gives connected members two seconds to receive the reason.
  while (!state->closed && !state->sessions.empty()) co_await state->changed.wait();
  if (state->failed) co_return *state->failed;
  co_return fail(Errc::closed, "the roll call was aborted");
}

loop::Task<void> Leader::State::until_empty(std::shared_ptr<State> state, TimePoint deadline) {
  while (!state->sessions.empty() && Clock::now() < deadline)
    co_await state->changed.wait_until(deadline);
}

// The leader as its owner sees it.

Result<std::unique_ptr<Leader>> Leader::open(loop::Loop& loop, Options options, Log log) {
  if (options.key.size() != key_bytes)
    return fail(Errc::invalid_input, "roll call: the job's key has " +
                                         std::to_string(options.key.size()) + " bytes, not 32");
  const auto key_for = [prefix = options.job + "/", key = options.key](
                           const std::string& identity) -> std::optional<std::string> {
    if (!identity.starts_with(prefix)) return std::nullopt;
    return key;
  };
  std::unique_ptr<loop::TlsListener> listener =
      TRY(loop::TlsListener::open(loop, options.port, key_for, options.handshake, options.address));
  auto state = std::make_shared<State>(loop, std::move(options), std::move(log));
  listener->on_refused([log = state->log, left = std::make_shared<int>(refusals_logged_max)](
                           const std::string& address, const std::string& why) {
    if (*left == 0) return;
    log.warning("roll call: refused " + address + ": " + why);
    if (--*left == 0) log.warning("roll call: further refusals are not logged");
  });
  state->listener = std::move(listener);
  state->call.step(Clock::now());  // A job of one host has started.
  state->tasks.start(state->accept());
  state->tasks.start(state->tick());
  return std::unique_ptr<Leader>(new Leader(std::move(state)));
}

Leader::~Leader() {
  state_->close();
}

std::uint16_t Leader::port() const {
  return state_->listener->port();
}

void Leader::on_frame(std::function<void(const std::string& host, Frame frame)> on_frame) {
  state_->on_frame = std::move(on_frame);
}

void Leader::on_lost(std::function<void(const std::string& host, const std::string& how)> on_lost) {
  state_->on_lost = std::move(on_lost);
}

loop::Task<Result<void>> Leader::gather() {
  CHECK_THAT(!std::exchange(state_->gathered, true), "gather() is called once");
  return State::gather(state_);
}

void Leader::cancel(const std::string& why) {
  state_->cancelled = !state_->failed;
  state_->call.cancel(why, Clock::now());
  state_->apply();
}

void Leader::post(const std::string& host, std::uint8_t type, std::string_view payload) {
  if (const auto session = state_->session_of(host)) session->channel->post(type, payload);
}

void Leader::post_all(std::uint8_t type, std::string_view payload) {
  for (const std::string& host : state_->options.hosts) post(host, type, payload);
}

void Leader::hold(const std::string& host, bool held) {
  state_->call.hold(host, held, Clock::now());
  if (const auto session = state_->session_of(host)) session->held = held;
  state_->changed.notify();
}

void Leader::expect_end() {
  state_->call.expect_end();
}

loop::Task<void> Leader::ended(TimePoint deadline) {
  return State::until_empty(state_, deadline);
}

void Leader::close() {
  state_->close();
}

}  // namespace muster::coordinate
