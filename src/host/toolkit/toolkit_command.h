#pragma once

#include "base/command.h"

namespace muster::toolkit {

/// `sm toolkit COMMAND`: what the Python packages ask the binary to do.
int toolkit_main(const Args& args, const Env& env);

}  // namespace muster::toolkit
