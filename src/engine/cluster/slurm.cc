#include "engine/cluster/slurm.h"

#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "engine/slurm/orders.h"
#include "engine/slurm/settings.h"

namespace muster::cluster {
namespace {

/// A controller that is down is given up after 9 s by Slurm itself.
constexpr std::chrono::seconds answer_limit{30};
constexpr std::chrono::minutes copy_limit{10};
/// What Programs keeps of an answer.
constexpr std::size_t answer_bytes_max = 1u << 20;

Env bare(Env env) {
  std::erase_if(env, [](const auto& variable) {
    for (const char* prefix : {"SQUEUE_", "SINFO_", "SBCAST_", "SCANCEL_"})
      if (variable.first.starts_with(prefix)) return true;
    return false;
  });
  env.insert_or_assign("SLURM_TIME_FORMAT", std::string("standard"));
  env.insert_or_assign("LC_ALL", std::string("C.UTF-8"));
  return env;
}

/// The last line, without the command's own name before it.
std::string last_words(const std::string& said, const std::string& name) {
  const std::string text = trim(said);
  std::string line = to_utf8(text.substr(text.rfind('\n') + 1));
  for (const std::string& start : {name + ": ", std::string("error: ")})
    if (line.starts_with(start)) line = line.substr(start.size());
  return line;
}

loop::Task<Result<std::string>> answer_of(supervise::Programs& programs, Command command,
                                          Duration limit) {
  const std::string name = command.argv.at(0);
  Result<supervise::Programs::Done> done = co_await programs.run(std::move(command), limit, true);
  if (!done && done.error().code == Errc::not_found)
    co_return fail(
        Errc::unsupported,
        name + " not found: run this on a node of a cluster, where Slurm's commands are installed");
  if (!done && done.error().code == Errc::timeout) co_return fail(Errc::closed, done.error().text);
  if (!done) co_return done.error();
  // An unknown user is such an error, and squeue's exit code is 0 all the same.
  if (!done->outcome.success() || done->err.find(name + ": error: ") != std::string::npos) {
    const std::string said = last_words(done->err, name);
    const bool is_silent = said.empty() || slurm::is_no_answer(done->err);
    co_return fail(
        is_silent ? Errc::closed : Errc::system,
        "Slurm's " + name + " failed: " + (said.empty() ? job::describe(done->outcome) : said));
  }
  if (done->out.size() >= answer_bytes_max)
    co_return fail(Errc::system, "Slurm's " + name + " printed more than 1 MiB" +
                                     (name == "squeue" ? "; select one user with --user" : ""));
  co_return std::move(done->out);
}

}  // namespace

Slurm::Slurm(supervise::Programs& programs, Env env)
    : programs_(programs), env_(bare(std::move(env))) {}

loop::Task<Result<std::string>> ask_slurm(supervise::Programs& programs, Env env, Args argv) {
  Command command{.argv = std::move(argv), .env = bare(std::move(env)), .cwd = "/"};
  co_return co_await answer_of(programs, std::move(command), answer_limit);
}

loop::Task<Result<std::string>> Slurm::submit(slurm::Submission submission, slurm::Site site,
                                              std::string script) {
  Result<Command> command = slurm::plan_sbatch(submission, site, env_);
  if (!command) co_return command.error();
  command->argv.push_back(std::move(script));
  const Result<std::string> out = co_await answer_of(programs_, *std::move(command), answer_limit);
  if (!out) co_return out.error();
  const std::optional<std::string> id = slurm::submitted_id(*out);
  if (!id)
    co_return fail(Errc::closed,
                   "Slurm's sbatch did not print a job ID; its output: " + visible_line(*out));
  co_return *id;
}

loop::Task<Result<std::vector<slurm::QueuedJob>>> Slurm::queue() {
  Command command = with_env(slurm::plan_squeue(std::to_string(::geteuid())));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return out.error();
  co_return slurm::queue_from(*out);
}

loop::Task<Result<void>> Slurm::broadcast(std::string id, std::string from, std::string to) {
  Command command = with_env(slurm::plan_sbcast(id, from, to));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), copy_limit);
  if (!out) co_return out.error();
  co_return Result<void>();
}

loop::Task<Result<void>> Slurm::cancel(std::string id) {
  Command command = with_env(slurm::plan_scancel(id));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return out.error();
  co_return Result<void>();
}

loop::Task<Result<bool>> Slurm::is_preempted(std::string id) {
  Command command = with_env(slurm::plan_show_job(id));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return out.error();
  co_return slurm::is_preempted(*out);
}

loop::Task<Result<std::optional<slurm::StartFailure>>> Slurm::start_failure(std::string id,
                                                                            std::string nonce) {
  using Failure = std::optional<slurm::StartFailure>;
  Command show = with_env(slurm::plan_show_job(id));
  const Result<std::string> job = co_await answer_of(programs_, std::move(show), answer_limit);
  if (!job) co_return job.error();
  if (Failure told = slurm::start_failure(*job, nonce)) {
    told->why = told->node + " could not start the job: " + told->why;
    co_return told;
  }
  const std::string names = slurm::nodes_shown(*job);
  if (names.empty()) co_return Failure();
  const Result<std::vector<slurm::Node>> found = co_await nodes(names);
  if (!found) co_return found.error();
  std::string why = slurm::launch_failure(*job, *found);
  if (why.empty()) co_return Failure();
  co_return Failure({"", std::move(why)});
}

loop::Task<Result<std::string>> Slurm::down_among(std::string names) {
  const Result<std::vector<slurm::Node>> found = co_await nodes(std::move(names));
  if (!found) co_return found.error();
  co_return slurm::down_among(*found);
}

loop::Task<Result<std::vector<slurm::Node>>> Slurm::nodes(std::string names) {
  Command command = with_env(slurm::plan_sinfo(names));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return out.error();
  co_return slurm::nodes_from(*out);
}

loop::Task<bool> Slurm::may_route() {
  Command command = with_env(slurm::plan_settings());
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  co_return !out || slurm::may_route(slurm::settings_from(*out));
}

loop::Task<std::optional<std::chrono::seconds>> Slurm::kill_wait() {
  Command command = with_env(slurm::plan_settings());
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return std::nullopt;
  const slurm::Settings settings = slurm::settings_from(*out);
  const auto found = settings.find("KillWait");
  if (found == settings.end()) co_return std::nullopt;
  co_return slurm::seconds_in(found->second);
}

loop::Task<std::optional<std::chrono::seconds>> Slurm::grace_time(std::string partition) {
  Command command = with_env(slurm::plan_show_partition(partition));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return std::nullopt;
  co_return slurm::grace_time(*out);
}

loop::Task<Result<void>> Slurm::cancel_named(std::string slurm_name) {
  Command command = with_env(slurm::plan_scancel_named(slurm_name));
  const Result<std::string> out = co_await answer_of(programs_, std::move(command), answer_limit);
  if (!out) co_return out.error();
  co_return Result<void>();
}

}  // namespace muster::cluster
