#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster::api {

/// What becomes of each member that the service models know of a request: the table that
/// docs/users/operations.md is written from, and that names what is taken without effect. Pure.

enum class Treatment : std::uint8_t {
  heeded,          ///< Decides what is done or answered.
  echoed,          ///< Stored, and returned by the describing calls; no other effect.
  without_effect,  ///< Taken, changes nothing.
  refused,         ///< A request that has it is refused.
};

/// Members of an operation's input that fare alike.
struct FieldRow {
  /// Paths separated by spaces: "StartTime Metric.Name". Elements of lists have no step in a path.
  /// A path covers everything below it that has no longer path in the table.
  std::string_view paths;
  Treatment treatment;
  /// What holds instead, or which values are heeded, for users to read; may be empty.
  std::string_view what = {};
};

/// In the order of the model. A row without effect has one path or several.
std::span<const FieldRow> create_training_job_rows();
/// The rows of any operation; none if it takes nothing or is not served.
std::vector<FieldRow> field_rows(std::string_view operation);

}  // namespace muster::api
