#pragma once

#include "base/json.h"
#include "server/queue/queue.h"

namespace muster::server {

/// Maximum number of rows of either list on the web page; the counts include the others.
inline constexpr std::size_t machine_rows_max = 200;

/// The machine's resources, the jobs that hold them, and the waiting jobs, for the web page:
/// {"resources": [{"name", "held", "of", "note"}], "runs": [{"job", "key", "since", "needs"}],
/// "waits": [{"job", "why", "needs"}], "run_count", "wait_count", "elsewhere"}. Amounts as in
/// jobs::Amounts; a resource without "of" has no limit; few have a "note", as in jobs::Notes.
/// `elsewhere`: a cluster's scheduler decides. Pure.
Json machine_view(const jobs::Queue& queue, UnixMillis now, bool elsewhere);

}  // namespace muster::server
