#pragma once

#include "job/launch/plan_inputs.h"
#include "job/training/training.h"

namespace muster::launch {

/// A host's share from the job's facts, by the two steps that the operators take.
inline Result<HostPlan> plan(const job::Training& training, const Options& options) {
  const Inputs inputs = TRY(inputs_from(training, options.runner));
  return plan(inputs, options);
}

}  // namespace muster::launch
