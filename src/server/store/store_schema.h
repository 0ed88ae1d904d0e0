#pragma once

#include "base/result.h"

namespace muster::store {

class Database;

/// Brings the tables to this muster's version, step by step, each step whole or not at all.
/// Error: `invalid_input` when a newer muster has been here; `system`.
Result<void> migrate(Database& database);

}  // namespace muster::store
