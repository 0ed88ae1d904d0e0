#pragma once

#include "base/result.h"
#include "job/wire/timeline.h"
#include "net/loop/loop.h"
#include "platform/places/job_record.h"

namespace muster::cli {

/// What the hosts of a job of this machine did, as their journals tell by now.
loop::Task<Result<job::JobTimeline>> own_timeline(loop::Loop& loop, places::FoundJob job);

}  // namespace muster::cli
