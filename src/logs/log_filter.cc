#include "logs/log_filter.h"

#include <algorithm>

#include "base/text.h"

namespace muster::logs {
namespace {

/// Takes one word, quoted or not, from the front of `text`.
Result<std::string> take_word(std::string_view& text) {
  if (text.front() != '"') {
    const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    const std::string word(text.substr(0, end));
    text.remove_prefix(end);
    return word;
  }
  std::string word;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return word;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    word += text[i];
  }
  return fail(Errc::invalid_input, "Invalid filter pattern: a quote that does not end");
}

}  // namespace

Result<LogFilter> LogFilter::from(std::string_view pattern) {
  LogFilter filter;
  const std::string trimmed = trim(pattern);
  std::string_view rest = trimmed;
  if (!rest.empty() && (rest.front() == '{' || rest.front() == '[' || rest.front() == '%'))
    return fail(Errc::invalid_input,
                "Invalid filter pattern: only patterns of words and quoted texts are served");
  while (!rest.empty()) {
    const char sign = rest.front();
    if (sign == ' ' || sign == '\t' || sign == '\n') {
      rest.remove_prefix(1);
      continue;
    }
    const bool is_signed = (sign == '?' || sign == '-') && rest.size() > 1 && rest[1] != ' ';
    if (is_signed) rest.remove_prefix(1);
    std::string word = TRY(take_word(rest));
    std::vector<std::string>& list = !is_signed    ? filter.all_
                                     : sign == '?' ? filter.any_
                                                   : filter.none_;
    list.push_back(std::move(word));
  }
  return filter;
}

bool LogFilter::matches(std::string_view message) const {
  const auto is_in = [&](const std::string& word) {
    return message.find(word) != std::string_view::npos;
  };
  return std::all_of(all_.begin(), all_.end(), is_in) &&
         (any_.empty() || std::any_of(any_.begin(), any_.end(), is_in)) &&
         std::none_of(none_.begin(), none_.end(), is_in);
}

}  // namespace muster::logs
