// Manifests: what an image is made of, under its digest and its tags.

#include <algorithm>

#include "base/text.h"
#include "server/registry/registry_call.h"

namespace muster::registry {
namespace {

using loop::Task;

aws::Refusal invalid(const std::string& why) {
  return {"MANIFEST_INVALID", why};
}

aws::Refusal unknown_blob(const std::string& digest) {
  return {"MANIFEST_BLOB_UNKNOWN", "the repository has no blob " + digest + ": push it first", 404};
}

/// A manifest that came, as far as it can be judged by itself.
struct Came {
  std::string bytes;
  std::string digest;
  std::string media_type;
  std::variant<image::Manifest, image::Index> read;
};

Result<Came, aws::Refusal> judged(std::string bytes, std::string_view content_type,
                                  const std::string& wanted_digest) {
  Came came;
  came.media_type = trim(content_type.substr(0, content_type.find(';')));
  const std::vector<std::string>& known = image::manifest_media_types;
  if (std::find(known.begin(), known.end(), came.media_type) == known.end())
    return invalid("Content-Type: expected an OCI or Docker schema 2 manifest or index");
  came.digest = image::digest_of(bytes);
  if (!wanted_digest.empty() && wanted_digest != came.digest)
    return aws::Refusal{"DIGEST_INVALID", "the manifest's digest is " + came.digest};
  Result<std::variant<image::Manifest, image::Index>> read = image::manifest_from(bytes);
  if (!read) return invalid(read.error().text);
  came.read = *std::move(read);
  if (image::is_index_type(came.media_type) != std::holds_alternative<image::Index>(came.read))
    return invalid("Content-Type does not match the manifest");
  came.bytes = std::move(bytes);
  return came;
}

/// Whatever a manifest names is in its own repository: a digest alone opens no other's blob.
Answered check_named(const image::Store& store, const image::Repository& repository,
                     const Came& came) {
  if (const auto* index = std::get_if<image::Index>(&came.read)) {
    for (const image::Index::Entry& entry : index->entries)
      if (!repository.manifests.contains(entry.manifest.digest))
        return aws::Refusal{
            "MANIFEST_BLOB_UNKNOWN",
            "the repository has no manifest " + entry.manifest.digest + ": push it first", 404};
    return {};
  }
  const image::Manifest& manifest = std::get<image::Manifest>(came.read);
  std::vector<image::Descriptor> named = manifest.layers;
  named.push_back(manifest.config);
  for (const image::Descriptor& one : named) {
    if (!repository.blobs.contains(one.digest)) return unknown_blob(one.digest);
    const Result<std::optional<image::Store::OpenBlob>> blob = store.open_blob(one.digest);
    if (!blob) return storage_failure(blob.error());
    if (!*blob) return unknown_blob(one.digest);
    if ((*blob)->bytes != one.bytes)
      return invalid(one.digest + " has " + std::to_string((*blob)->bytes) +
                     " bytes, but the manifest specifies " + std::to_string(one.bytes));
  }
  return {};
}

Answered keep(image::Store& store, image::Repository& repository, const Came& came,
              const std::string& tag, UnixMillis now, std::size_t entries_max) {
  const auto tagged = repository.tags.find(tag);
  const bool moves = tagged != repository.tags.end() && tagged->second != came.digest;
  if (repository.fixed_tags && moves)
    return aws::Refusal{"TAG_INVALID", "The image tag '" + tag + "' already exists in the '" +
                                           repository.name +
                                           "' repository and cannot be overwritten because the "
                                           "repository is immutable."};
  if (repository.manifests.size() >= entries_max || repository.tags.size() >= entries_max)
    return aws::Refusal{"DENIED", "the repository already has " + std::to_string(entries_max) +
                                      " images: delete some"};
  TRY(check_named(store, repository, came));
  const Result<void> put = store.put_blob(came.digest, came.bytes);
  if (!put) return storage_failure(put.error());
  repository.manifests[came.digest] = {came.media_type, came.bytes.size(), now};
  if (!tag.empty()) repository.tags[tag] = came.digest;
  return {};
}

}  // namespace

Task<Answered> give_manifest(RegistryCall& call) {
  const Result<image::Repository, aws::Refusal> repository = existing_repository(call);
  if (!repository) co_return repository.error();
  std::string digest = call.route.digest;
  if (digest.empty()) {
    const auto tag = repository->tags.find(call.route.tag);
    if (tag != repository->tags.end()) digest = tag->second;
  }
  const auto pushed = repository->manifests.find(digest);
  if (pushed == repository->manifests.end())
    co_return aws::Refusal{"MANIFEST_UNKNOWN", "image not found", 404};
  Result<std::string> bytes = call.store->read_blob(digest);
  if (!bytes) co_return storage_failure(bytes.error());
  http::Reply reply = fresh_reply(200);
  reply.headers.emplace_back("Content-Type", pushed->second.media_type);
  reply.headers.emplace_back("Docker-Content-Digest", digest);
  reply.body = *std::move(bytes);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> put_manifest(RegistryCall& call) {
  Result<std::string> bytes = co_await http::read_whole(call.exchange, image::document_bytes_max);
  if (!bytes && bytes.error().code == Errc::invalid_input)
    co_return aws::Refusal{"MANIFEST_INVALID", "a manifest can be at most 4 MiB", 413};
  if (!bytes) co_return invalid("the manifest was not received completely: " + bytes.error().text);
  const std::string_view type = call.exchange.request().value("content-type").value_or("");
  Result<Came, aws::Refusal> judgement = judged(*std::move(bytes), type, call.route.digest);
  if (!judgement) co_return judgement.error();
  const auto came = std::make_shared<const Came>(*std::move(judgement));
  const StoreWork work = [came, name = call.route.repository, tag = call.route.tag,
                          now = call.options.now(),
                          limit = call.options.entries_max](image::Store& store) {
    return edit_repository(store, name, now, [&](image::Repository& repository) {
      return keep(store, repository, *came, tag, now, limit);
    });
  };
  const Answered kept = co_await with_store(call, work);
  if (!kept) co_return kept.error();
  http::Reply reply = fresh_reply(201);
  reply.headers.emplace_back("Location",
                             "/v2/" + call.route.repository + "/manifests/" + came->digest);
  reply.headers.emplace_back("Docker-Content-Digest", came->digest);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_manifest(RegistryCall& call) {
  const Result<image::Repository, aws::Refusal> there = existing_repository(call);
  if (!there) co_return there.error();
  const StoreWork work = [route = call.route, now = call.options.now()](image::Store& store) {
    return edit_repository(
        store, route.repository, now, [&](image::Repository& repository) -> Answered {
          const bool is_tag = route.digest.empty();
          const bool gone = is_tag ? repository.tags.erase(route.tag) > 0
                                   : repository.manifests.erase(route.digest) > 0;
          if (!gone) return aws::Refusal{"MANIFEST_UNKNOWN", "image not found", 404};
          if (!is_tag)
            std::erase_if(repository.tags,
                          [&](const auto& one) { return one.second == route.digest; });
          return {};
        });
  };
  const Answered done = co_await with_store(call, work);
  if (!done) co_return done.error();
  http::Reply reply = fresh_reply(202);
  co_return co_await send(call, std::move(reply));
}

}  // namespace muster::registry
