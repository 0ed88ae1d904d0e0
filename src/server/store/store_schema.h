#pragma once

#include "base/result.h"
#include "server/store/store.h"

namespace muster::store {

class Database;

/// Brings the tables to this muster's version, step by step, each step whole or not at all; one
/// step adds many jobs, and continues where it was interrupted. Error: `invalid_input` when a newer
/// muster has been here; `system`.
Result<void> migrate(Database& database, const FillProgress& progress);

}  // namespace muster::store
