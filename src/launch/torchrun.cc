#include "launch/inputs.h"

namespace muster::launch {

Result<HostPlan> plan_torchrun(const Inputs& inputs, const Options&) {
  return fail(Errc::invalid_input, inputs.host + ": torchrun: not written yet");
}

}  // namespace muster::launch
