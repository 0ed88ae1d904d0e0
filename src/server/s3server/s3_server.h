#pragma once

#include <functional>
#include <memory>
#include <string>

#include "aws/access/verify.h"
#include "aws/s3wire/s3_host.h"
#include "net/http/server.h"
#include "server/bucket/bucket_store.h"
#include "server/s3server/key_budgets.h"

namespace muster::s3server {

/// S3 over a bucket store: authenticates requests, executes them and responds. Source:
/// docs/protocols/s3.md.
///
/// Any number of threads: each exchange stays on its own loop. Short disk I/O happens there; work
/// that may take long (large syncs, copies or hashes, a first listing) runs on a separate thread.
class S3Server {
 public:
  struct Options {
    std::string region = "us-east-1";  ///< All buckets are in it.
    s3wire::HostNames names{};         ///< The host names that requests may use.
    std::function<UnixMillis()> now;   ///< Wall clock; any thread.
    std::uint64_t free_min_bytes = 0;  ///< Disk space that objects must not use.
  };
  /// Both outlive the server and its exchanges.
  S3Server(bucket::BucketStore& store, access::Verifier& verifier, Options options)
      : store_(store), verifier_(verifier), options_(std::move(options)) {}

  /// Handles all requests that belong to no other service.
  loop::Task<void> answer(http::Exchange& exchange);

 private:
  bucket::BucketStore& store_;
  access::Verifier& verifier_;
  Options options_;
  KeyBudgets budgets_;
};

}  // namespace muster::s3server
