#include "host/ranks/host_socket.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "host/ranks/messages.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::ranks {

using job::Message;
using job::type_of;

struct HostSocket::State {
  State(loop::Loop& loop, std::unique_ptr<loop::UnixListener> at, Callbacks c)
      : listener(std::move(at)),
        callbacks(std::move(c)),
        released(loop),
        rank_gone(loop),
        tasks(loop) {}

  loop::Task<> accept();
  loop::Task<> serve(std::shared_ptr<loop::UnixChannel> channel);
  loop::Task<> serve_rank(loop::UnixChannel& channel, const Frame& frame);
  loop::Task<> wait_to_come(const RankHello& hello);
  Result<RankAnswer> admit(const RankHello& hello);
  loop::Task<> serve_agent(std::shared_ptr<loop::UnixChannel> channel, const Frame& frame);
  loop::Task<> serve_call(std::shared_ptr<loop::UnixChannel> channel, const Frame& frame);
  loop::Task<RankEnd> follow_rank(loop::UnixChannel& channel, int rank);

  std::unique_ptr<loop::UnixListener> listener;
  Callbacks callbacks;
  struct Runs {
    loop::UnixChannel* channel = nullptr;
    int restart = 0;
  };
  std::map<int, Runs> ranks;
  std::map<int, Fd> launcher_channels;  ///< By rank.
  loop::Event released;                 ///< Ranks that were kept back are let go.
  loop::Event rank_gone;                ///< One of `ranks` fewer.
  loop::Tasks tasks;                    ///< accept(), and each serve(), which owns its channel.
};

namespace {

int number_in(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer()) return -1;
  const std::int64_t number = json[name].get<std::int64_t>();
  return number >= 0 && number <= std::numeric_limits<int>::max() ? static_cast<int>(number) : -1;
}

RankHello hello_from(const Json& json) {
  RankHello hello{number_in(json, "rank"), number_in(json, "local_rank"),
                  number_in(json, "local_size"), static_cast<pid_t>(number_in(json, "pid"))};
  hello.brings_program = number_in(json, "brings_program") == 1;
  hello.restart = std::max(0, number_in(json, "restart"));
  hello.restarts = std::max(0, number_in(json, "restarts"));
  return hello;
}

/// Arguments and environment may be any bytes but NUL, which JSON could not carry: they go
/// NUL-separated, see docs/protocols/host-socket.md.
std::string run_payload(const RankAnswer& answer) {
  const launch::RankRun& run = answer.run;
  std::string payload = answer.near_gpu + '\0' + std::to_string(run.command.argv.size()) + '\0' +
                        std::to_string(run.kept.size()) + '\0' + run.command.cwd + '\0';
  for (const std::string& word : run.command.argv) payload += word + '\0';
  for (const std::string& name : run.kept) payload += name + '\0';
  for (const auto& [name, value] : run.command.env) payload += name + "=" + value + '\0';
  return payload;
}

}  // namespace

Result<std::unique_ptr<HostSocket>> HostSocket::open(loop::Loop& loop, const std::string& path,
                                                     Callbacks callbacks) {
  std::unique_ptr<loop::UnixListener> listener = TRY(loop::UnixListener::open(loop, path));
  auto state = std::make_unique<State>(loop, std::move(listener), std::move(callbacks));
  state->tasks.start(state->accept());
  return std::unique_ptr<HostSocket>(new HostSocket(std::move(state)));
}

HostSocket::HostSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}

HostSocket::~HostSocket() = default;

void HostSocket::signal_ranks(int number, Duration grace) {
  for (const auto& [rank, runs] : state_->ranks)
    runs.channel->post(type_of(Message::signal), signal_text(number, grace));
}

void HostSocket::close_launcher_channels() {
  state_->launcher_channels.clear();
}

void HostSocket::release_ranks() {
  state_->released.notify();
}

loop::Task<> HostSocket::State::accept() {
  while (true) {
    Result<std::unique_ptr<loop::UnixChannel>> channel = co_await listener->accept();
    if (!channel) co_return;
    tasks.start(serve(*std::move(channel)));
  }
}

loop::Task<> HostSocket::State::serve(std::shared_ptr<loop::UnixChannel> channel) {
  const Result<Frame> first = co_await channel->receive();
  if (first && first->type == type_of(Message::rank_hello))
    co_await serve_rank(*channel, *first);
  else if (first && first->type == type_of(Message::agent_exec))
    co_await serve_agent(channel, *first);
  else if (first && first->type == type_of(Message::call))
    co_await serve_call(channel, *first);
}

loop::Task<> HostSocket::State::serve_rank(loop::UnixChannel& channel, const Frame& frame) {
  const Result<Json> json = parse_json(frame.payload);
  if (!json) co_return;
  const RankHello hello = hello_from(*json);
  co_await wait_to_come(hello);
  const Result<RankAnswer> answer = admit(hello);
  if (!answer) {
    channel.post(type_of(Message::failed), to_text({{"why", answer.error().text}}));
    static_cast<void>(co_await channel.flushed());
    co_return;
  }
  ranks[hello.rank] = {&channel, hello.restart};
  const std::string payload = hello.brings_program ? answer->near_gpu : run_payload(*answer);
  if (payload.size() <= frame_payload_bytes_max)
    channel.post(type_of(Message::rank_run), payload);
  else  // The rank's answer is a rank_end.
    channel.post(type_of(Message::failed),
                 to_text({{"why", "the arguments and the environment are larger than 1 MiB"}}));
  RankEnd end = co_await follow_rank(channel, hello.rank);
  ranks.erase(hello.rank);
  rank_gone.notify();
  if (co_await callbacks.on_rank_end(hello.rank, std::move(end))) {
    channel.post(type_of(Message::rank_hold), "{}");
    co_await released.wait();
  }
  channel.post(type_of(Message::rank_ack), "{}");
  static_cast<void>(co_await channel.flushed());
}

/// In a stop until it is over. A rank that its launcher has started again may be here before it is
/// seen that the launcher has killed the one before.
loop::Task<> HostSocket::State::wait_to_come(const RankHello& hello) {
  while (callbacks.keeps_waiting()) co_await released.wait();
  for (auto found = ranks.find(hello.rank);
       found != ranks.end() && found->second.restart < hello.restart;
       found = ranks.find(hello.rank))
    co_await rank_gone.wait();
}

Result<RankAnswer> HostSocket::State::admit(const RankHello& hello) {
  if (hello.rank < 0) return fail(Errc::protocol, "a rank connected without sending its number");
  if (ranks.contains(hello.rank))
    return fail(Errc::protocol, "rank " + std::to_string(hello.rank) + " is already running");
  return callbacks.on_rank(hello);
}

/// Until its end. A connection that breaks before is the death of `sm rank`, and its program's by
/// the kernel (PR_SET_PDEATHSIG).
loop::Task<RankEnd> HostSocket::State::follow_rank(loop::UnixChannel& channel, int rank) {
  while (true) {
    const Result<Frame> frame = co_await channel.receive();
    if (!frame) co_return RankEnd{job::Outcome::signaled(SIGKILL), {}, true};
    const Result<Json> json = parse_json(frame->payload);
    if (!json) co_return RankEnd{job::Outcome::failed("rank: " + json.error().text), {}};
    if (frame->type == type_of(Message::failed))
      co_return RankEnd{job::Outcome::failed(member_text(*json, "why")), {}};
    if (frame->type == type_of(Message::rank_started)) {
      std::vector<Fd> fds = channel.take_fds();
      if (fds.size() != 2 && fds.size() != 3)
        co_return RankEnd{job::Outcome::failed("rank: connected without its output"), {}};
      if (fds.size() == 3) launcher_channels.insert_or_assign(rank, std::move(fds[2]));
      const Json pid = json->is_object() ? json->value("pid", Json()) : Json();
      callbacks.on_started(rank, pid.is_number_integer() ? pid.get<std::int64_t>() : 0,
                           std::move(fds[0]), std::move(fds[1]));
    }
    if (frame->type != type_of(Message::rank_end)) continue;
    if (!json->contains("outcome"))
      co_return RankEnd{job::Outcome::failed("rank: end without outcome"), {}};
    Result<job::Outcome> outcome = job::outcome_from((*json)["outcome"]);
    if (!outcome) co_return RankEnd{job::Outcome::failed(outcome.error().text), {}};
    co_return RankEnd{*std::move(outcome), member_text(*json, "error_file")};
  }
}

loop::Task<> HostSocket::State::serve_agent(std::shared_ptr<loop::UnixChannel> channel,
                                            const Frame& frame) {
  const Result<Json> json = parse_json(frame.payload);
  std::vector<Fd> fds = channel->take_fds();
  if (!json || fds.size() != 2) co_return;
  AgentCall call;
  call.host = member_text(*json, "host");
  call.text = member_text(*json, "text");
  call.out = std::move(fds[0]);
  call.err = std::move(fds[1]);
  call.reply = [agent = std::weak_ptr(channel)](int code, const std::string& error) {
    if (const auto to = agent.lock())
      to->post(type_of(Message::agent_end), to_text({{"code", code}, {"error", error}}));
  };
  callbacks.on_agent(std::move(call));
  static_cast<void>(co_await channel->receive());  // Until the agent goes.
}

loop::Task<> HostSocket::State::serve_call(std::shared_ptr<loop::UnixChannel> channel,
                                           const Frame& frame) {
  const auto answered = std::make_shared<bool>(false);
  const launch::CallEnd answer = [caller = std::weak_ptr(channel),
                                  answered](const launch::CallResult& result) {
    *answered = true;
    if (const auto to = caller.lock())
      to->post(type_of(Message::call_result), launch::call_result_text(result));
  };
  Result<launch::Call> call = launch::unpack_call(frame.payload);
  const Result<void> taken =
      call ? callbacks.on_call(*std::move(call), answer) : Result<void>(call.error());
  if (!taken) {
    channel->post(type_of(Message::failed), to_text({{"why", taken.error().text}}));
    static_cast<void>(co_await channel->flushed());
    co_return;
  }
  static_cast<void>(co_await channel->receive());  // Until the operator goes.
  if (!*answered) callbacks.on_call_gone();
}

}  // namespace muster::ranks
