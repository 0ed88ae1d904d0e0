#include "server/cloudwatch/filter_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/letters.h"
#include "base/text.h"

namespace muster::cloudwatch {
namespace {

constexpr std::int64_t expression_memory_max = 1 << 20;
constexpr int expression_instructions_max = 500;
/// Measured: an expression made to be slow takes a microsecond for a byte and 250 of them.
constexpr std::size_t instructions_of_cost = 8;

Error invalid_filter(const std::string& why) {
  return fail(Errc::invalid_input, "Invalid filter pattern: " + why);
}

/// What CloudWatch takes in an expression; and blanks, which it lists nowhere.
Result<void> check_characters(std::string_view expression) {
  constexpr std::string_view taken = "^$?[]{}|\\*+.:_#=@/;,- ";
  constexpr std::string_view classes = "dDsSwWx";
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (!is_letter_or_digit(c) && taken.find(c) == std::string_view::npos)
      return invalid_filter(
          "a regular expression can contain only letters, digits, spaces and "
          ":_#=@/;,-^$?[]{}|\\*+.");
    if (c != '\\') continue;
    const char escaped = ++i < expression.size() ? expression[i] : 'Q';
    const bool is_plain = escaped > ' ' && escaped < '\x7f' && !is_letter_or_digit(escaped);
    if (!is_plain && classes.find(escaped) == std::string_view::npos)
      return invalid_filter(
          "in a regular expression, \\ must be followed by d, D, s, S, w, W, xHH or a symbol");
  }
  return {};
}

/// `text` begins and ends with '%', or does not end with it.
Result<std::shared_ptr<const re2::RE2>> expression_from(std::string_view text) {
  const std::size_t end = text.find('%', 1);
  if (end != text.size() - 1 || end < 2)
    return invalid_filter("a %regular expression% must be the whole pattern");
  const std::string_view inside = text.substr(1, end - 1);
  TRY(check_characters(inside));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(expression_memory_max);
  auto made =
      std::make_shared<const re2::RE2>(re2::StringPiece(inside.data(), inside.size()), options);
  if (!made->ok()) return invalid_filter("invalid regular expression: " + made->error());
  if (made->ProgramSize() > expression_instructions_max)
    return invalid_filter("the regular expression has too many repetitions");
  return made;
}

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
  return invalid_filter("missing closing quote");
}

}  // namespace

Result<LogFilter> LogFilter::from(std::string_view pattern) {
  LogFilter filter;
  const std::string trimmed = trim(pattern);
  std::string_view rest = trimmed;
  if (!rest.empty() && (rest.front() == '{' || rest.front() == '['))
    return invalid_filter(
        "expected words, quoted phrases or one %regular expression%; { } and [ ] patterns are not "
        "supported");
  if (!rest.empty() && rest.front() == '%') {
    filter.expression_ = TRY(expression_from(rest));
    return filter;
  }
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

std::size_t LogFilter::cost() const {
  if (!expression_) return 1;
  return 1 + static_cast<std::size_t>(expression_->ProgramSize()) / instructions_of_cost;
}

bool LogFilter::matches(std::string_view message) const {
  if (expression_)
    return re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), *expression_);
  const auto is_in = [&](const std::string& word) {
    return message.find(word) != std::string_view::npos;
  };
  return std::all_of(all_.begin(), all_.end(), is_in) &&
         (any_.empty() || std::any_of(any_.begin(), any_.end(), is_in)) &&
         std::none_of(none_.begin(), none_.end(), is_in);
}

}  // namespace muster::cloudwatch
