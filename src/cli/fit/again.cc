#include "cli/fit/again.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using command::Given;

/// What is about one run, not about the job.
constexpr std::array not_kept = {"--name", "--output",   "--overwrite",  "--json",
                                 "--raw",  "--timeline", "--print-plan", "--print-file"};

std::string first_value(const Given& given, std::string_view flag) {
  for (const Given::Value& value : given.values)
    if (value.flag->name == flag) return value.text;
  return {};
}

Result<Given> line_in(const Json& description) {
  const auto line = description.find("MusterLine");
  if (line == description.end() || !line->is_array())
    return fail(Errc::invalid_input,
                member_text(description, "TrainingJobName") +
                    ": cannot be run again, because the older version of muster that ran this job "
                    "did not record the command line; use sm fit");
  Args args;
  for (const Json& word : *line)
    if (word.is_string()) args.push_back(word.get<std::string>());
  return command::given_in(command::page_of("fit"), args);
}

}  // namespace

Args kept_line(const Given& given) {
  Given kept = given;
  std::erase_if(kept.values, [](const Given::Value& value) {
    return value.flag == &command::help_flag() ||
           std::find(not_kept.begin(), not_kept.end(), value.flag->name) != not_kept.end();
  });
  for (Given::Value& value : kept.values)
    if (value.flag->name == command::env_flag.name)
      value.text = std::string(command::name_in(value.text));
  return command::args_of(kept);
}

Result<Args> line_again(const Json& old, const Again& next) {
  const std::string old_name = member_text(old, "TrainingJobName");
  Given below = TRY(line_in(old));
  const std::string place = first_value(below, "--checkpoints");
  if (next.resume && place.empty())
    return fail(Errc::invalid_input,
                "--resume: " + old_name + " ran without --checkpoints, so it has no checkpoints");
  for (Given::Value& value : below.values)
    if (value.flag->name == "--checkpoints" && !next.resume)
      value.text = new_place(place, old_name, next.name);
  const command::Page& fit = command::page_of("fit");
  below.values.push_back({command::find_flag(fit, "--name"), next.name});
  const Given again = command::merged(std::move(below), next.given);
  std::vector<std::string> missing;
  for (const Given::Value& value : again.values)
    if (value.flag->name == command::env_flag.name && value.text.find('=') == std::string::npos)
      missing.push_back("--env " + value.text + "=…");
  if (missing.empty()) return command::args_of(again);
  return fail(Errc::invalid_input,
              "the record of " + old_name +
                  " does not contain the values of environment variables; pass them again: " +
                  join(missing, " "));
}

std::string value_in_record(const Json& description, std::string_view flag) {
  const Result<Given> line = line_in(description);
  return line ? first_value(*line, flag) : std::string();
}

std::string new_place(const std::string& place, const std::string& old, const std::string& name) {
  const bool in_s3 = place.starts_with("s3://");
  std::vector<std::string> parts = split(place, '/');
  while (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  if (in_s3 && parts.size() <= 3) return join(parts, "/") + "/" + name;
  const auto from = parts.begin() + (in_s3 ? 3 : 0);
  const auto found = std::find(from, parts.end(), old);
  if (found == parts.end())
    parts.back() += "-" + name;
  else
    *found = name;
  return join(parts, "/");
}

std::string stem_of_job(const std::string& name) {
  for (const char* end : {"-20..-..-..-..-..-..-....", "-20..-..-..-..-..-..-..."}) {
    const std::size_t length = std::string_view(end).size();
    if (name.size() > length && matches(end, name.substr(name.size() - length), '.'))
      return name.substr(0, name.size() - length);
  }
  return name;
}

}  // namespace muster::cli
