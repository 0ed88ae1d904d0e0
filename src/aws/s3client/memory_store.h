#pragma once

// For tests: objects kept in memory.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "aws/s3client/object_store.h"
#include "base/fd.h"

namespace muster::s3client {

class MemoryStore final : public ObjectStore {
 public:
  std::map<std::string, std::string> objects;  ///< By URL.
  std::vector<std::string> uploads;            ///< URLs in order.
  std::optional<Error> failure;                ///< What every call fails with, while set.
  std::function<void()> on_call;               ///< Before each call.

  loop::Task<Result<void>> download(s3wire::S3Url from, std::string path) override {
    if (on_call) on_call();
    if (failure) co_return *failure;
    const auto at = objects.find(s3wire::text_of(from));
    if (at == objects.end())
      co_return fail(Errc::not_found, s3wire::text_of(from) + ": no such key");
    co_return write_file(path, at->second);
  }
  loop::Task<Result<void>> upload(std::string path, s3wire::S3Url to) override {
    if (on_call) on_call();
    if (failure) co_return failure->in(s3wire::text_of(to));
    Result<std::string> bytes = read_file(path);
    if (!bytes) co_return bytes.error();
    objects[s3wire::text_of(to)] = *std::move(bytes);
    uploads.push_back(s3wire::text_of(to));
    co_return Result<void>();
  }
};

}  // namespace muster::s3client
