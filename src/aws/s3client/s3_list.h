#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3client/s3_client.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::s3client {

struct S3Object {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag{};      ///< With its quotes; empty if it is not known.
  UnixMillis modified{0};  ///< 0 if it is not known.

  bool operator==(const S3Object&) const = default;
};

/// One answer to ListObjectsV2.
struct S3Page {
  std::vector<S3Object> objects;
  std::string next;  ///< Token for the next page; empty: this is the last.
};
/// Pure. Error: `protocol`.
Result<S3Page> parse_listing(std::string_view xml);

/// How many objects a channel may have.
inline constexpr std::size_t listed_max = 5'000'000;

/// Objects whose keys begin with `start.key`, 1000 at most: the first ones, or those that follow a
/// page, by its `next`. Errors: those of a request; `not_found` for the bucket only.
loop::Task<Result<S3Page>> list_page(std::shared_ptr<S3State> state, s3wire::S3Url start,
                                     std::string next);

}  // namespace muster::s3client
