#include "platform/crowded.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"

namespace muster::platform {
namespace {

/// A hyperparameter's value as JSON; null if it is not set or none.
Json value_of(const job::Spec& spec, const char* name) {
  const auto found = spec.hyperparameters.find(name);
  if (found == spec.hyperparameters.end()) return nullptr;
  const Result<Json> value = parse_json(found->second);
  return value ? *value : Json();
}

}  // namespace

void yield_if_crowded(job::Spec& spec, int processors) {
  const Json mpi = value_of(spec, "sagemaker_mpi_enabled");
  if (!mpi.is_boolean() || !mpi.get<bool>()) return;
  const Json each = value_of(spec, "sagemaker_mpi_num_of_processes_per_host");
  const std::int64_t ranks = each.is_number_integer() ? each.get<std::int64_t>() : 1;
  if (spec.instance_count * ranks > processors)
    spec.environment.try_emplace("OMPI_MCA_mpi_yield_when_idle", "1");
}

}  // namespace muster::platform
