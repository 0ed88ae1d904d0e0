#pragma once

#include "base/command.h"

namespace muster::toolkit {

/// The entry point of a training container. Exit status: 0 success, 1 failure, 128 + N stopped by
/// signal N, 2 wrong usage.
int train_main(const Args& args, const Env& env);

}  // namespace muster::toolkit
