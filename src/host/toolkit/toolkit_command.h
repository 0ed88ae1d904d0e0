#pragma once

#include "base/command.h"

namespace muster::toolkit {

/// `sm toolkit COMMAND`: the operations that the Python packages call.
int toolkit_main(const Args& args, const Env& env);

}  // namespace muster::toolkit
