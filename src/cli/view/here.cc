#include "cli/view/here.h"

#include <unistd.h>

#include <csignal>

#include "aws/endpoint.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/job_view.h"
#include "net/loop/tasks.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

using Work = std::function<loop::Task<Result<int>>(Here& here)>;

loop::Task<> run(Here& here, const Work& work, int& code) {
  const Result<int> done = co_await work(here);
  co_await here.out.flush();
  code = done ? *done : exit_code_of_client(done.error());
  if (!done) here.complain(with_topic(done.error().text));
  here.loop.stop();
}

loop::Task<> watch_signals(Here& here, loop::Signals& signals) {
  const Result<int> signal = co_await signals.next();
  if (!signal) co_return;
  if (here.at_signal) here.at_signal();
  if (!here.farewell.empty()) here.complain(here.farewell);
  ::_exit(exit_signal_base + *signal);
}

}  // namespace

void Here::complain(const std::string& text) const {
  static_cast<void>(say_line(STDERR_FILENO, name, text));
}

int run_here(const std::string& name, const Env& env, const Work& work) {
  loop::Loop loop;
  Out out(loop, STDOUT_FILENO);
  const bool colour = out.is_terminal() && !env.contains("NO_COLOR");
  Here here{.loop = loop, .out = out, .colour = colour, .name = name, .state = state_folder(env)};
  loop::Signals signals(loop, {SIGINT, SIGTERM, SIGHUP});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(watch_signals(here, signals));
  tasks.start(run(here, work, code));
  loop.run();
  return code;
}

Error with_server_hint(const Error& error) {
  return fail(error.code, error.text +
                              ". For a job on a server, set AWS_ENDPOINT_URL; `sm key create` on "
                              "the server's machine prints the commands that set it");
}

int end_with(const std::string& name, const Error& error) {
  static_cast<void>(say_error(STDERR_FILENO, name, error.text));
  return exit_code_of_client(error);
}

bool names_server(const Env& env) {
  return !aws::endpoint_setting(env, "SAGEMAKER").empty();
}

std::string why_local(const Env& env, const std::string& name) {
  if (names_server(env)) return {};
  const Result<places::FoundJob> own = places::find_job(state_folder(env), name);
  return own ? local_job_text(own->description) : std::string();
}

Result<std::optional<places::FoundJob>> own_job(const Env& env, const std::string& name) {
  Result<places::FoundJob> own = places::find_job(state_folder(env), name);
  if (own) return std::optional(*std::move(own));
  if (names_server(env)) return std::optional<places::FoundJob>();
  const std::string what =
      own.error().code == Errc::not_found ? "; sm jobs lists the existing jobs" : "";
  return with_server_hint(fail(own.error().code, own.error().text + what));
}

}  // namespace muster::cli
