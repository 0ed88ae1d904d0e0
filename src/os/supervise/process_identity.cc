#include "os/supervise/process_identity.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster::supervise {
namespace {

/// The words behind `name` in a file of lines "Name: words".
std::vector<std::string> words_of(std::string_view text, std::string_view name) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(name)) return split_words(line.substr(name.size()));
  return {};
}

}  // namespace

int rank_in(std::string_view environment) {
  constexpr std::array<std::string_view, 4> names = {
      "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "RANK="};
  for (const std::string_view name : names)
    for (const std::string& entry : split(environment, '\0')) {
      if (!entry.starts_with(name)) continue;
      const std::optional<std::int64_t> rank =
          parse_integer(std::string_view(entry).substr(name.size()));
      if (rank && *rank >= 0 && *rank <= 1'000'000) return static_cast<int>(*rank);
    }
  return -1;
}

std::int64_t inner_number(std::string_view status, std::int64_t outer) {
  const std::vector<std::string> words = words_of(status, "NSpid:");
  return words.empty() ? outer : parse_integer(words.back()).value_or(outer);
}

std::int64_t user_in(std::string_view status) {
  const std::vector<std::string> words = words_of(status, "Uid:");  // Real, effective, …
  return words.size() < 2 ? -1 : parse_integer(words[1]).value_or(-1);
}

}  // namespace muster::supervise
