#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace muster::cloudwatch {

/// FilterLogEvents' filterPattern, its part for texts without a form: words that must all be in the
/// line, "?word" of which one must, "-word" that must not, "words in quotes" as they are; or one
/// regular expression, "%loss=[0-9]+%". Case counts. Pure. Source: CloudWatch Logs, "Filter pattern
/// syntax", unstructured log events, and "Supported regular expressions (regex) syntax".
class LogFilter {
 public:
  /// Error: `invalid_input` for patterns on JSON ({...}) and on columns ([...]), which are not
  /// served, for a quote that does not end, and for an expression that is not one, has what
  /// CloudWatch does not take, or would take too long.
  static Result<LogFilter> from(std::string_view pattern);
  bool matches(std::string_view message) const;
  /// What a byte of a message costs, by that of a pattern of words; at least 1.
  std::size_t cost() const;

 private:
  std::vector<std::string> all_;
  std::vector<std::string> any_;
  std::vector<std::string> none_;
  std::shared_ptr<const re2::RE2> expression_;  ///< Null: words.
};

}  // namespace muster::cloudwatch
