#include "server/front/service.h"

#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "server/front/machine_view.h"
#include "server/front/usage_exposition.h"
#include "server/operations/describe.h"
#include "server/operations/job_search.h"
#include "server/operations/sessions.h"

namespace muster::server {
namespace {

/// Programs that collect /metrics come each 10 s or more seldom.
constexpr Duration usage_age_max = std::chrono::seconds(9);

}  // namespace

Service::Service(loop::Loop& loop, engine::Engine& engine, store::Store& store,
                 access::KeyRing& keys, registry::RegistryServer& registry, const Log& log,
                 Options options)
    : stepwise_(loop),
      log_(log),
      store_(store),
      now_(options.runner.now),
      stacks_(store, {options.realm, options.runner.now, std::move(options.networks)}),
      journals_(options.runner.data + "/journals", engine),
      logs_(store, options.realm, journals_),
      metrics_(loop, store, journals_),
      runner_(loop, engine, journals_, store, logs_, metrics_, keys, log, options.runner),
      operations_(store, runner_, logs_, metrics_, stacks_, {options.realm, options.runner.now}),
      timelines_(loop, store, journals_),
      user_keys_(options.user_keys),
      realm_(options.realm),
      ecr_(loop, keys, registry, {options.realm, options.runner.now, options.url}) {}

Result<void> Service::start() {
  const std::vector<std::string> notes = TRY(stacks_.start());
  for (const std::string& note : notes) log_.warning(note);
  return runner_.start();
}

Result<WebLog> Service::web_log(const std::string& name) {
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return fail(Errc::not_found, name + ": Requested resource not found.");
  WebLog log{.job = job->number, .ended = store::is_terminal(job->state.status)};
  const api::JobRequest request = TRY(api::job_request_from(job->request));
  if (job->state.streams)
    for (const std::string& host : request.hosts())
      log.hosts.push_back({host, journals_.file(name, host)});
  return log;
}

Result<Json> Service::job_counts() const {
  Json counts = Json::object();
  for (const auto& [status, count] : TRY(store_.counts()))
    counts[std::string(store::status_name(status))] = count;
  return counts;
}

bool Service::hangs(const std::string& job) const {
  const std::optional<platform::Standstill> found = runner_.standstill(job);
  return found && !found->verdict.empty();
}

Json Service::machine() const {
  Json view = machine_view(runner_.queue(), now_(), runner_.schedules_elsewhere());
  for (Json& run : view.at("runs"))
    if (Json slurm = runner_.in_slurm(run.at("job").get<std::string>()); !slurm.is_null())
      run["slurm"] = std::move(slurm);
  return view;
}

loop::Task<api::Answer> Service::operate(api::Request request) {
  if (request.service == "monitoring") {
    const Result<void> caught_up = co_await metrics_.catch_up(request.input);
    if (!caught_up) co_return api::internal_failure(caught_up.error());
    if (cloudwatch::is_series(request.operation))
      co_return co_await metrics_.read(std::move(request));
  }
  if (request.own == api::Own::timeline)
    co_return co_await timelines_.describe(api::text_of(request.input, "TrainingJobName"));
  if (request.own == api::Own::stacks || request.own == api::Own::native_stacks)
    co_return co_await describe_stacks(request);
  if (request.own == api::Own::usage) co_return co_await describe_usage(request);
  if (request.service == "sts" && request.operation != "GetCallerIdentity")
    co_return lend_key(request, realm_, user_keys_, now_());
  if (request.service == "ecr") co_return co_await ecr_.operate(std::move(request));
  if (request.operation == "DeleteTrainingJob") co_return co_await remove(std::move(request));
  if (request.operation == "Search") co_return co_await search(std::move(request));
  co_return operations_.operate(request);
}

loop::Task<api::Answer> Service::remove(api::Request request) {
  Stepwise::Step step = [&]() -> std::optional<api::Answer> {
    if (operations_.remove_some(request)) return std::nullopt;
    return operations_.operate(request);
  };
  co_return co_await stepwise_.run(request.access_key, std::move(step));
}

loop::Task<api::Answer> Service::search(api::Request request) {
  JobSearch search(store_, runner_, std::move(request.input));
  Stepwise::Step step = [&search] { return search.step(); };
  co_return co_await stepwise_.run(request.access_key, std::move(step));
}

loop::Task<api::Answer> Service::describe_stacks(const api::Request& request) {
  const std::string job = api::text_of(request.input, "TrainingJobName");
  const Result<std::optional<store::Job>> found = store_.job(job);
  if (!found) co_return api::internal_failure(found.error());
  if (!*found) co_return no_such_job();
  const bool native = request.own == api::Own::native_stacks;
  const Result<std::vector<job::HostStacks>> hosts =
      co_await runner_.look(job, native ? job::Calls::native : job::Calls::python);
  if (!hosts) co_return api::invalid(hosts.error().text);
  co_return api::Answer(job::to_json(job, *hosts));
}

loop::Task<api::Answer> Service::describe_usage(const api::Request& request) {
  const std::string job = api::text_of(request.input, "TrainingJobName");
  const Result<std::optional<store::Job>> found = store_.job(job);
  if (!found) co_return api::internal_failure(found.error());
  if (!*found) co_return no_such_job();
  const std::vector<job::HostUsage> hosts = co_await runner_.usage(job);
  co_return api::Answer(job::to_json(job, hosts));
}

std::string Service::trouble() {
  if (!store_.try_write(now_())) return "not ready";
  return platform::silence_text(runner_.reach());
}

void Service::write(Exposition& to) {
  to.family("muster_jobs", "gauge", "Training jobs by status.");
  if (const auto counts = store_.counts(); counts)
    for (const auto& [status, count] : *counts)
      to.sample({{"status", store::status_name(status)}}, static_cast<double>(count));
  to.family("muster_jobs_waiting", "gauge", "Jobs that wait for free hosts.");
  to.sample({}, static_cast<double>(runner_.waiting()));
  to.family("muster_jobs_hanging", "gauge", "Jobs that hang.");
  to.sample({}, static_cast<double>(runner_.hanging()));
  const jobs::JobCounts& counts = runner_.counts();
  to.family("muster_job_restarts_total", "counter", "Attempts of jobs beyond their first.");
  to.sample({}, static_cast<double>(counts.restarts));
  to.family("muster_job_phase_seconds", "summary", "Phases of hosts of jobs that have ended.");
  for (std::size_t i = 0; i < counts.phases.size(); ++i) {
    const jobs::JobCounts::Phase& phase = counts.phases[i];
    if (phase.count == 0) continue;
    const std::string_view name = job::phase_before(static_cast<job::Point>(i));
    to.sample({{"phase", name}}, static_cast<double>(phase.sum.count()) / 1e3, "_sum");
    to.sample({{"phase", name}}, static_cast<double>(phase.count), "_count");
  }
  write_usage(to, runner_.usages(usage_age_max));
}

}  // namespace muster::server
