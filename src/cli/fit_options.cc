#include "cli/fit_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "cli/apps.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

constexpr int hosts_max = 250;
constexpr int processes_max = 1024;
constexpr int seconds_max = 28 * 86400;  // SageMaker's limit of MaxRuntimeInSeconds.
constexpr int grace_seconds_max = 86400;

Error wrong(const std::string& flag, const std::string& expected, const std::string& got) {
  return fail(Errc::invalid_input,
              flag + ": expected " + expected + ", got \"" + to_utf8(got) + "\"");
}

Result<int> whole_number(const char* flag, const std::string& text, int most, int otherwise) {
  if (text.empty()) return otherwise;
  const std::optional<std::int64_t> number = parse_integer(text);
  if (number && *number >= 1 && *number <= most) return static_cast<int>(*number);
  return wrong(flag, "a whole number from 1 to " + std::to_string(most), text);
}

Result<std::chrono::milliseconds> seconds(const char* flag, const std::string& text,
                                          std::chrono::milliseconds otherwise) {
  if (text.empty()) return otherwise;
  double value = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0 &&
                    value <= grace_seconds_max;
  if (!good) return wrong(flag, "seconds from 0 to 86400", text);
  return std::chrono::milliseconds(static_cast<std::int64_t>(value * 1000 + 0.5));
}

/// "NAME=VALUE" texts; each name once.
Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts) {
  Pairs all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return wrong(flag, form, text);
    std::string name = text.substr(0, equals);
    if (!is_utf8(text) || text.find('\0') != std::string::npos)
      return fail(Errc::invalid_input, std::string(flag) + ": " + to_utf8(name) +
                                           ": expected UTF-8 text, which this is not");
    for (const auto& [other, value] : all)
      if (other == name)
        return fail(Errc::invalid_input, std::string(flag) + ": " + name + " is given twice");
    all.emplace_back(std::move(name), text.substr(equals + 1));
  }
  return all;
}

/// What fit itself sends as hyperparameters.
Result<void> check_reserved(const Pairs& hyperparameters) {
  for (const auto& [name, value] : hyperparameters)
    for (const char* own : {"sagemaker_program", "sagemaker_submit_directory",
                            "sagemaker_mpi_enabled", "sagemaker_mpi_num_of_processes_per_host",
                            "sagemaker_mpi_custom_mpi_options", "sagemaker_job_name"})
      if (name == own)
        return fail(Errc::invalid_input,
                    "--hyperparameter: " + name + " is set by sm fit from its own flags");
  return {};
}

Result<FitOptions> options_from(FitWords words, Args arguments) {
  FitOptions options;
  options.hosts = TRY(whole_number("--hosts", words.hosts, hosts_max, 1));
  options.processes_per_host =
      TRY(whole_number("--processes-per-host", words.processes_per_host, processes_max, 1));
  options.custom_mpi_options = words.custom_mpi_options;
  const bool many =
      !words.processes_per_host.empty() && options.hosts * options.processes_per_host > 1;
  options.mpi = words.mpi || many || !words.custom_mpi_options.empty();
  options.inputs = TRY(pairs("--input", "NAME=DIR", words.inputs));
  options.hyperparameters = TRY(pairs("--hyperparameter", "NAME=VALUE", words.hyperparameters));
  TRY(check_reserved(options.hyperparameters));
  options.environment = TRY(pairs("--env", "NAME=VALUE", words.environment));
  if (!words.name.empty()) {
    const Result<void> named = platform::check_job_name(words.name);
    if (!named) return named.error().in("--name");
  }
  options.timeout =
      std::chrono::seconds(TRY(whole_number("--timeout", words.timeout, seconds_max, 86400)));
  options.grace = TRY(seconds("--grace", words.grace, options.grace));
  for (const std::string& argument : arguments)
    if (!is_utf8(argument))
      return fail(Errc::invalid_input, "an argument behind --: expected UTF-8 text");
  options.script = std::move(words.script);
  options.source_folder = std::move(words.source_folder);
  options.output = std::move(words.output);
  options.name = std::move(words.name);
  options.python = std::move(words.python);
  options.keep = words.keep;
  options.json = words.json;
  options.verbose = words.verbose;
  options.print_plan = words.print_plan;
  options.arguments = std::move(arguments);
  return options;
}

}  // namespace

Parsed<FitOptions> fit_options(const Args& args) {
  const Args::const_iterator split = std::find(args.begin(), args.end(), "--");
  Args arguments;
  if (split != args.end()) arguments.assign(split + 1, args.end());
  FitWords words;
  CLI::App app("", "sm fit");
  add_fit(app, words);
  if (const std::optional<Stop> stop = parse(app, Args(args.begin(), split)))
    return {std::nullopt, stop->exit_code, stop->text};
  Result<FitOptions> options = options_from(std::move(words), std::move(arguments));
  if (options) return {*std::move(options), 0, {}};
  const Stop stop = wrong_line(app, options.error().text);
  return {std::nullopt, stop.exit_code, stop.text};
}

std::string encoded_hyperparameter(const std::string& value) {
  const bool bare = !value.empty() && trim(value) == value;
  const Result<Json> json = bare ? parse_json(value) : fail(Errc::invalid_input, "text");
  return json && !json->is_string() ? value : to_text(Json(value));
}

}  // namespace muster::cli
