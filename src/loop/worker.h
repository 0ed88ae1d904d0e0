#pragma once

#include <functional>

#include "loop/loop.h"

namespace muster::loop {

/// Runs `work`, which may block, on a separate thread while the loop continues. `work` gets its
/// data by value and touches nothing of the loop. Destroying the task waits for the thread.
Task<Result<void>> in_thread(Loop& loop, std::function<Result<void>()> work);

}  // namespace muster::loop
