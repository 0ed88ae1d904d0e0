#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::logs {

/// FilterLogEvents' filterPattern, its part for texts without a form: words that must all be in the
/// line, "?word" of which one must, "-word" that must not, "words in quotes" as they are. Case
/// counts. Pure. Source: CloudWatch Logs, "Filter pattern syntax", unstructured log events.
class LogFilter {
 public:
  /// Error: `invalid_input` for patterns on JSON ({...}), on columns ([...]) and on expressions
  /// (%...%), which are not served, and for a quote that does not end.
  static Result<LogFilter> from(std::string_view pattern);
  bool matches(std::string_view message) const;

 private:
  std::vector<std::string> all_;
  std::vector<std::string> any_;
  std::vector<std::string> none_;
};

}  // namespace muster::logs
