// `sm wait`

#include "cli/job_commands/wait_end.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/values.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cli {
namespace {

constexpr Duration poll_every = std::chrono::seconds(1);
constexpr const char* farewell = "the jobs continue; sm jobs lists them";

/// How to wait.
struct WaitOptions {
  bool any = false;
  bool json = false;
  std::optional<std::chrono::milliseconds> timeout{};  ///< None: without a limit.
};

struct AwaitedJob {
  std::string name;
  std::optional<places::FoundJob> own;  ///< None: the server's.
};

/// One `sm wait`, over jobs of this machine and of a server.
class Wait {
 public:
  Wait(loop::Loop& loop, Out& out, std::string state, std::vector<AwaitedJob> jobs,
       const WaitOptions& options)
      : out_(out),
        state_(std::move(state)),
        jobs_(std::move(jobs)),
        options_(options),
        ended_(jobs_.size()),
        timer_(loop),
        changed_(loop),
        tasks_(loop) {}

  /// `client` is null if all jobs are this machine's.
  loop::Task<Result<int>> run(Client* client);

 private:
  loop::Task<Result<void>> look(Client& client, ApiClient::Patience patience);
  loop::Task<> watch_server(Client& client);
  loop::Task<> watch_own(loop::Loop& loop, std::size_t number);
  void end(std::size_t number, Json description);
  void stop(const Error& error);
  int say_timeout() const;

  Out& out_;
  const std::string state_;
  const std::vector<AwaitedJob> jobs_;
  const WaitOptions options_;
  std::vector<Json> ended_;  ///< As code_of_wait() takes them.
  Result<void> failed_{};
  loop::Timer timer_;
  loop::Event changed_;
  loop::Tasks tasks_;
};

void Wait::end(std::size_t number, Json description) {
  out_.text() += options_.json ? end_object(description) : ended_line(description);
  ended_[number] = std::move(description);
  changed_.notify();
}

void Wait::stop(const Error& error) {
  failed_ = error;
  changed_.notify();
}

/// Looks once at each of the server's jobs.
loop::Task<Result<void>> Wait::look(Client& client, ApiClient::Patience patience) {
  for (std::size_t number = 0; number < jobs_.size(); ++number) {
    if (jobs_[number].own || !ended_[number].is_null()) continue;
    Result<Json> now = co_await describe(client, jobs_[number].name, patience);
    if (!now) co_return now.error();
    if (has_ended(*now)) end(number, *std::move(now));
  }
  co_return Result<void>();
}

loop::Task<> Wait::watch_server(Client& client) {
  while (true) {
    const bool due = co_await timer_.after(poll_every);
    if (!due) co_return;
    const Result<void> looked = co_await look(client, ApiClient::Patience::some);
    if (!looked) co_return stop(looked.error());
  }
}

loop::Task<> Wait::watch_own(loop::Loop& loop, std::size_t number) {
  const places::FoundJob& job = *jobs_[number].own;
  const Result<void> over = co_await places::wait_for_end(loop, job);
  if (!over) co_return stop(over.error());
  Result<places::FoundJob> now = places::find_again(state_, job);
  if (!now) co_return stop(now.error());
  end(number, std::move(now->description));
}

int Wait::say_timeout() const {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < jobs_.size(); ++number)
    if (ended_[number].is_null()) names.push_back(jobs_[number].name);
  static_cast<void>(say_line(STDERR_FILENO, "sm wait",
                             "timed out; still running: " + visible_line(join(names, ", "))));
  return exit_wait_timed_out;
}

loop::Task<Result<int>> Wait::run(Client* client) {
  const TimePoint deadline = options_.timeout ? Clock::now() + *options_.timeout : TimePoint::max();
  if (client != nullptr) {
    const Result<void> looked = co_await look(*client, ApiClient::Patience::none);
    if (!looked) co_return looked.error();
    tasks_.start(watch_server(*client));
  }
  for (std::size_t number = 0; number < jobs_.size(); ++number) {
    if (!jobs_[number].own) continue;
    if (jobs_[number].own->living)
      tasks_.start(watch_own(tasks_.loop(), number));
    else
      end(number, jobs_[number].own->description);
  }
  while (failed_) {
    co_await out_.flush();
    if (const std::optional<int> code = code_of_wait(ended_, options_.any)) co_return *code;
    if (!out_.text().empty() || !failed_) continue;  // Another job ended during the flush.
    const bool changed = co_await changed_.wait_until(deadline);
    if (!changed && out_.text().empty()) co_return say_timeout();
  }
  co_return failed_.error();
}

loop::Task<Result<int>> wait_for(loop::Loop& loop, Out& out, std::string state,
                                 std::vector<AwaitedJob> jobs, WaitOptions options,
                                 Client* client) {
  Wait wait(loop, out, std::move(state), std::move(jobs), options);
  const Result<int> code = co_await wait.run(client);
  co_return code;
}

Result<WaitOptions> wait_options(const std::string& timeout) {
  WaitOptions options;
  if (timeout.empty()) return options;
  constexpr TimeRange range{{}, std::chrono::hours(24 * 366), std::chrono::milliseconds(1), {}};
  options.timeout = TRY(time_span("--timeout", timeout, range));
  return options;
}

/// Each name once. Error: a job that is neither here nor, as far as is known, on a server.
Result<std::vector<AwaitedJob>> jobs_named(const std::vector<std::string>& names, const Env& env) {
  std::vector<AwaitedJob> jobs;
  for (const std::string& name : names) {
    const auto same = [&](const AwaitedJob& job) { return job.name == name; };
    if (std::any_of(jobs.begin(), jobs.end(), same)) continue;
    jobs.push_back({name, TRY(own_job(env, name))});
  }
  return jobs;
}

}  // namespace

std::optional<int> code_of_wait(const std::vector<Json>& jobs, bool any) {
  std::optional<int> code;
  for (const Json& job : jobs) {
    if (job.is_null() && !any) return std::nullopt;
    if (job.is_null()) continue;
    if (!code || *code == exit_success) code = exit_code_of_job(job);
  }
  return code;
}

int wait_main(const Args& args, const Env& env) {
  const command::Page& page = command::page_of("wait");
  command::Line line(page);
  std::vector<std::string> names;
  std::string timeout;
  bool any = false, json = false;
  line.texts("JOB", names);
  line.flag("--any", any);
  line.text("--timeout", timeout);
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  Result<WaitOptions> options = wait_options(timeout);
  if (!options) return tell(command::wrong_line(page, options.error().text));
  options->any = any;
  options->json = json;
  const Result<std::vector<AwaitedJob>> jobs = jobs_named(names, env);
  if (!jobs) return end_with("sm wait", jobs.error());
  const bool all_here = std::all_of(jobs->begin(), jobs->end(),
                                    [](const AwaitedJob& job) { return job.own.has_value(); });
  if (all_here)
    return run_here("sm wait", env, [&](Here& here) {
      here.farewell = farewell;
      return wait_for(here.loop, here.out, here.state, *jobs, *options, nullptr);
    });
  return run_client("sm wait", env, [&](Client& client) {
    client.farewell = farewell;
    return wait_for(client.loop, client.out, state_folder(env), *jobs, *options, &client);
  });
}

}  // namespace muster::cli
