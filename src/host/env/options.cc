#include "host/env/options.h"

#include <array>
#include <charconv>
#include <iterator>

#include "base/fd.h"
#include "base/port.h"
#include "base/text.h"
#include "base/variables.h"
#include "job/host_settings.h"
#include "job/limits.h"

namespace muster::env {
namespace {

constexpr std::size_t settings_bytes_max = 1u << 20;

Result<Duration> seconds_from(const std::string& name, const std::string& text, Duration least) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= 0) || value > 31536000)
    return fail(Errc::invalid_input,
                name + " is \"" + text + "\"; expected a number of seconds from 0 to 31536000");
  const Duration duration =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
  if (duration < least)
    return fail(Errc::invalid_input, name + " is " + text + ", which is too short");
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
    {"MUSTER_STOP_DEADLINE", "--grace", &TrainOptions::stop_grace, job::stop_grace_default,
     no_least},
    {"MUSTER_FAILURE_GRACE", "--failure-grace", &TrainOptions::failure_grace,
     std::chrono::seconds(1), no_least},
};

Result<void> set_port(TrainOptions& options, const std::string& name, const std::string& text) {
  const std::optional<std::uint16_t> port = parse_port(text);
  if (!port)
    return fail(Errc::invalid_input,
                name + " is \"" + text + "\"; expected a port from 1 to 65535");
  options.port = *port;
  return {};
}

/// Stores a flag's value in the options; empty: the flag was not set.
Result<void> set_from_line(const Args& words, const std::string& port,
                           const std::array<std::string, std::size(duration_settings)>& durations,
                           TrainOptions& options) {
  for (const std::string& word : words)
    if (word != "train")
      return fail(Errc::invalid_input, "unexpected argument \"" + to_utf8(word) + "\"");
  if (!port.empty()) TRY(set_port(options, "--port", port));
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const DurationSetting& setting = duration_settings[i];
    if (durations[i].empty()) continue;
    options.*setting.field = TRY(seconds_from(setting.flag, durations[i], setting.least));
  }
  return {};
}

}  // namespace

Result<TrainOptions> train_options(const Env& env) {
  TrainOptions options;
  for (const DurationSetting& setting : duration_settings) {
    options.*setting.field = setting.standard;
    const Env::const_iterator found = env.find(setting.variable);
    if (found == env.end()) continue;
    options.*setting.field = TRY(seconds_from(setting.variable, found->second, setting.least));
  }
  const Env::const_iterator port = env.find("MUSTER_ROLLCALL_PORT");
  if (port != env.end()) TRY(set_port(options, "MUSTER_ROLLCALL_PORT", port->second));
  return options;
}

std::optional<command::Stop> read_train_flags(const Args& args, TrainOptions& options) {
  const command::Page& page = command::page_of("train");
  command::Line line(page);
  Args words;
  std::string port;
  std::array<std::string, std::size(duration_settings)> durations;
  line.texts("train", words);
  line.flag("--print-plan", options.print_plan);
  options.hosts.bind(line);
  line.text("--port", port);
  for (std::size_t i = 0; i < durations.size(); ++i)
    line.text(duration_settings[i].flag, durations[i]);
  std::optional<command::Stop> stop = line.parse(args);
  if (!stop) {
    const Result<void> taken = set_from_line(words, port, durations, options);
    if (!taken) stop = command::wrong_line(page, taken.error().text);
  }
  if (stop) stop->name = "train";  // An image may have no `sm` next to it.
  return stop;
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
  const std::string interface = value_of(env, "MUSTER_INTERFACE");
  if (interface.empty()) return result;
  result.try_emplace("NCCL_SOCKET_IFNAME",
                     "=" + interface);  // Otherwise NCCL treats it as a prefix.
  result.try_emplace("GLOO_SOCKET_IFNAME", interface);
  return result;
}

}  // namespace muster::env
