#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aws/s3client/s3_channel.h"
#include "aws/s3client/s3_client.h"
#include "net/loop/wait.h"

namespace muster::s3client {

/// How a caller ends a fetch that it no longer wants: it sets `wanted`, and may drop the task once
/// `threads` is 0.
struct FetchStop {
  explicit FetchStop(loop::Loop& loop) : changed(loop) {}
  bool wanted = false;
  int threads = 0;      ///< How many work for the fetch at this moment.
  loop::Event changed;  ///< Signalled when `threads` changes.
};

struct FetchOptions {
  FetchStop* stop = nullptr;  ///< May be absent; else outlives the fetch.
  int connections = 8;
  std::uint64_t range_bytes = 16u << 20;  ///< Larger objects come in ranges of this size.
};

struct Fetched {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  ///< As they came.
};

/// Fetches objects of a bucket into `folder` over several connections. Large objects come in
/// ranges, all of one version (If-Match), into files whose space is reserved first. The first
/// failure ends everything; what is in the folder by then is of no use. Errors: those of
/// ObjectStore::download(), naming the object; `invalid_input`: something has its name in the
/// folder; `system` for the disk.
loop::Task<Result<Fetched>> fetch_folder(std::shared_ptr<S3State> state, std::string bucket,
                                         std::vector<FetchItem> items, std::string folder,
                                         FetchOptions options);

/// What an S3 channel is made of, as CreateTrainingJob names it.
struct ChannelSource {
  s3wire::S3Url url;
  bool manifest = false;
  std::string etag{};  ///< The manifest must have it; empty: any.
  FetchRules rules{};
  bool may_be_empty = false;  ///< An empty prefix is not an error.
};
/// Fetches the objects of a channel into `folder`, which it makes: a folder of that name first
/// ("input/code" does not take "input/code2/…"), else the object of that name, else all keys that
/// begin so. Takes a page of the server's list at a time, so that memory does not grow with their
/// number. Errors: `not_found`: there is nothing under it; those of plan_fetch(), fetch_folder()
/// and of requests; `invalid_input` beyond listed_max objects.
loop::Task<Result<Fetched>> fetch_channel(std::shared_ptr<S3State> state, ChannelSource source,
                                          std::string folder, FetchOptions options);

}  // namespace muster::s3client
