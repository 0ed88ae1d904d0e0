#include "cli/doctor/trial.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/fit/fit_spec.h"
#include "cli/fit/places.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

/// A trial takes less than a second; a machine on which it takes this long can run no jobs.
constexpr Duration trial_time_max = std::chrono::seconds(30);

class NoSink final : public platform::Sink {
 public:
  void status(const platform::StatusLine&) override {}
  void lines(const std::string&, UnixMillis, const job::Lines&) override {}
  void log(const std::string&, UnixMillis, const job::LogLine&) override {}
  loop::Task<> flush() override { co_return; }
};

struct Trial {
  std::optional<Result<platform::JobReport>> report{};
  bool too_long = false;
};

Result<job::Spec> trial_spec(const std::optional<platform::Interpreter>& interpreter,
                             const std::string& path, bool outside) {
  FitOptions options;
  options.network = outside ? job::Network::nat : job::Network::none;
  const std::string name = "doctor-" + hex(random_bytes(4));
  job::Spec spec = TRY(fit_spec(options, Places{}, interpreter, name, path));
  spec.entrypoint = {"sm", "version"};
  return spec;
}

loop::Task<Result<platform::JobReport>> run_trial(loop::Loop& loop, places::Machine& machine,
                                                  const Env& env, std::string python, bool outside,
                                                  platform::Requests& requests) {
  const bool asked = !python.empty();
  if (!asked) python = "python3";
  const Result<platform::Interpreter> found = co_await machine.interpreter(python);
  if (!found && asked) co_return found.error();
  const std::optional<platform::Interpreter> interpreter =
      found ? std::optional(*found) : std::nullopt;
  const Env::const_iterator path = env.find("PATH");
  const Result<job::Spec> spec =
      trial_spec(interpreter, path == env.end() ? "" : path->second, outside);
  if (!spec) co_return spec.error();
  NoSink sink;
  const platform::JobRunOptions options;
  Result<platform::JobReport> report =
      co_await platform::run_job(loop, machine.engine(), *spec, options, sink, requests);
  co_return report;
}

loop::Task<> end_late(loop::Loop& loop, platform::Requests& requests, bool& too_long) {
  loop::Timer timer(loop);
  too_long = co_await timer.after(trial_time_max);
  requests.kill();
}

std::string seconds_of(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s",
                std::chrono::duration<double>(duration).count());
  return text.data();
}

}  // namespace

Finding finding_of_trial(const Result<platform::JobReport>& report, Duration took, bool too_long) {
  Finding finding{.what = "job", .purpose = "test job with one host"};
  if (!report)
    finding.found = report.error().text;
  else if (too_long)
    finding.found = "did not finish within " + seconds_of(took);
  else if (report->end.status != platform::JobEnd::Status::completed)
    finding.found = report->end.reason;
  else
    finding.found = report->trouble;
  finding.good = finding.found.empty();
  if (finding.good) {
    finding.found = "completed in " + seconds_of(took);
    return finding;
  }
  const std::string_view topic = topic_name(finding.found);
  finding.advice = topic.empty()
                       ? "sm fit fails in the same way; another missing item may be the cause"
                       : "sm explain " + std::string(topic);
  return finding;
}

Finding try_job(const Env& env, const std::string& python, bool outside) {
  const TimePoint begin = Clock::now();
  loop::Loop loop;
  places::Machine machine(loop, env, {});
  platform::Requests requests(loop);
  Trial trial;
  const auto run = [&]() -> loop::Task<> {
    trial.report = co_await run_trial(loop, machine, env, python, outside, requests);
    loop.stop();
  };
  loop::Tasks tasks(loop);
  tasks.start(end_late(loop, requests, trial.too_long));
  tasks.start(run());
  loop.run();
  return finding_of_trial(*trial.report, Clock::now() - begin, trial.too_long);
}

}  // namespace muster::cli
