#pragma once

#include <cstdint>

#include "base/log.h"
#include "net/loop/loop.h"
#include "server/bucket/bucket_store.h"
#include "server/front/server_main_config.h"
#include "server/store/store.h"

namespace muster::server {

// What keeps the server's S3 from filling its disk.

/// How much of the disk of the server's data no key's objects may take: what the config says, else
/// a twentieth of it, 2 GiB at most.
std::uint64_t free_min_of(const ServerConfig& config);

/// Aborts the uploads that jobs have left open which are over, or not in the store any more. All
/// outlive the task.
loop::Task<> sweep_uploads(loop::Loop& loop, bucket::BucketStore& buckets, store::Store& store,
                           const Log& log);

}  // namespace muster::server
