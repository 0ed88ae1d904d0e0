#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/values.h"

namespace muster::cli {

/// A server's job that runs again, as CreateTrainingJob's input. Pure.

struct NextJob {
  std::string name;
  Hyperparameters hyperparameters{};  ///< What replaces and adds to the earlier job's.
  Pairs environment{};
  bool resume = false;  ///< From the earlier job's checkpoints, in their place.
};

/// The earlier job's request under a new name. `old` is DescribeTrainingJob's response, `tags` are
/// ListTags'. Error: `invalid_input`: there are no checkpoints to resume from.
Result<Json> request_again(const Json& old, const Json& tags, const NextJob& next);

/// What a request reads from S3.
struct NamedObjects {
  std::string what;  ///< "code", "input train".
  std::string url;
  bool many = false;  ///< All objects whose keys begin with the URL's, else this object.

  bool operator==(const NamedObjects&) const = default;
};
std::vector<NamedObjects> objects_of(const Json& request, bool resume);

}  // namespace muster::cli
