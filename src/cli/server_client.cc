#include "cli/server_client.h"

#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/exit_code_of.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cli {
namespace {

using Work = std::function<loop::Task<Result<int>>(Client& client)>;

loop::Task<> run(Client& client, const Work& work, int& code) {
  const Result<int> done = co_await work(client);
  co_await client.out.flush();
  code = done ? *done : exit_code_of_client(done.error());
  if (!done) client.complain(with_topic(done.error().text));
  client.loop.stop();
}

loop::Task<> watch_signals(Client& client, loop::Signals& signals) {
  const Result<int> signal = co_await signals.next();
  if (!signal) co_return;
  if (client.at_signal) client.at_signal();
  if (!client.unfinished.empty()) static_cast<void>(remove_tree(client.unfinished));
  if (!client.farewell.empty()) client.complain(client.farewell);
  ::_exit(exit_signal_base + *signal);
}

}  // namespace

void Client::complain(const std::string& text) const {
  static_cast<void>(say_line(STDERR_FILENO, name, text));
}

void show_progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) != 1) return;
  static_cast<void>(write_all(STDERR_FILENO, "\r" + visible_line(text) + "\x1b[K"));
}

int exit_code_of_client(const Error& error) {
  const bool given = error.code == Errc::invalid_input || error.code == Errc::not_found ||
                     error.code == Errc::denied;
  return given ? exit_usage : exit_platform;
}

int run_client(const std::string& name, const Env& env, const Work& work) {
  loop::Loop loop;
  const Log log(STDERR_FILENO, name, Log::Level::warning);
  Result<std::unique_ptr<ApiClient>> api = ApiClient::open(loop, env, log);
  if (!api) {
    static_cast<void>(say_error(STDERR_FILENO, name, api.error().text));
    return exit_code_of_client(api.error());
  }
  Out out(loop, STDOUT_FILENO);
  const bool colour = out.is_terminal() && !env.contains("NO_COLOR");
  Client client{.loop = loop, .api = **api, .out = out, .colour = colour, .name = name};
  loop::Signals signals(loop, {SIGINT, SIGTERM, SIGHUP});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(watch_signals(client, signals));
  tasks.start(run(client, work, code));
  loop.run();
  return code;
}

loop::Task<Result<Json>> describe(Client& client, std::string job, ApiClient::Patience patience) {
  std::string operation = "SageMaker.DescribeTrainingJob";
  co_return co_await ask_about(client, std::move(operation), std::move(job), patience);
}

loop::Task<Result<Json>> ask_about(Client& client, std::string operation, std::string job,
                                   ApiClient::Patience patience) {
  Json input{{"TrainingJobName", job}};
  Result<Json> answer = co_await client.api.call(std::move(operation), std::move(input), patience);
  if (answer) co_return *std::move(answer);
  if (answer.error().code != Errc::not_found) co_return answer.error();
  co_return fail(Errc::not_found, "there is no job " + to_utf8(job) +
                                      " on the server; sm jobs lists the existing jobs");
}

}  // namespace muster::cli
