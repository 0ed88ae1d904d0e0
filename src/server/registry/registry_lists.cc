// Lists of repositories and of tags, page by page.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "server/registry/registry_call.h"

namespace muster::registry {
namespace {

using loop::Task;

struct Page {
  std::vector<std::string> names;
  bool more = false;
};

/// `all` is sorted.
Page page_of(const std::vector<std::string>& all, const Route& route) {
  const auto begin = std::upper_bound(all.begin(), all.end(), route.last);
  const auto left = static_cast<std::size_t>(all.end() - begin);
  const std::size_t count = std::min(left, route.page.value_or(left));
  return {{begin, begin + static_cast<std::ptrdiff_t>(count)}, count < left && count > 0};
}

Task<Answered> send_page(RegistryCall& call, Json json, std::string path, Page page) {
  http::Reply reply = fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/json");
  if (page.more)
    reply.headers.emplace_back("Link", "<" + path + "?n=" + std::to_string(page.names.size()) +
                                           "&last=" + page.names.back() + ">; rel=\"next\"");
  reply.body = muster::to_text(json);
  co_return co_await send(call, std::move(reply));
}

}  // namespace

Task<Answered> list_repositories(RegistryCall& call) {
  const Result<std::vector<std::string>> names = call.store->repositories().names();
  if (!names) co_return storage_failure(names.error());
  Page page = page_of(*names, call.route);
  Json json{{"repositories", page.names}};
  co_return co_await send_page(call, std::move(json), "/v2/_catalog", std::move(page));
}

Task<Answered> list_tags(RegistryCall& call) {
  const Result<image::Repository, aws::Refusal> repository = existing_repository(call);
  if (!repository) co_return repository.error();
  std::vector<std::string> tags;
  for (const auto& [tag, digest] : repository->tags) tags.push_back(tag);
  Page page = page_of(tags, call.route);
  Json json{{"name", repository->name}, {"tags", page.names}};
  std::string path = "/v2/" + repository->name + "/tags/list";
  co_return co_await send_page(call, std::move(json), std::move(path), std::move(page));
}

}  // namespace muster::registry
