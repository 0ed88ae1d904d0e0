#include "host/toolkit/refusals.h"

#include <algorithm>

#include "base/text.h"

namespace muster::launch {
namespace {

constexpr std::size_t string_bytes_max = 131071;

std::string too_long(const std::string& what, std::size_t bytes) {
  return what + ": it has " + std::to_string(bytes) + " bytes, but the kernel allows only " +
         std::to_string(string_bytes_max) +
         "; use fewer or shorter hyperparameters, or a file in a channel";
}

}  // namespace

Result<void> check_names(const job::PyValue& hyperparameters) {
  for (const job::PyValue::Member& member : hyperparameters.members)
    if (member.first.find('=') != std::string::npos)
      return fail(Errc::invalid_input, "hyperparameter " + to_utf8(member.first) +
                                           ": its name contains '=', which is not allowed in a "
                                           "variable's name; rename the hyperparameter");
  return {};
}

Result<void> check_line_ends(const std::string& name, std::string_view head) {
  if (head.starts_with("\x7f"
                       "ELF"))
    return {};
  const auto lines = std::count(head.begin(), head.end(), '\n');
  std::ptrdiff_t dos = 0;
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2))
    ++dos;
  const std::size_t first = head.find('\n');
  const bool begins_so = first != std::string_view::npos && first > 0 && head[first - 1] == '\r';
  if (!begins_so && 2 * dos <= lines) return {};
  return fail(Errc::invalid_input, "sagemaker_program \"" + to_utf8(name) +
                                       "\" has Windows line endings (CR LF), and a shell treats CR "
                                       "as part of a word; run sed -i 's/\\r$//' " +
                                       to_utf8(name));
}

Result<void> check_lengths(const Command& command) {
  for (const auto& [name, value] : command.env)
    if (const std::size_t bytes = name.size() + 1 + value.size(); bytes > string_bytes_max)
      return fail(Errc::invalid_input, too_long("variable " + to_utf8(name), bytes));
  for (const std::string& word : command.argv)
    if (word.size() > string_bytes_max)
      return fail(
          Errc::invalid_input,
          too_long("the program's argument " + to_utf8(word.substr(0, 40)) + "...", word.size()));
  return {};
}

}  // namespace muster::launch
