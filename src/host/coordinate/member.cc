#include "host/coordinate/member.h"

#include <cstring>
#include <utility>

#include "base/fd.h"
#include "host/coordinate/member_call.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/tls.h"

namespace muster::coordinate {
namespace {

constexpr std::size_t key_bytes = 32;

using Action = MemberCall::Action;

/// So that members do not retry at the same time.
std::uint32_t random_seed() {
  std::uint32_t seed = 0;
  std::memcpy(&seed, random_bytes(sizeof seed).data(), sizeof seed);
  return seed;
}

Error no_session() {
  return fail(Errc::closed, "this host has no session with the leader");
}

}  // namespace

struct Member::State {
  State(loop::Loop& on, Options with, MemberCall::Options call_options, Log to)
      : loop(on),
        options(std::move(with)),
        log(std::move(to)),
        call(std::move(call_options), Clock::now()),
        changed(on),
        tasks(on) {}

  void apply();
  void carry_out(Action action);
  void hang_up();
  void close();

  loop::Task<void> dial(TimePoint deadline);
  loop::Task<void> read(std::shared_ptr<loop::Channel> session);
  loop::Task<void> tick();
  static loop::Task<Result<void>> join(std::shared_ptr<State> state);
  static loop::Task<Result<void>> room(std::shared_ptr<State> state);
  static loop::Task<Result<void>> flushed(std::shared_ptr<State> state, TimePoint deadline);
  static loop::Task<void> flush(std::shared_ptr<loop::Channel> channel, Result<void>& done);

  loop::Loop& loop;
  Options options;
  Log log;
  MemberCall call;
  std::shared_ptr<loop::Channel> channel;  ///< None without a session.
  std::function<void(Frame)> on_frame;
  std::function<void(const std::string&)> on_lost;
  std::optional<Error> failed;
  bool joined = false;  ///< join() was called.
  bool closed = false;
  loop::Event changed;  ///< Set on every change that a waiter may need.
  loop::Tasks tasks;    ///< End with close(); callers that wait keep this State alive.
};

// The session.

loop::Task<void> Member::State::dial(TimePoint deadline) {
  Result<loop::TlsPeer> peer =
      co_await loop::tls_connect(loop, options.address, options.port,
                                 identity_of(options.job, options.host), options.key, deadline);
  if (peer) {
    channel = std::move(peer->channel);
    tasks.start(read(channel));
    call.connected(Clock::now());
  } else {
    call.not_connected(peer.error(), Clock::now());
  }
  apply();
}

loop::Task<void> Member::State::read(std::shared_ptr<loop::Channel> session) {
  while (true) {
    Result<Frame> frame = co_await session->receive();
    if (channel != session) co_return;  // We ended it.
    if (!frame) {
      hang_up();
      call.closed(frame.error().text, Clock::now());
      co_return apply();
    }
    const bool for_caller = call.frame(*frame, Clock::now());
    apply();
    const auto give = for_caller ? on_frame : nullptr;  // The callee may close us.
    if (give) give(std::move(*frame));
  }
}

void Member::State::hang_up() {
  if (channel) channel->close();
  channel.reset();
  changed.notify();
}

// The call's decisions.

void Member::State::apply() {
  for (std::vector<Action> actions = call.take_actions(); !actions.empty();
       actions = call.take_actions())
    for (Action& action : actions) carry_out(std::move(action));
  changed.notify();
}

void Member::State::carry_out(Action action) {
  if (closed) return;
  switch (action.kind) {
    case Action::Kind::connect:
      tasks.start(dial(action.deadline));
      break;
    case Action::Kind::send:
      if (channel) channel->post(action.type, action.text);
      break;
    case Action::Kind::close:
      hang_up();
      break;
    case Action::Kind::say:
      log.info("roll call: " + action.text);
      break;
    case Action::Kind::started:
      break;
    case Action::Kind::fail:
      failed = action.error;
      break;
    case Action::Kind::lost:
      if (const auto callback = on_lost) callback(action.text);  // The callee may close us.
      break;
  }
}

loop::Task<void> Member::State::tick() {
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

void Member::State::close() {
  if (closed) return;
  closed = true;
  hang_up();
  on_frame = nullptr;
  on_lost = nullptr;
  tasks.end();
}

// Waiting.

loop::Task<Result<void>> Member::State::join(std::shared_ptr<State> state) {
  if (!state->closed) state->tasks.start(state->tick());
  state->call.begin(Clock::now());
  state->apply();
  while (!state->closed && !state->failed && !state->call.started()) co_await state->changed.wait();
  if (state->failed) {
    const Error why = *state->failed;
    state->close();
    co_return why;
  }
  if (state->closed) co_return fail(Errc::closed, "the roll call was aborted");
  co_return Result<void>();
}

loop::Task<Result<void>> Member::State::room(std::shared_ptr<State> state) {
  const std::shared_ptr<loop::Channel> channel = state->channel;
  if (!channel) co_return no_session();
  co_return co_await channel->room();
}

loop::Task<void> Member::State::flush(std::shared_ptr<loop::Channel> channel, Result<void>& done) {
  done = co_await channel->flushed();
}

loop::Task<Result<void>> Member::State::flushed(std::shared_ptr<State> state, TimePoint deadline) {
  if (!state->channel) co_return no_session();
  Result<void> done = fail(Errc::timeout, "the leader stopped reading from the connection");
  loop::Tasks flushing(state->loop);
  flushing.start(flush(state->channel, done));
  co_await flushing.join_until(deadline);
  co_return done;
}

// The member as its owner sees it.

Result<std::unique_ptr<Member>> Member::open(loop::Loop& loop, Options options, Log log) {
  if (options.key.size() != key_bytes)
    return fail(Errc::invalid_input, "roll call: the job's key has " +
                                         std::to_string(options.key.size()) + " bytes, not 32");
  if (options.address.empty()) options.address = options.leader;
  MemberCall::Options call;
  call.join = {.muster = MUSTER_VERSION, .host = options.host};
  call.leader = options.leader;
  call.where = options.address + ":" + std::to_string(options.port);
  call.join_deadline = options.join_deadline;
  call.heartbeat = options.heartbeat;
  call.lost_after = options.lost_after;
  call.seed = random_seed();
  return std::unique_ptr<Member>(new Member(
      std::make_shared<State>(loop, std::move(options), std::move(call), std::move(log))));
}

Member::~Member() {
  state_->close();
}

void Member::on_frame(std::function<void(Frame frame)> on_frame) {
  state_->on_frame = std::move(on_frame);
}

void Member::on_lost(std::function<void(const std::string& how)> on_lost) {
  state_->on_lost = std::move(on_lost);
}

loop::Task<Result<void>> Member::join() {
  CHECK_THAT(!std::exchange(state_->joined, true), "join() is called once");
  return State::join(state_);
}

void Member::post(std::uint8_t type, std::string_view payload) {
  if (state_->channel) state_->channel->post(type, payload);
}

loop::Task<Result<void>> Member::room() {
  return State::room(state_);
}

loop::Task<Result<void>> Member::flushed(TimePoint deadline) {
  return State::flushed(state_, deadline);
}

void Member::expect_end() {
  state_->call.expect_end();
}

void Member::close() {
  state_->close();
}

}  // namespace muster::coordinate
