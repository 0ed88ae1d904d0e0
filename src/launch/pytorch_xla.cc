#include "launch/inputs.h"

namespace muster::launch {

Result<HostPlan> plan_pytorch_xla(const Inputs& inputs, const Options&) {
  return fail(Errc::invalid_input, inputs.host + ": pytorch_xla: not written yet");
}

}  // namespace muster::launch
