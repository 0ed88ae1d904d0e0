#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace muster::store {

/// Longer values are cut to this, and end in "…".
constexpr std::size_t run_value_bytes_max = 256;

/// By which values of the runs table are compared. Whole numbers below 2^53 are integers.
using RunKey = std::variant<std::int64_t, double, std::string>;

/// The value of a hyperparameter or a tag in the runs table.
struct RunValue {
  RunKey key;
  std::string text;  ///< As a person reads it.

  bool is_number() const { return !std::holds_alternative<std::string>(key); }
  bool operator==(const RunValue&) const = default;
};

/// A JSON string counts without its quotes; a decimal number is one. Pure. Source:
/// docs/protocols/runs.md, "Columns".
RunValue run_value(std::string_view written);
RunKey run_key(double number);

}  // namespace muster::store
