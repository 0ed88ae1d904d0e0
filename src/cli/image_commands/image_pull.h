#pragma once

#include "base/command.h"

namespace muster::cli {

/// `sm image pull`; `args` are the words behind that.
int image_pull_main(const Args& args, const Env& env);

}  // namespace muster::cli
