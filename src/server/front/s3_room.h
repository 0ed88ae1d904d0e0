#pragma once

#include <cstdint>

#include "base/log.h"
#include "net/loop/loop.h"
#include "server/bucket/bucket_store.h"
#include "server/front/server_main_config.h"
#include "server/store/store.h"

namespace muster::server {

// Keeps the server's S3 from filling its disk.

/// What objects may not use of a disk of so many bytes unless the config says otherwise: 5 %, at
/// most 2 GiB. Pure.
std::uint64_t default_free_min(std::uint64_t disk_bytes);

/// The part of the data folder's disk that objects may not use: from the config, otherwise
/// default_free_min().
std::uint64_t free_min_of(const ServerConfig& config);

/// Aborts open uploads of jobs that have ended or are no longer in the store. All outlive the task.
loop::Task<> sweep_uploads(loop::Loop& loop, bucket::BucketStore& buckets, store::Store& store,
                           const Log& log);

}  // namespace muster::server
