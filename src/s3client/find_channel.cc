#include <algorithm>

#include "s3client/fetch_folder.h"
#include "s3client/s3_call.h"

namespace muster::s3client {
namespace {

struct Found {
  std::vector<S3Object> objects;
  std::size_t cut = 0;
};

loop::Task<Result<Found>> find_prefix(std::shared_ptr<S3State> state, s3wire::S3Url url) {
  s3wire::S3Url start = url;
  if (!start.key.empty() && !start.key.ends_with('/')) start.key += '/';
  Result<std::vector<S3Object>> inside = co_await list_objects(state, start);
  if (!inside) co_return inside.error();
  if (!inside->empty()) co_return Found{*std::move(inside), start.key.size()};
  if (start.key == url.key) co_return Found{};
  Result<std::vector<S3Object>> near = co_await list_objects(state, url);
  if (!near) co_return near.error();
  Found found{*std::move(near), folder_bytes(url.key)};
  if (!found.objects.empty() && found.objects.front().key == url.key)
    found.objects.resize(1, found.objects.front());
  co_return found;
}

loop::Task<Result<Manifest>> read_manifest(std::shared_ptr<S3State> state, s3wire::S3Url url,
                                           std::string etag) {
  S3Request request{.method = "GET", .url = url};
  if (!etag.empty()) request.headers.emplace_back("If-Match", '"' + etag + '"');
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  Result<Manifest> manifest = parse_manifest(answer->text);
  if (!manifest) co_return manifest.error().in(s3wire::text_of(url));
  co_return manifest;
}

}  // namespace

loop::Task<Result<ChannelPlan>> find_channel(std::shared_ptr<S3State> state, ChannelSource source) {
  ChannelPlan plan{source.url.bucket, {}};
  Found found;
  if (source.manifest) {
    Result<Manifest> manifest = co_await read_manifest(state, source.url, source.etag);
    if (!manifest) co_return manifest.error();
    plan.bucket = manifest->prefix.bucket;
    found.cut = manifest->prefix.key.size();
    for (const std::string& name : manifest->names)
      found.objects.push_back({manifest->prefix.key + name, 0});
    std::sort(found.objects.begin(), found.objects.end(),
              [](const S3Object& a, const S3Object& b) { return a.key < b.key; });
  } else {
    Result<Found> by_prefix = co_await find_prefix(state, source.url);
    if (!by_prefix) co_return by_prefix.error();
    found = *std::move(by_prefix);
  }
  if (found.objects.empty())
    co_return fail(Errc::not_found,
                   s3wire::text_of(source.url) +
                       (source.manifest ? ": the manifest lists no object"
                                        : ": no object's key begins with this prefix"));
  Result<std::vector<FetchItem>> items = plan_fetch(found.objects, found.cut, source.rules);
  if (!items) co_return items.error().in(s3wire::text_of(source.url));
  plan.items = *std::move(items);
  co_return plan;
}

}  // namespace muster::s3client
