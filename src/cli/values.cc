#include "cli/values.h"

#include <optional>

#include "base/text.h"

namespace muster::cli {

Error wrong_value(const std::string& flag, const std::string& expected, const std::string& got) {
  return fail(Errc::invalid_input,
              flag + ": expected " + expected + ", got \"" + to_utf8(got) + "\"");
}

Result<int> whole_number(const char* flag, const std::string& text, int most, int otherwise) {
  if (text.empty()) return otherwise;
  const std::optional<std::int64_t> number = parse_integer(text);
  if (number && *number >= 1 && *number <= most) return static_cast<int>(*number);
  return wrong_value(flag, "a whole number from 1 to " + std::to_string(most), text);
}

Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts) {
  Pairs all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return wrong_value(flag, form, text);
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

Result<void> check_reserved(const Pairs& hyperparameters, const std::string& command) {
  for (const auto& [name, value] : hyperparameters)
    for (const char* own : {"sagemaker_program", "sagemaker_submit_directory",
                            "sagemaker_mpi_enabled", "sagemaker_mpi_num_of_processes_per_host",
                            "sagemaker_mpi_custom_mpi_options", "sagemaker_job_name"})
      if (name == own)
        return fail(Errc::invalid_input,
                    "--hyperparameter: " + name + " is set by " + command + " from its own flags");
  return {};
}

}  // namespace muster::cli
