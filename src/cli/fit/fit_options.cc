#include "cli/fit/fit_options.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "cli/fit/value_files.h"
#include "command/given.h"
#include "job/limits.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// The line as it is typed.
struct FitWords {
  std::string script, image, policy, source_folder, hosts;
  LaunchWords launch;
  std::string output, checkpoints, name, python, timeout, max_wait, hang_after, retries, spares,
      grace, memory, cpus, gpus, numa, shm_size, network, volume_size, pip_conf, engine;
  std::vector<std::string> slurm, inputs, bound, hyperparameters, texts, environment, metrics;
  ValueFiles files;
  bool overwrite = false, keep = false, detach = false, json = false, raw = false, verbose = false,
       print_plan = false, utc = false, end_hung = false, encrypted = false, timeline = false,
       preflight = false, print_file = false;
};

void bind(command::Line& line, FitWords& words) {
  line.text("SCRIPT", words.script);
  line.text("--image", words.image);
  line.text("--policy", words.policy);
  line.text("--source-dir", words.source_folder);
  line.text("--hosts", words.hosts);
  bind(line, words.launch);
  line.texts("--input", words.inputs);
  line.texts("--bind", words.bound);
  line.texts("--hyperparameter", words.hyperparameters);
  line.texts("--text-hyperparameter", words.texts);
  line.texts("--env", words.environment);
  line.text("--hyperparameters", words.files.hyperparameters);
  line.text("--env-file", words.files.environment);
  line.texts("--metric", words.metrics);
  line.text("--output", words.output);
  line.flag("--overwrite", words.overwrite);
  line.text("--checkpoints", words.checkpoints);
  line.text("--name", words.name);
  line.text("--python", words.python);
  line.text("--pip-conf", words.pip_conf);
  line.text("--memory", words.memory);
  line.text("--cpus", words.cpus);
  line.text("--gpus", words.gpus);
  line.text("--numa", words.numa);
  line.text("--shm-size", words.shm_size);
  line.text("--volume-size", words.volume_size);
  line.text("--network", words.network);
  line.flag("--encrypt", words.encrypted);
  line.text("--timeout", words.timeout);
  line.text("--max-wait", words.max_wait);
  line.text("--hang-after", words.hang_after);
  line.flag("--end-hung", words.end_hung);
  line.text("--retries", words.retries);
  line.text("--spares", words.spares);
  line.flag("--preflight", words.preflight);
  line.text("--grace", words.grace);
  line.flag("--keep", words.keep);
  line.text("--engine", words.engine);
  line.texts("--slurm", words.slurm);
  line.flag("--detach", words.detach);
  line.flag("--raw", words.raw);
  line.flag("--utc", words.utc);
  line.flag("--json", words.json);
  line.flag("--verbose", words.verbose);
  line.flag("--timeline", words.timeline);
  line.flag("--print-plan", words.print_plan);
  line.flag("--print-file", words.print_file);
}

/// "PATH[:PATH][:ro|rw]".
Result<BindWish> bind_wish(const std::string& text) {
  std::vector<std::string> parts = split(text, ':');
  BindWish wish;
  if (parts.size() > 1 && (parts.back() == "ro" || parts.back() == "rw")) {
    wish.writable = parts.back() == "rw";
    parts.pop_back();
  }
  const bool good = parts.size() <= 2 && is_utf8(text) &&
                    std::none_of(parts.begin(), parts.end(),
                                 [](const std::string& part) { return part.empty(); });
  if (!good) return wrong_value("--bind", "PATH[:PATH][:ro|rw]", text);
  wish.outside = parts.front();
  if (parts.size() == 2) wish.inside = parts.back();
  return wish;
}

/// What runs is a script, or what an image brings.
Result<void> check_program(const FitWords& words) {
  if (words.script.empty() && words.image.empty())
    return fail(
        Errc::invalid_input,
        "expected a script to run, or --image NAME with an image that contains the program");
  if (words.script.empty() && !words.source_folder.empty())
    return fail(Errc::invalid_input, "--source-dir requires a SCRIPT");
  if (words.image.empty() && !words.policy.empty())
    return fail(Errc::invalid_input, "--policy requires --image");
  if (!words.image.empty() && !words.python.empty())
    return fail(Errc::invalid_input,
                "--python names a program on this machine, which hosts with --image cannot access; "
                "omit --python or --image");
  return {};
}

/// What bounds the job's time, and when nothing happens in it.
Result<void> take_times(const FitWords& words, FitOptions& options) {
  options.timeout = TRY(timeout_of(words.timeout));
  constexpr TimeRange waits{std::chrono::seconds(1), job::wait_time_max, std::chrono::seconds(1),
                            std::chrono::milliseconds(0)};
  options.max_wait = TRY(time_span("--max-wait", words.max_wait, waits));
  if (words.hang_after.empty() && words.end_hung)
    return fail(Errc::invalid_input, "--end-hung requires --hang-after");
  constexpr TimeRange hangs{job::hang_after_min, job::training_time_max, std::chrono::seconds(1),
                            std::chrono::milliseconds(0)};
  options.hang_after = TRY(time_span("--hang-after", words.hang_after, hangs));
  options.end_hung = words.end_hung;
  return {};
}

/// On one machine a host is lost by somebody's hand alone: who does not rehearse wants it to fail.
Result<void> take_attempts(const FitWords& words, FitOptions& options) {
  if (words.spares != "0")
    options.spares = TRY(whole_number("--spares", words.spares, job::spares_max, 0));
  const bool rehearses = options.spares > 0 || words.engine == "slurm";
  if (words.retries == "0" || (words.retries.empty() && !rehearses))
    options.retries = 0;
  else
    options.retries =
        TRY(whole_number("--retries", words.retries, job::retries_max, job::retries_default));
  return {};
}

Result<FitOptions> options_from(FitWords words, Args arguments) {
  FitOptions options;
  options.hosts = TRY(whole_number("--hosts", words.hosts, job::hosts_max, 1));
  options.launch = TRY(launch_choice(words.launch, options.hosts));
  options.inputs = TRY(pairs("--input", "NAME=DIR", words.inputs));
  for (const std::string& text : words.bound) options.bound.push_back(TRY(bind_wish(text)));
  TRY(add_value_files(words.files, words.environment, words.hyperparameters, words.texts));
  options.hyperparameters =
      TRY(hyperparameters_from(std::move(words.hyperparameters), words.texts, "sm fit"));
  options.environment = TRY(pairs("--env", "NAME=VALUE", words.environment));
  options.metrics = TRY(metrics_from(words.metrics));
  if (!words.name.empty()) {
    const Result<void> named = platform::check_job_name(words.name);
    if (!named) return named.error().in("--name");
  }
  TRY(take_times(words, options));
  TRY(take_attempts(words, options));
  options.memory_bytes = TRY(byte_count("--memory", words.memory, job::memory_bytes_min, 0));
  options.cpu_millis =
      TRY(thousandths("--cpus", words.cpus, job::cpu_millis_min, job::cpu_millis_max, 0));
  options.gpus = TRY(whole_number("--gpus", words.gpus, job::gpus_max, 0));
  options.near_gpus = words.numa != "off";
  options.shm_bytes = TRY(byte_count("--shm-size", words.shm_size, job::shm_bytes_min, 0));
  options.volume_gib =
      TRY(whole_number("--volume-size", words.volume_size, job::volume_gib_max, 0));
  if (!words.network.empty()) {
    const std::optional<job::Network> network = job::network_from(words.network);
    if (!network) return wrong_value("--network", "nat, none or host", words.network);
    options.network = *network;
  }
  if (options.network == job::Network::host && options.hosts > 1)
    return fail(Errc::invalid_input,
                "--network host supports only one host, because several hosts would share one "
                "address and all ports; use nat or none");
  const TimeRange grace{{}, job::stop_grace_max, std::chrono::milliseconds(1), options.grace};
  options.grace = TRY(time_span("--grace", words.grace, grace));
  for (const std::string& argument : arguments)
    if (!is_utf8(argument))
      return fail(Errc::invalid_input, "arguments after --: expected UTF-8 text");
  TRY(check_program(words));
  options.slurm = TRY(slurm_of(words.engine, words.slurm));
  if (!options.slurm && words.preflight)
    return fail(Errc::invalid_input, "--preflight requires --engine slurm");
  options.preflight = words.preflight;
  options.script = std::move(words.script);
  options.image = std::move(words.image);
  options.policy = std::move(words.policy);
  options.source_folder = std::move(words.source_folder);
  options.output = std::move(words.output);
  options.checkpoints = std::move(words.checkpoints);
  options.name = std::move(words.name);
  options.python = std::move(words.python);
  options.pip_conf = std::move(words.pip_conf);
  options.encrypted = words.encrypted;
  options.overwrite = words.overwrite;
  options.keep = words.keep;
  options.detach = words.detach;
  options.utc = words.utc;
  options.json = words.json;
  options.raw = words.raw;
  options.verbose = words.verbose;
  options.timeline = words.timeline;
  options.print_plan = words.print_plan;
  options.print_file = words.print_file;
  options.arguments = std::move(arguments);
  return options;
}

}  // namespace

Result<std::optional<places::SlurmCluster>> slurm_of(const std::string& engine,
                                                     const std::vector<std::string>& settings) {
  if (!engine.empty() && engine != "local" && engine != "slurm")
    return wrong_value("--engine", "local or slurm", engine);
  if (engine != "slurm" && !settings.empty())
    return fail(Errc::invalid_input, "--slurm requires --engine slurm");
  if (engine != "slurm") return std::optional<places::SlurmCluster>();
  places::SlurmCluster cluster;
  for (const std::string& text : settings) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    const Result<void> taken = places::set(cluster, name, value);
    if (!taken) return taken.error().in("--slurm");
  }
  return std::optional<places::SlurmCluster>(std::move(cluster));
}

FitLine fit_options(const Args& args) {
  const command::Page& page = command::page_of("fit");
  command::Line line(page);
  FitWords words;
  bind(line, words);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  Result<FitOptions> options = options_from(std::move(words), line.rest());
  if (!options) return command::wrong_line(page, options.error().text);
  return *std::move(options);
}

std::map<std::string, std::string> encoded(const Hyperparameters& hyperparameters) {
  std::map<std::string, std::string> all;
  for (const auto& [name, value] : hyperparameters.all) {
    const bool typed = !hyperparameters.texts.contains(name) && command::is_typed(value);
    all[name] = typed ? value : to_text(Json(value));
  }
  return all;
}

}  // namespace muster::cli
