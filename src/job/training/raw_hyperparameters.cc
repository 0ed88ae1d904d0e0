#include "job/training/raw_hyperparameters.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "job/limits.h"
#include "job/training/python_json.h"

namespace muster::job {
namespace {

constexpr std::string_view mpi_enabled_name = "sagemaker_mpi_enabled";
constexpr std::string_view chainer_mpi_enabled_name = "sagemaker_use_mpi";

/// Python's None for a hyperparameter that is not set.
PyValue decoded(const RawHyperparameters& raw, std::string_view name) {
  const auto found = raw.find(std::string(name));
  if (found == raw.end()) return {};
  return python_loads(found->second).value_or(PyValue::of_text(found->second));
}

}  // namespace

bool is_true(const RawHyperparameters& raw, std::string_view name) {
  return decoded(raw, name).truthy();
}

bool asks_for_mpi(const RawHyperparameters& raw) {
  return is_true(raw, mpi_enabled_name) || is_true(raw, chainer_mpi_enabled_name);
}

int mpi_processes_per_host(const RawHyperparameters& raw) {
  if (!asks_for_mpi(raw)) return 0;
  const bool by_chainer = !is_true(raw, mpi_enabled_name);
  const PyValue asked = decoded(raw, by_chainer ? "sagemaker_process_slots_per_host"
                                                : "sagemaker_mpi_num_of_processes_per_host");
  const bool has_digits = asked.kind == PyValue::Kind::integer || asked.is_text();
  const std::optional<std::int64_t> number = has_digits ? parse_integer(asked.text) : std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(number.value_or(1), 1, processes_per_host_max));
}

}  // namespace muster::job
