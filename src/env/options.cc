#include "env/options.h"

#include <charconv>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "job/host_settings.h"

namespace muster::env {
namespace {

constexpr std::size_t settings_bytes_max = 1u << 20;

Result<Duration> seconds_from(const std::string& name, const std::string& text, Duration least) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= 0) || value > 31536000)
    return fail(Errc::invalid_input,
                name + " is \"" + text + "\", expected seconds from 0 to 31536000");
  const Duration duration =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
  if (duration < least) return fail(Errc::invalid_input, name + " is " + text + ", too short");
  return duration;
}

struct DurationSetting {
  const char* variable;
  const char* flag;
  Duration TrainOptions::*field;
  Duration standard;
  Duration least;
};

constexpr Duration no_least{};
const DurationSetting duration_settings[] = {
    {"MUSTER_JOIN_DEADLINE", "--join-deadline", &TrainOptions::join_deadline,
     std::chrono::minutes(15), no_least},
    {"MUSTER_HEARTBEAT", "--heartbeat", &TrainOptions::heartbeat, std::chrono::seconds(1),
     std::chrono::milliseconds(10)},
    {"MUSTER_LOST_AFTER", "--lost-after", &TrainOptions::lost_after, std::chrono::seconds(5),
     std::chrono::milliseconds(20)},
    {"MUSTER_STOP_DEADLINE", "--grace", &TrainOptions::stop_grace, std::chrono::seconds(30),
     no_least},
    {"MUSTER_FAILURE_GRACE", "--failure-grace", &TrainOptions::failure_grace,
     std::chrono::seconds(1), no_least},
};

/// The value of `flag` at `args[at]` ("--port 1" or "--port=1"); moves `at` past it.
std::optional<std::string> flag_value(const Args& args, std::size_t& at, const std::string& flag) {
  if (args[at] == flag && at + 1 < args.size()) return args[++at];
  if (args[at].starts_with(flag + "=")) return args[at].substr(flag.size() + 1);
  return std::nullopt;
}

Result<void> set_port(TrainOptions& options, const std::string& name, const std::string& text) {
  const std::optional<std::int64_t> port = parse_integer(text);
  if (!port || *port < 1 || *port > 65535)
    return fail(Errc::invalid_input, name + " is \"" + text + "\", expected a port, 1 to 65535");
  options.port = static_cast<std::uint16_t>(*port);
  return {};
}

Result<void> apply_flag(TrainOptions& options, const Args& args, std::size_t& at) {
  if (args[at] == "--print-plan") {
    options.print_plan = true;
    return {};
  }
  if (args[at] == "--help" || args[at] == "-h") {
    options.help = true;
    return {};
  }
  if (const std::optional<std::string> port = flag_value(args, at, "--port"))
    return set_port(options, "--port", *port);
  for (const DurationSetting& setting : duration_settings) {
    const std::optional<std::string> text = flag_value(args, at, setting.flag);
    if (!text) continue;
    options.*setting.field = TRY(seconds_from(setting.flag, *text, setting.least));
    return {};
  }
  return fail(Errc::invalid_input,
              "train: unknown argument \"" + args[at] + "\"; see train --help");
}

}  // namespace

Result<TrainOptions> train_options(const Args& args, const Env& env) {
  TrainOptions options;
  for (const DurationSetting& setting : duration_settings) {
    options.*setting.field = setting.standard;
    const Env::const_iterator found = env.find(setting.variable);
    if (found == env.end()) continue;
    options.*setting.field = TRY(seconds_from(setting.variable, found->second, setting.least));
  }
  const Env::const_iterator port = env.find("MUSTER_ROLLCALL_PORT");
  if (port != env.end()) TRY(set_port(options, "MUSTER_ROLLCALL_PORT", port->second));
  for (std::size_t at = 0; at < args.size(); ++at) {
    // The platform's own call is `train`; SageMaker starts containers as `IMAGE train`.
    if (args[at] == "train") continue;
    TRY(apply_flag(options, args, at));
  }
  return options;
}

std::string train_help() {
  return R"(usage: train [FLAGS]

The entry point of a training container: reads the job from /opt/ml (SAGEMAKER_BASE_DIR moves it),
gathers its hosts, runs the script on them and reports how it ended. Every host starts it alike.

flags:
  --print-plan             print what would run here and exit
  --port PORT              port of the roll call on the leader (MUSTER_ROLLCALL_PORT, 9730)
  --join-deadline SECONDS  how long to wait for the other hosts (MUSTER_JOIN_DEADLINE, 900)
  --heartbeat SECONDS      time between heartbeats (MUSTER_HEARTBEAT, 1)
  --lost-after SECONDS     a host silent for so long is lost (MUSTER_LOST_AFTER, 5)
  --grace SECONDS          from SIGTERM to SIGKILL on a stop request (MUSTER_STOP_DEADLINE, 30)
  --failure-grace SECONDS  the same for the others after a failure (MUSTER_FAILURE_GRACE, 1)

examples:
  train                                        in a container: run the job in /opt/ml
  SAGEMAKER_BASE_DIR=/tmp/job train --print-plan

exit status: 0 success, 1 failure (output/failure says why), 128+N stopped by signal N.
)";
}

Result<Env> full_environment(const Env& env) {
  Result<std::string> text = read_file(job::host_settings_path, settings_bytes_max);
  if (!text && text.error().code == Errc::not_found) return env;
  if (!text) return text.error();
  Result<Env> whole = job::with_host_settings(env, *text);
  if (!whole) return whole.error().in(job::host_settings_path);
  return whole;
}

Env user_environment(const Env& env) {
  Env result;
  for (const auto& [name, value] : env)
    if (!name.starts_with("MUSTER_")) result.emplace(name, value);
  return result;
}

}  // namespace muster::env
