#pragma once

#include <functional>

#include "loop/loop.h"

namespace muster::loop {

/// Runs `work`, which may block, in a thread of its own while the loop goes on. It gets what it
/// needs by value and touches nothing of the loop. Destroying the task waits for the thread.
Task<Result<void>> in_thread(Loop& loop, std::function<Result<void>()> work);

}  // namespace muster::loop
