#include "cli/fit/kept_job.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/view/job_view.h"
#include "job/preflight/health.h"
#include "platform/places/job_description.h"

namespace muster::cli {

KeptJob::KeptJob(places::Machine& machine, const job::Spec& spec, platform::Sink& shown,
                 Options options)
    : machine_(machine),
      spec_(spec),
      shown_(shown),
      options_(std::move(options)),
      statuses_(std::make_shared<std::vector<platform::StatusLine>>()) {}

Result<std::unique_ptr<KeptJob>> KeptJob::prepare(loop::Loop& loop, places::Machine& machine,
                                                  const job::Spec& spec, platform::Sink& shown,
                                                  Options options) {
  std::unique_ptr<KeptJob> kept(new KeptJob(machine, spec, shown, std::move(options)));
  Json description = places::description_of(spec, wall_time());
  for (const std::string& word : kept->options_.line)
    description["MusterLine"].push_back(to_utf8(word));
  if (const auto& metrics = kept->options_.metrics; !metrics.empty()) {
    description["AlgorithmSpecification"]["MetricDefinitions"] = to_json(metrics);
    kept->metrics_.emplace(TRY(job::MetricDefinitions::from(metrics)));
  }
  Result<std::unique_ptr<places::JobRecord>> record = places::JobRecord::prepare(
      loop, kept->options_.state, std::move(description), kept->options_.calls);
  if (!record) return record.error().in("the job's record");
  kept->record_ = *std::move(record);
  return kept;
}

/// The machine has taken the job: from now on it is found by its name.
void KeptJob::accept() {
  const Result<void> published = record_->publish(spec_.name);
  if (!published)
    options_.tell("warning: sm jobs will not list this job: " + published.error().text);
  if (!options_.detachment) return;
  const Json word{{"type", "detached"},
                  {"job", spec_.name},
                  {"output", to_utf8(spec_.output_folder)},
                  {"log", to_utf8(spec_.output_folder + "/log")}};
  const Result<void> left = published ? options_.detachment->leave(record_->carrier_log(), word)
                                      : Result<void>(published.error());
  options_.detachment.reset();
  if (left) return;
  options_.tell("stopping the job, because it cannot continue in the background: " +
                left.error().text);
  static_cast<void>(options_.calls.stop());
}

void KeptJob::status(const platform::StatusLine& line) {
  statuses_->push_back(line);
  if (Json in = machine_.in_slurm(spec_.name); !in.is_null()) record_->set_slurm(std::move(in));
  record_->take(line);
  if (!accepted_) accept();
  accepted_ = true;
  shown_.status(line);
}

void KeptJob::see(const std::string& host) {
  if (!seen_.insert(host).second) return;
  record_->keep_journal(host, machine_.engine().journal_file(spec_.name, host));
}

void KeptJob::ended(const platform::JobReport& report) {
  for (const std::string& host : job::host_names(spec_.instance_count)) see(host);
  record_->end(report, options_.exit_code(report), metrics_ ? metrics_->last() : Json());
  shown_.ended(report);
}

void KeptJob::lines(const std::string& host, UnixMillis time, const job::Lines& lines) {
  see(host);
  if (metrics_) metrics_->take(host, time, lines);
  shown_.lines(host, time, lines);
}

void KeptJob::log(const std::string& host, UnixMillis time, const job::LogLine& line) {
  see(host);
  record_->take(host, line);
  shown_.log(host, time, line);
}

void KeptJob::standstill(const std::optional<platform::Standstill>& what) {
  record_->take(what);
  shown_.standstill(what);
}

void KeptJob::health(const std::string& node, const std::string& record) {
  const Result<void> kept =
      preflight::keep_record(preflight::health_folder(options_.state), node, record);
  if (!kept) options_.tell("warning: cannot store the result for sm nodes: " + kept.error().text);
}

std::function<Result<void>(const std::string&, const platform::StatusLine&)> KeptJob::log_writer()
    const {
  OwnLog::Files files;
  for (const std::string& host : job::host_names(spec_.instance_count))
    files.emplace_back(host, machine_.engine().journal_file(spec_.name, host));
  const int hosts = spec_.instance_count;
  const int ranks = hosts * std::max(1, processes_per_host_of(record_->description()));
  return [files, statuses = statuses_, hosts, ranks](const std::string& folder,
                                                     const platform::StatusLine& last) {
    std::vector<platform::StatusLine> lines = *statuses;
    lines.push_back(last);
    return write_log(files, lines, RenderOptions{.hosts = hosts, .ranks = ranks}, folder);
  };
}

}  // namespace muster::cli
