#include "launch/inputs.h"

namespace muster::launch {

Result<HostPlan> plan_smdataparallel(const Inputs& inputs, const Options&) {
  return fail(Errc::invalid_input, inputs.host + ": smdataparallel: not written yet");
}

}  // namespace muster::launch
