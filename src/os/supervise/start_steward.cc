#include "os/supervise/start_steward.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "job/wire/message.h"
#include "net/sockets/receive_until.h"
#include "net/sockets/unix.h"
#include "os/supervise/spawn.h"

namespace muster::supervise {
namespace {

constexpr int lifeline_number = 3;
constexpr int lock_number = 4;
constexpr int gate_number = 5;
constexpr std::chrono::seconds stacks_max{15};  ///< A steward gives up earlier.
constexpr std::size_t log_tail_bytes = 500;

std::string log_file_in(const std::string& host_folder) {
  return host_folder + "/steward.log";
}

/// What the steward said last on its standard error; empty if nothing.
std::string last_line(const std::string& log_file) {
  const std::string text = trim(read_file(log_file).value_or(""));
  const std::string line = text.substr(text.rfind('\n') + 1);
  return to_utf8(line.substr(line.size() - std::min(line.size(), log_tail_bytes)));
}

}  // namespace

Result<pid_t> start_steward(const job::HostSpec& spec, const StewardStart& start) {
  const std::string spec_file = spec.host_folder + "/spec.json";
  TRY(write_file(spec_file, to_text(job::to_json(spec)), 0600));
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string log_file = log_file_in(spec.host_folder);
  const Fd log(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!null || !log) return fail_errno("cannot create " + log_file);
  Command command{
      .argv = {start.program, "steward", "--spec", spec_file}, .env = start.env, .cwd = "/"};
  Stdio stdio{null.get(), log.get(), log.get(), {}};
  const auto give = [&](const char* flag, int number, int descriptor) {
    if (descriptor < 0) return;
    command.argv.insert(command.argv.end(), {flag, std::to_string(number)});
    stdio.extra.emplace_back(number, descriptor);
  };
  give("--lifeline", lifeline_number, start.lifeline);
  give("--gate", gate_number, start.gate);
  if (start.lock >= 0) stdio.extra.emplace_back(lock_number, start.lock);
  return spawn(command, stdio, {.own_session = true});
}

std::string out_of_memory_words() {
  return "killed for memory: exceeded the limit of " +
         std::to_string(job::steward_memory_max >> 20) + " MiB";
}

bool ran_out_of_memory(const std::string& host_folder) {
  return last_line(log_file_in(host_folder)) == out_of_memory_words();
}

job::Outcome steward_outcome(job::Outcome outcome, const std::string& host_folder) {
  if (outcome.success() || outcome.kind != job::Outcome::Kind::exited) return outcome;
  const std::string said = last_line(log_file_in(host_folder));
  return said.empty() ? outcome : job::Outcome::failed(said);
}

loop::Task<bool> ask_steward_to_stop(loop::Loop& loop, std::string host_folder,
                                     std::chrono::milliseconds grace) {
  Result<std::unique_ptr<loop::UnixChannel>> channel =
      loop::unix_connect(loop, host_folder + "/control.sock");
  if (!channel) co_return false;
  (*channel)->post(job::type_of(job::Message::signal),
                   to_text(Json{{"signal", SIGTERM}, {"grace_ms", grace.count()}}));
  static_cast<void>(co_await (*channel)->flushed());
  co_return true;
}

loop::Task<> tell_steward(loop::Loop& loop, std::string host_folder,
                          std::vector<job::LogLine> lines) {
  Result<std::unique_ptr<loop::UnixChannel>> channel =
      loop::unix_connect(loop, host_folder + "/control.sock");
  if (!channel) co_return;
  for (const job::LogLine& line : lines)
    (*channel)->post(job::type_of(job::Message::log), job::encode(line));
  static_cast<void>(co_await (*channel)->flushed());
}

loop::Task<Result<void>> ask_steward(loop::Loop& loop, std::string host_folder) {
  Result<std::unique_ptr<loop::UnixChannel>> channel =
      loop::unix_connect(loop, host_folder + "/control.sock");
  if (!channel) co_return fail(Errc::closed, "no steward is listening");
  (*channel)->post(job::type_of(job::Message::alive), "{}");
  // A steward of an earlier muster answers `failed`: it does not know the question, and lives.
  const Result<Frame> answer = co_await (*channel)->receive();
  if (!answer) co_return fail(Errc::closed, "the steward has exited");
  co_return Result<void>();
}

loop::Task<Result<job::HostStacks>> ask_steward_for_stacks(loop::Loop& loop,
                                                           std::string host_folder,
                                                           job::Calls calls) {
  Result<std::unique_ptr<loop::UnixChannel>> channel =
      loop::unix_connect(loop, host_folder + "/control.sock");
  if (!channel) co_return fail(Errc::closed, "no steward is listening");
  (*channel)->post(job::type_of(job::Message::stacks), job::encode(calls));
  const TimePoint deadline = Clock::now() + stacks_max;
  const Result<Frame> answer = co_await loop::receive_until(loop, **channel, deadline);
  if (!answer) co_return answer.error();
  if (answer->type == job::type_of(job::Message::stacks))
    co_return job::host_stacks_from(std::string_view(answer->payload));
  const Result<Json> json = parse_json(answer->payload);
  const bool tells_why = json && json->is_object() && json->contains("why");
  co_return fail(Errc::closed,
                 tells_why ? to_text((*json)["why"]) : "the steward does not support stack traces");
}

}  // namespace muster::supervise
