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

/// FilterLogEvents' filterPattern for unstructured log events. The line must contain all words, at
/// least one of the "?word"s and none of the "-word"s; "words in quotes" match literally. Or the
/// pattern is one regular expression, "%loss=[0-9]+%". Matching is case-sensitive. Pure. Source:
/// CloudWatch Logs, "Filter pattern syntax", unstructured log events, and "Supported regular
/// expressions (regex) syntax".
class LogFilter {
 public:
  /// Error: `invalid_input` for patterns on JSON ({...}) and on columns ([...]), which are
  /// unsupported; for an unterminated quote; and for a regular expression that is invalid, uses
  /// syntax that CloudWatch does not support, or would take too long.
  static Result<LogFilter> from(std::string_view pattern);
  bool matches(std::string_view message) const;
  /// The cost per byte of a message, relative to a pattern of words; at least 1.
  std::size_t cost() const;

 private:
  std::vector<std::string> all_;
  std::vector<std::string> any_;
  std::vector<std::string> none_;
  std::shared_ptr<const re2::RE2> expression_;  ///< Null for a pattern of words.
};

}  // namespace muster::cloudwatch
