#include "cli/fit/value_files.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files/given_path.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/fit/places.h"
#include "command/given.h"

namespace muster::cli {
namespace {

constexpr std::size_t file_bytes_max = 4u << 20;

Result<std::string> read_value_file(const char* flag, const std::string& path) {
  const std::string cwd = TRY(current_folder());
  Result<std::string> text = read_given(absolute(path, cwd), file_bytes_max);
  if (!text) return fail(Errc::invalid_input, text.error().text).in(flag);
  return text;
}

std::set<std::string, std::less<>> names_of(const std::vector<std::string>& lines) {
  std::set<std::string, std::less<>> names;
  for (const std::string& line : lines) names.emplace(command::name_in(line));
  return names;
}

}  // namespace

std::vector<std::string> env_file_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (!trim(line).empty() && !line.starts_with('#')) lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::vector<std::string>> hyperparameters_in(const std::string& text) {
  const Result<Json> json = parse_json(text);
  if (!json || !json->is_object())
    return fail(Errc::invalid_input, "expected a JSON object of hyperparameters");
  std::vector<std::string> lines;
  for (const auto& [name, value] : json->items()) {
    if (name.empty() || name.find('=') != std::string::npos)
      return fail(Errc::invalid_input, "\"" + name + "\": expected a hyperparameter's name");
    lines.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : to_text(value)));
  }
  return lines;
}

Result<void> add_value_files(const ValueFiles& files, std::vector<std::string>& environment,
                             std::vector<std::string>& hyperparameters,
                             const std::vector<std::string>& texts) {
  if (!files.environment.empty()) {
    const auto given = names_of(environment);
    for (std::string& line :
         env_file_lines(TRY(read_value_file("--env-file", files.environment)))) {
      // Without the line, which may be a secret.
      if (line.find('=') == std::string::npos || line.starts_with('='))
        return fail(Errc::invalid_input, "--env-file: expected NAME=VALUE on each line");
      if (!given.contains(command::name_in(line))) environment.push_back(std::move(line));
    }
  }
  if (files.hyperparameters.empty()) return {};
  const std::string text = TRY(read_value_file("--hyperparameters", files.hyperparameters));
  Result<std::vector<std::string>> lines = hyperparameters_in(text);
  if (!lines) return lines.error().in("--hyperparameters");
  auto given = names_of(hyperparameters);
  given.merge(names_of(texts));
  for (std::string& line : *lines)
    if (!given.contains(command::name_in(line))) hyperparameters.push_back(std::move(line));
  return {};
}

}  // namespace muster::cli
