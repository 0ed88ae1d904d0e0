#include "platform/crowded.h"

#include <cstdint>

#include "job/training/raw_hyperparameters.h"

namespace muster::platform {

void yield_if_crowded(job::Spec& spec, int processors) {
  const std::int64_t each = job::mpi_processes_per_host(spec.hyperparameters);
  if (spec.instance_count * each > processors)
    spec.environment.try_emplace("OMPI_MCA_mpi_yield_when_idle", "1");
}

}  // namespace muster::platform
