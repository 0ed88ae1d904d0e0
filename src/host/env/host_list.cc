#include "host/env/host_list.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t digits_max = 9;

Error invalid_host_list(std::string_view part, const std::string& what) {
  return fail(Errc::invalid_input, "the list of hosts \"" + to_utf8(part) + "\": " + what);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= digits_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Splits at commas outside of brackets. Error: unbalanced brackets.
Result<std::vector<std::string_view>> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool end = at == text.size();
    if (!end && (text[at] == '[' || text[at] == ']')) {
      if ((text[at] == '[') == inside) return invalid_host_list(text, "brackets do not match");
      inside = text[at] == '[';
    }
    if (!end && (inside || text[at] != ',')) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  if (inside) return invalid_host_list(text, "brackets do not match");
  return parts;
}

/// The numbers of "1-3,07" as written: "1", "2", "3", "07".
Result<std::vector<std::string>> numbers_of(std::string_view ranges, std::string_view part) {
  std::vector<std::string> numbers;
  for (const std::string& range : split(ranges, ',')) {
    const std::size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
    if (!is_number(first) || !is_number(last))
      return invalid_host_list(part, "expected numbers in brackets, as in node[1-3,07]");
    const std::int64_t begin = *parse_integer(first);
    const std::int64_t end = *parse_integer(last);
    if (end < begin) return invalid_host_list(part, range + " is in descending order");
    if (static_cast<std::size_t>(end - begin) + numbers.size() >= host_list_max)
      return invalid_host_list(
          part, "the list contains more than " + std::to_string(host_list_max) + " hosts");
    for (std::int64_t number = begin; number <= end; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
  }
  return numbers;
}

/// The names of one part: every combination of the numbers in its brackets.
Result<std::vector<std::string>> names_of(std::string_view part) {
  std::vector<std::string> names = {""};
  std::string_view left = part;
  while (!left.empty()) {
    const std::size_t open = left.find('[');
    const std::string plain(left.substr(0, open));
    for (std::string& name : names) name += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = left.find(']', open);
    const std::vector<std::string> numbers =
        TRY(numbers_of(left.substr(open + 1, close - open - 1), part));
    if (names.size() * numbers.size() > host_list_max)
      return invalid_host_list(
          part, "the list contains more than " + std::to_string(host_list_max) + " hosts");
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& number : numbers) longer.push_back(name + number);
    names = std::move(longer);
    left.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
  const std::vector<std::string_view> parts = TRY(parts_of(text));
  std::vector<std::string> hosts;
  for (const std::string_view part : parts) {
    const std::string name = trim(part);
    if (name.empty()) return invalid_host_list(text, "a host name is empty");
    const std::vector<std::string> names = TRY(names_of(name));
    hosts.insert(hosts.end(), names.begin(), names.end());
    if (hosts.size() > host_list_max)
      return invalid_host_list(
          text, "the list contains more than " + std::to_string(host_list_max) + " hosts");
  }
  return hosts;
}

}  // namespace muster
