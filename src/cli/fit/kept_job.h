#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/command.h"
#include "cli/fit/detach.h"
#include "cli/view/own_log.h"
#include "cli/view/own_metrics.h"
#include "cli/view/render.h"
#include "platform/job_run.h"
#include "platform/places/job_record.h"
#include "platform/places/machine.h"

namespace muster::cli {

/// Shows nothing: of a job whose carrier has no terminal.
class NoRender final : public Render {
 public:
  void status(const platform::StatusLine&) override {}
  void lines(const std::string&, UnixMillis, const job::Lines&) override {}
  void log(const std::string&, UnixMillis, const job::LogLine&) override {}
};

/// What `sm fit` does in addition to showing its job: keeps a record of the job, with its log, for
/// `sm jobs`, `sm logs`, `sm describe` and `sm stop`; detaches from the terminal if requested.
class KeptJob final : public platform::Sink {
 public:
  struct Options {
    std::string state;                       ///< The machine's state folder.
    std::optional<Detachment> detachment{};  ///< None: the job is shown.
    /// What `sm fit` ends with, once its job has.
    std::function<int(const platform::JobReport& report)> exit_code{};
    std::vector<job::MetricDefinition> metrics{};    ///< Metrics in the log's lines.
    Args line{};                                     ///< For `sm rerun`.
    places::CarrierCalls calls{};                    ///< For `sm stop` and `sm stacks`.
    std::function<void(const std::string&)> tell{};  ///< A warning.
  };
  /// All arguments outlive this; `shown` also receives all events.
  static Result<std::unique_ptr<KeptJob>> prepare(loop::Loop& loop, places::Machine& machine,
                                                  const job::Spec& spec, platform::Sink& shown,
                                                  Options options);

  void status(const platform::StatusLine& line) override;
  void ended(const platform::JobReport& report) override;
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override;
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override;
  void standstill(const std::optional<platform::Standstill>& what) override;
  void health(const std::string& node, const std::string& record) override;
  loop::Task<> flush() override { return shown_.flush(); }

  /// The job's description in its record.
  const Json& description() const { return record_->description(); }
  /// For platform::JobRunOptions::write_log.
  std::function<Result<void>(const std::string& folder, const platform::StatusLine& last)>
  log_writer() const;

 private:
  KeptJob(places::Machine& machine, const job::Spec& spec, platform::Sink& shown, Options options);
  void accept();
  void see(const std::string& host);

  places::Machine& machine_;
  const job::Spec& spec_;
  platform::Sink& shown_;
  Options options_;
  std::unique_ptr<places::JobRecord> record_;
  bool accepted_ = false;
  std::set<std::string> seen_;         ///< Hosts whose journals are kept.
  std::optional<OwnMetrics> metrics_;  ///< Where it defines any.
  /// All statuses so far; the thread that writes the log reads them, too.
  std::shared_ptr<std::vector<platform::StatusLine>> statuses_;
};

}  // namespace muster::cli
