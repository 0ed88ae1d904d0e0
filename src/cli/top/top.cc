// `sm top`

#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/process/local_time.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/top/figures.h"
#include "cli/top/screen.h"
#include "cli/view/here.h"
#include "command/line.h"
#include "net/loop/tasks.h"
#include "platform/places/job_description.h"

namespace muster::cli {
namespace {

constexpr std::chrono::seconds refresh{1};
constexpr int server_jobs_max = 20;
/// Looks for one table: the driver of a GPU may take a while until its first report.
constexpr int looks_max = 5;

struct TopOptions {
  std::string job;  ///< Empty: all.
  bool json = false;
};

/// Whom to ask; without a server `api` is null.
struct Asked {
  loop::Loop& loop;
  Out& out;
  ApiClient* api = nullptr;
  std::string state;
  std::function<void()>& at_signal;
};

Error has_ended(const std::string& job) {
  return fail(Errc::not_found, job + " has ended, so it has no running hosts");
}

loop::Task<Result<JobFigures>> ask_here(Asked asked, places::FoundJob job) {
  if (!job.living) co_return has_ended(job.name);
  JobFigures figures{.job = job.name, .is_local = true};
  Result<std::vector<job::HostUsage>> hosts =
      co_await places::ask_for_usage(asked.loop, std::move(job));
  if (!hosts && hosts.error().code == Errc::closed) co_return has_ended(figures.job);
  if (!hosts) co_return hosts.error();
  figures.hosts = *std::move(hosts);
  co_return figures;
}

loop::Task<Result<JobFigures>> ask_server(Asked asked, std::string job) {
  const auto ask = [&](std::string operation) {
    return asked.api->call(std::move(operation), Json{{"TrainingJobName", job}},
                           ApiClient::Patience::none);
  };
  const Result<Json> answer = co_await ask("SageMaker.DescribeTrainingJobUsage");
  if (!answer && answer.error().code == Errc::not_found)
    co_return fail(Errc::not_found,
                   "there is no job " + job + " on the server; sm jobs lists the existing jobs");
  if (!answer) co_return answer.error();
  Result<std::vector<job::HostUsage>> hosts = job::job_usage_from_json(*answer);
  if (!hosts) co_return hosts.error();
  JobFigures figures{.job = job, .hosts = *std::move(hosts)};
  if (!figures.hosts.empty()) co_return figures;
  const Result<Json> description = co_await ask("SageMaker.DescribeTrainingJob");
  if (!description) co_return description.error();
  if (places::has_ended(*description)) co_return has_ended(job);
  co_return figures;
}

loop::Task<Result<std::vector<std::string>>> server_jobs(Asked asked) {
  Json input{{"StatusEquals", "InProgress"},
             {"MaxResults", server_jobs_max},
             {"SortBy", "CreationTime"},
             {"SortOrder", "Descending"}};
  const Result<Json> page = co_await asked.api->call("SageMaker.ListTrainingJobs", std::move(input),
                                                     ApiClient::Patience::none);
  if (!page) co_return page.error();
  std::vector<std::string> names;
  const Json summaries = page->value("TrainingJobSummaries", Json::array());
  for (const Json& each : summaries)
    if (each.is_object()) names.push_back(member_text(each, "TrainingJobName"));
  co_return names;
}

/// A job that ends between the list and the question is left out.
loop::Task<Result<std::vector<JobFigures>>> look_at_all(Asked asked) {
  std::vector<JobFigures> all;
  Result<std::vector<places::FoundJob>> own = places::find_jobs(asked.state);
  if (!own && asked.api == nullptr) co_return with_server_hint(own.error());
  if (own) {
    for (places::FoundJob& job : *own) {
      if (!job.living) continue;
      Result<JobFigures> figures = co_await ask_here(asked, std::move(job));
      if (figures) all.push_back(*std::move(figures));
    }
  }
  if (asked.api == nullptr) co_return all;
  const Result<std::vector<std::string>> names = co_await server_jobs(asked);
  if (!names) co_return names.error();
  for (const std::string& name : *names) {
    Result<JobFigures> figures = co_await ask_server(asked, name);
    if (!figures && figures.error().code != Errc::not_found) co_return figures.error();
    if (figures) all.push_back(*std::move(figures));
  }
  co_return all;
}

using Look = std::function<loop::Task<Result<std::vector<JobFigures>>>()>;

loop::Task<Result<std::vector<JobFigures>>> look_at(Asked asked, std::string name,
                                                    std::optional<places::FoundJob> own) {
  Result<JobFigures> one = has_ended(name);
  if (own) {
    Result<places::FoundJob> now = places::find_again(asked.state, *own);
    if (now) one = co_await ask_here(asked, *std::move(now));
  } else {
    one = co_await ask_server(asked, name);
  }
  if (!one) co_return one.error();
  std::vector<JobFigures> all;
  all.push_back(*std::move(one));
  co_return all;
}

/// One table or object: of two looks, so that there are rates.
loop::Task<Result<int>> print_once(Asked asked, Look look, bool json) {
  Figures figures;
  loop::Timer timer(asked.loop);
  for (int i = 0; i < looks_max; ++i) {
    if (i > 0) co_await timer.after(refresh);
    Result<std::vector<JobFigures>> jobs = co_await look();
    if (!jobs && i < 2) co_return jobs.error();
    if (!jobs) break;
    const bool is_nothing = jobs->empty();
    figures.take(*std::move(jobs));
    if (is_nothing || figures.is_whole()) break;
  }
  asked.out.text() +=
      json ? visible_json(to_text(figures.to_json(wall_time()))) + "\n" : figures.text(0, 0);
  co_return exit_success;
}

/// The view until it is quit or the job ends.
class View {
 public:
  View(Asked asked, Look look)
      : asked_(std::move(asked)), look_(std::move(look)), changed_(asked_.loop) {}

  loop::Task<Result<int>> show();

 private:
  loop::Task<> watch_keys(Screen& screen);
  loop::Task<> keep_looking();
  std::string text() const;
  void tell() {
    has_news_ = true;
    changed_.notify();
  }

  Asked asked_;
  Look look_;
  Figures figures_;
  bool has_figures_ = false;
  std::optional<Error> trouble_;  ///< Why the last look failed.
  bool is_quit_ = false;
  bool has_news_ = false;
  loop::Event changed_;
};

loop::Task<> View::watch_keys(Screen& screen) {
  co_await screen.quit(asked_.loop);
  is_quit_ = true;
  tell();
}

loop::Task<> View::keep_looking() {
  loop::Timer timer(asked_.loop);
  while (true) {
    Result<std::vector<JobFigures>> jobs = co_await look_();
    trouble_ = jobs ? std::nullopt : std::optional(jobs.error());
    has_figures_ = has_figures_ || jobs.has_value();
    if (jobs) figures_.take(*std::move(jobs));
    tell();
    co_await timer.after(refresh);
  }
}

std::string View::text() const {
  const int columns = asked_.out.columns();
  const int rows = asked_.out.rows();
  std::string head = "sm top  " + zoned_text(wall_time()) + "  q quits";
  if (trouble_) head = "sm top  " + visible_line(trouble_->text);
  const std::size_t left = rows > 3 ? static_cast<std::size_t>(rows - 2) : 1;
  std::string text = head + "\n\n" + figures_.text(static_cast<std::size_t>(columns), left);
  text.pop_back();  // No line after the last one: the screen would scroll.
  return text;
}

loop::Task<Result<int>> View::show() {
  Screen screen(STDOUT_FILENO);
  asked_.at_signal = [&screen] { screen.leave(); };
  loop::Tasks tasks(asked_.loop);
  tasks.start(watch_keys(screen));
  tasks.start(keep_looking());
  while (true) {
    while (!has_news_) co_await changed_.wait();
    has_news_ = false;
    const bool is_over = trouble_ && (!has_figures_ || trouble_->code == Errc::not_found);
    if (is_quit_ || is_over) break;
    asked_.out.text() += frame(text());
    co_await asked_.out.flush();
  }
  asked_.at_signal = {};
  tasks.end();
  screen.leave();
  if (is_quit_) co_return exit_success;
  if (!has_figures_) co_return *trouble_;
  asked_.out.text() += visible_line(trouble_->text) + "\n";
  co_return exit_success;
}

loop::Task<Result<int>> run(Asked asked, TopOptions options, bool is_view,
                            std::optional<places::FoundJob> own) {
  const Look look = [&]() -> loop::Task<Result<std::vector<JobFigures>>> {
    if (options.job.empty()) return look_at_all(asked);
    return look_at(asked, options.job, own);
  };
  if (!is_view) co_return co_await print_once(asked, look, options.json);
  View view(asked, look);
  co_return co_await view.show();
}

}  // namespace

int top_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("top"));
  TopOptions options;
  line.text("JOB", options.job);
  bool utc = false;
  line.flag("--utc", utc);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (utc) use_utc();
  std::optional<places::FoundJob> own;
  if (!options.job.empty()) {
    Result<std::optional<places::FoundJob>> found = own_job(env, options.job);
    if (!found) return end_with("sm top", found.error());
    own = *std::move(found);
  }
  const Env::const_iterator term = env.find("TERM");
  const bool is_dumb = term == env.end() || term->second.empty() || term->second == "dumb";
  const auto is_view = [&](const Out& out) {
    return out.is_terminal() && !options.json && !is_dumb;
  };
  if (own || !names_server(env))
    return run_here("sm top", env, [&](Here& here) {
      return run({here.loop, here.out, nullptr, here.state, here.at_signal}, options,
                 is_view(here.out), own);
    });
  return run_client("sm top", env, [&](Client& client) {
    return run({client.loop, client.out, &client.api, state_folder(env), client.at_signal}, options,
               is_view(client.out), own);
  });
}

}  // namespace muster::cli
