#include "server/operations/ecr.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "aws/api/inputs.h"
#include "base/base64.h"
#include "base/text.h"
#include "image/reference.h"
#include "net/loop/worker.h"
#include "server/registry/login.h"

namespace muster::server {
namespace {

using image::Repository;
using Refusal = aws::Refusal;

constexpr std::size_t page_default = 100;

struct Ask {
  image::Store& store;
  LastListing& last;
  const Json& input;
  const api::Realm& realm;
  std::string host;
  UnixMillis now{};

  std::string name() const { return api::text_of(input, "repositoryName"); }
};

Refusal about(const Ask& ask, const char* code, const std::string& name, const char* what) {
  return {code, "The repository with name '" + name + "' " + what + " in the registry with id '" +
                    ask.realm.account + "'"};
}

Refusal no_repository(const Ask& ask, const std::string& name) {
  return about(ask, "RepositoryNotFoundException", name, "does not exist");
}

Refusal bad_parameter(const std::string& text) {
  return {"InvalidParameterException", "Invalid parameter at " + text};
}

std::string repository_arn(const Ask& ask, const std::string& name) {
  return "arn:aws:ecr:" + ask.realm.region + ":" + ask.realm.account + ":repository/" + name;
}

Json repository_json(const Ask& ask, const Repository& repository) {
  return {{"repositoryArn", repository_arn(ask, repository.name)},
          {"registryId", ask.realm.account},
          {"repositoryName", repository.name},
          {"repositoryUri", ask.host + "/" + repository.name},
          {"createdAt", api::seconds(repository.created)},
          {"imageTagMutability", repository.fixed_tags ? "IMMUTABLE" : "MUTABLE"}};
}

Result<Repository, Refusal> existing(const Ask& ask, const std::string& name) {
  if (!image::is_repository_name(name)) return no_repository(ask, name);
  Result<std::optional<Repository>> found = ask.store.repositories().find(name);
  if (!found) return api::internal_failure(found.error());
  if (!*found) return no_repository(ask, name);
  return **std::move(found);
}

api::Answer create(const Ask& ask) {
  const std::string name = ask.name();
  if (!image::is_repository_name(name))
    return bad_parameter("'repositoryName': expected a name of 2 to " +
                         std::to_string(image::repository_name_bytes_max) + " characters");
  const std::string tags = api::text_of(ask.input, "imageTagMutability");
  if (!tags.empty() && tags != "MUTABLE" && tags != "IMMUTABLE")
    return bad_parameter("'imageTagMutability': expected MUTABLE or IMMUTABLE");
  const Repository made{.name = name, .created = ask.now, .fixed_tags = tags == "IMMUTABLE"};
  bool was_there = false;
  const Result<void> done = ask.store.repositories().change(
      name, [&](std::optional<Repository>& repository) -> Result<void> {
        was_there = repository.has_value();
        if (!was_there) repository = made;
        return {};
      });
  if (!done) return api::internal_failure(done.error());
  if (was_there) return about(ask, "RepositoryAlreadyExistsException", name, "already exists");
  return Json{{"repository", repository_json(ask, made)}};
}

api::Answer remove(const Ask& ask) {
  const std::string name = ask.name();
  const Repository there = TRY(existing(ask, name));
  const bool force = api::flag_of(ask.input, "force");
  bool is_full = false;
  const Result<void> done = ask.store.repositories().change(
      name, [&](std::optional<Repository>& repository) -> Result<void> {
        is_full = !force && repository && !repository->manifests.empty();
        if (!is_full) repository.reset();
        return {};
      });
  if (!done) return api::internal_failure(done.error());
  if (is_full)
    return about(ask, "RepositoryNotEmptyException", name,
                 "cannot be deleted because it still contains images");
  return Json{{"repository", repository_json(ask, there)}};
}

Result<std::shared_ptr<const Listing>, Refusal> listed(const Ask& ask) {
  const std::string name = ask.name();
  if (!image::is_repository_name(name)) return no_repository(ask, name);
  Result<std::shared_ptr<const Listing>> found = ask.last.find(ask.store.repositories(), name);
  if (!found) return api::internal_failure(found.error());
  if (!*found) return no_repository(ask, name);
  return *std::move(found);
}

/// The part of `all` that a request asks for, and the token for the next; `all` is sorted.
struct Page {
  std::vector<std::string> names;
  std::string next;
};
Result<Page, Refusal> page_of(const Ask& ask, const std::vector<std::string>& all) {
  const std::string token = api::text_of(ask.input, "nextToken");
  const std::optional<Json> place = token.empty() ? std::nullopt : api::place_of(token);
  if (!token.empty() && (!place || !place->is_string()))
    return bad_parameter("'nextToken': it is not from this server");
  const auto begin =
      place ? std::upper_bound(all.begin(), all.end(), place->get<std::string>()) : all.begin();
  const auto left = static_cast<std::size_t>(all.end() - begin);
  const std::int64_t asked = api::integer_of(ask.input, "maxResults").value_or(page_default);
  const std::size_t count =
      std::min(left, static_cast<std::size_t>(std::max<std::int64_t>(1, asked)));
  Page page{{begin, begin + static_cast<std::ptrdiff_t>(count)}, ""};
  if (count < left) page.next = api::page_token(Json(page.names.back()));
  return page;
}

api::Answer describe(const Ask& ask) {
  Page page{api::texts_of(ask.input, "repositoryNames"), ""};
  if (page.names.empty()) {
    const Result<std::vector<std::string>> all = ask.store.repositories().names();
    if (!all) return api::internal_failure(all.error());
    page = TRY(page_of(ask, *all));
  }
  Json repositories = Json::array();
  for (const std::string& name : page.names) {
    const Repository repository = TRY(existing(ask, name));
    repositories.push_back(repository_json(ask, repository));
  }
  Json answer{{"repositories", std::move(repositories)}};
  if (!page.next.empty()) answer["nextToken"] = page.next;
  return answer;
}

/// What an image takes: its configuration and layers as they were pushed; an index has none.
std::uint64_t bytes_of(const image::Store& store, const std::string& digest) {
  const Result<std::string> bytes = store.read_blob(digest);
  if (!bytes) return 0;
  const Result<std::variant<image::Manifest, image::Index>> read = image::manifest_from(*bytes);
  const image::Manifest* manifest = read ? std::get_if<image::Manifest>(&*read) : nullptr;
  if (manifest == nullptr) return 0;
  std::uint64_t sum = manifest->config.bytes;
  for (const image::Descriptor& layer : manifest->layers) sum += layer.bytes;
  return sum;
}

/// The digest that an element of imageIds means; empty if there is no such image.
std::string digest_of_id(const Repository& repository, const Json& id) {
  const std::string tag = api::text_of(id, "imageTag");
  std::string digest = api::text_of(id, "imageDigest");
  if (!tag.empty()) {
    const auto tagged = repository.tags.find(tag);
    if (tagged == repository.tags.end()) return "";
    if (!digest.empty() && digest != tagged->second) return "";
    digest = tagged->second;
  }
  return repository.manifests.contains(digest) ? digest : "";
}

/// By the filter's tagStatus.
bool is_wanted(const std::string& status, bool is_tagged) {
  return status.empty() || status == "ANY" || (status == "TAGGED") == is_tagged;
}

std::string tag_status(const Ask& ask) {
  return api::text_of(api::inside(ask.input, {"filter"}), "tagStatus");
}

api::Answer describe_images(const Ask& ask) {
  const std::shared_ptr<const Listing> listing = TRY(listed(ask));
  const Repository& repository = listing->repository;
  const auto& tags = listing->tags;
  Page page;
  for (const Json& id : api::elements(ask.input, "imageIds")) {
    page.names.push_back(digest_of_id(repository, id));
    if (page.names.back().empty())
      return Refusal{"ImageNotFoundException",
                     "The image with imageId " + to_text(id) +
                         " does not exist within the repository with name '" + repository.name +
                         "' in the registry with id '" + ask.realm.account + "'"};
  }
  if (page.names.empty()) {
    std::vector<std::string> all;
    const std::string status = tag_status(ask);
    for (const auto& [digest, pushed] : repository.manifests)
      if (is_wanted(status, tags.contains(digest))) all.push_back(digest);
    page = TRY(page_of(ask, all));
  }
  Json details = Json::array();
  for (const std::string& digest : page.names) {
    const Repository::Pushed& pushed = repository.manifests.at(digest);
    Json detail{{"registryId", ask.realm.account},
                {"repositoryName", repository.name},
                {"imageDigest", digest},
                {"imagePushedAt", api::seconds(pushed.at)},
                {"imageSizeInBytes", bytes_of(ask.store, digest)},
                {"imageManifestMediaType", pushed.media_type}};
    if (const auto own = tags.find(digest); own != tags.end()) detail["imageTags"] = own->second;
    details.push_back(std::move(detail));
  }
  Json answer{{"imageDetails", std::move(details)}};
  if (!page.next.empty()) answer["nextToken"] = page.next;
  return answer;
}

/// An image's id for each of its tags; one without a tag if there is none.
api::Answer list_images(const Ask& ask) {
  const std::shared_ptr<const Listing> listing = TRY(listed(ask));
  const std::string status = tag_status(ask);
  std::vector<std::string> wanted;
  if (!is_wanted(status, true) || !is_wanted(status, false))
    for (const std::string& id : listing->ids)
      if (is_wanted(status, id.find(' ') != std::string::npos)) wanted.push_back(id);
  const bool is_all = is_wanted(status, true) && is_wanted(status, false);
  const Page page = TRY(page_of(ask, is_all ? listing->ids : wanted));
  Json answer{{"imageIds", Json::array()}};
  for (const std::string& place : page.names) {
    const std::size_t space = place.find(' ');
    Json id{{"imageDigest", place.substr(0, space)}};
    if (space != std::string::npos) id["imageTag"] = place.substr(space + 1);
    answer["imageIds"].push_back(std::move(id));
  }
  if (!page.next.empty()) answer["nextToken"] = page.next;
  return answer;
}

Json image_id(const std::string& digest, const std::string& tag) {
  Json id{{"imageDigest", digest}};
  if (!tag.empty()) id["imageTag"] = tag;
  return id;
}

api::Answer get_images(const Ask& ask) {
  const Repository repository = TRY(existing(ask, ask.name()));
  Json images = Json::array();
  Json failures = Json::array();
  for (const Json& id : api::elements(ask.input, "imageIds")) {
    const std::string digest = digest_of_id(repository, id);
    const Result<std::string> manifest =
        digest.empty() ? fail(Errc::not_found, "no such image") : ask.store.read_blob(digest);
    if (!manifest) {
      failures.push_back({{"imageId", id},
                          {"failureCode", "ImageNotFound"},
                          {"failureReason", "Requested image not found"}});
      continue;
    }
    Json found = image_id(digest, api::text_of(id, "imageTag"));
    images.push_back({{"registryId", ask.realm.account},
                      {"repositoryName", repository.name},
                      {"imageId", std::move(found)},
                      {"imageManifest", *manifest},
                      {"imageManifestMediaType", repository.manifests.at(digest).media_type}});
  }
  return Json{{"images", std::move(images)}, {"failures", std::move(failures)}};
}

/// The indexes of a repository by the manifests that they name. Each is read once.
using IndexesOf = std::map<std::string, std::vector<std::string>>;
IndexesOf indexes_in(const Ask& ask, const Repository& repository) {
  IndexesOf indexes;
  for (const auto& [digest, pushed] : repository.manifests)
    if (image::is_index_type(pushed.media_type))
      for (const std::string& named : ask.store.named_by(digest)) indexes[named].push_back(digest);
  return indexes;
}

/// The indexes that are still there, "sha256:…, …"; empty if no index names the manifest.
std::string indexes_with(const IndexesOf& indexes, const Repository& repository,
                         const std::string& digest) {
  const auto found = indexes.find(digest);
  if (found == indexes.end()) return "";
  std::vector<std::string> left;
  for (const std::string& index : found->second)
    if (repository.manifests.contains(index)) left.push_back(index);
  return join(left, ", ");
}

/// What an element of imageIds takes away comes to `gone`; else code and reason why it does not.
/// A tag takes its name from an image, the last one the image; a digest the image with its tags.
std::pair<std::string, std::string> delete_image(const IndexesOf& indexes_of,
                                                 Repository& repository, const Json& id,
                                                 Json& gone) {
  const std::string tag = api::text_of(id, "imageTag");
  const std::string wanted = api::text_of(id, "imageDigest");
  if (tag.empty() && wanted.empty())
    return {"MissingDigestAndTag",
            "Invalid request parameters: both tag and digest cannot be null"};
  const std::string digest = digest_of_id(repository, id);
  if (digest.empty()) {
    const auto tagged = repository.tags.find(tag);
    if (tagged != repository.tags.end() && repository.manifests.contains(wanted))
      return {"ImageTagDoesNotMatchDigest",
              "The tag does not belong to the image with that digest"};
    return {"ImageNotFound", "Requested image not found"};
  }
  std::vector<std::string> tags;
  for (const auto& [name, named] : repository.tags)
    if (named == digest) tags.push_back(name);
  const bool is_whole = tag.empty() || tags.size() == 1;
  const std::string indexes = is_whole ? indexes_with(indexes_of, repository, digest) : "";
  if (!indexes.empty() && tag.empty())
    return {"ImageReferencedByManifestList",
            "Requested image referenced by manifest list: [" + indexes + "]"};
  if (!tag.empty()) tags = {tag};
  for (const std::string& name : tags) {
    repository.tags.erase(name);
    gone.push_back(image_id(digest, name));
  }
  if (is_whole && indexes.empty()) repository.manifests.erase(digest);
  if (tags.empty()) gone.push_back(image_id(digest, ""));
  return {};
}

api::Answer delete_images(const Ask& ask) {
  TRY(existing(ask, ask.name()));
  Json gone = Json::array();
  Json failures = Json::array();
  const Result<void> done = ask.store.repositories().change(
      ask.name(), [&](std::optional<Repository>& repository) -> Result<void> {
        if (!repository) return {};
        const IndexesOf indexes = indexes_in(ask, *repository);
        for (const Json& id : api::elements(ask.input, "imageIds")) {
          const auto [code, reason] = delete_image(indexes, *repository, id, gone);
          if (!code.empty())
            failures.push_back({{"imageId", id}, {"failureCode", code}, {"failureReason", reason}});
        }
        return {};
      });
  if (!done) return api::internal_failure(done.error());
  return Json{{"imageIds", std::move(gone)}, {"failures", std::move(failures)}};
}

/// By the repository's ARN. Repositories have no tags here.
api::Answer list_tags(const Ask& ask) {
  const std::string arn = api::text_of(ask.input, "resourceArn");
  const std::string start = repository_arn(ask, "");
  if (!arn.starts_with(start)) return bad_parameter("'resourceArn': expected " + start + "NAME");
  TRY(existing(ask, arn.substr(start.size())));
  return Json{{"tags", Json::array()}};
}

api::Answer lifecycle_policy(const Ask& ask) {
  TRY(existing(ask, ask.name()));
  return Refusal{"LifecyclePolicyNotFoundException",
                 "Lifecycle policy does not exist for the repository with name '" + ask.name() +
                     "' in the registry with id '" + ask.realm.account + "'"};
}

api::Answer authorize(const access::AccessKey& key, const std::string& url, UnixMillis now) {
  const UnixMillis end = registry::token_end(key, now);
  return Json{{"authorizationData",
               Json::array({{{"authorizationToken", base64("AWS:" + registry::token_for(key, end))},
                             {"expiresAt", api::seconds(end)},
                             {"proxyEndpoint", url}}})}};
}

}  // namespace

bool is_host(std::string_view host) {
  const Result<image::Reference> read =
      image::reference_from("docker://" + std::string(host) + "/name/name");
  return read && read->registry == host;
}

Result<std::shared_ptr<const Listing>> LastListing::find(const image::Repositories& repositories,
                                                         const std::string& name) {
  const std::string version = TRY(repositories.version(name));
  {
    const std::lock_guard lock(mutex_);
    if (listing_ && name == name_ && version == version_) return listing_;
  }
  std::optional<Repository> repository = TRY(repositories.find(name));
  if (!repository) return std::shared_ptr<const Listing>();
  const auto listing = std::make_shared<Listing>(Listing{*std::move(repository)});
  const Repository& of = listing->repository;
  for (const auto& [tag, digest] : of.tags) {
    listing->tags[digest].push_back(tag);
    listing->ids.push_back(digest + " " + tag);
  }
  for (const auto& [digest, pushed] : of.manifests)
    if (!listing->tags.contains(digest)) listing->ids.push_back(digest);
  std::sort(listing->ids.begin(), listing->ids.end());
  const std::lock_guard lock(mutex_);
  name_ = name;
  version_ = version;
  listing_ = listing;
  return listing_;
}

api::Answer answer_ecr(image::Store& store, LastListing& last, const api::Request& request,
                       const api::Realm& realm, const std::string& host, UnixMillis now) {
  using Handler = api::Answer (*)(const Ask& ask);
  static const std::map<std::string, Handler> handlers = {{"BatchDeleteImage", delete_images},
                                                          {"BatchGetImage", get_images},
                                                          {"CreateRepository", create},
                                                          {"DeleteRepository", remove},
                                                          {"DescribeImages", describe_images},
                                                          {"DescribeRepositories", describe},
                                                          {"GetLifecyclePolicy", lifecycle_policy},
                                                          {"ListImages", list_images},
                                                          {"ListTagsForResource", list_tags}};
  const auto handler = handlers.find(request.operation);
  if (handler == handlers.end())
    return Refusal{"UnknownOperationException", "muster does not support ecr:" + request.operation};
  const std::string registry = api::text_of(request.input, "registryId");
  if (!registry.empty() && registry != realm.account)
    return bad_parameter("'registryId': the registry of this server is " + realm.account);
  return handler->second(Ask{store, last, request.input, realm, host, now});
}

loop::Task<api::Answer> Ecr::operate(api::Request request) {
  const bool usable = is_host(request.host);
  const std::size_t name = options_.url.find("//") + 2;
  const std::string host = usable ? request.host : options_.url.substr(name);
  if (request.operation == "GetAuthorizationToken") {
    const std::shared_ptr<const access::AccessKey> key =
        keys_.find(request.signer.empty() ? request.access_key : request.signer);
    if (!key) co_return Refusal{"UnrecognizedClientException", "The key was deleted."};
    co_return authorize(*key, options_.url.substr(0, name) + host, options_.now());
  }
  const auto work = [&, registry = &registry_, last = last_, realm = options_.realm,
                     now = options_.now()]() -> api::Answer {
    const std::shared_ptr<image::Store> store =
        TRY(registry->store().transform_error(api::internal_failure));
    const Fd held = TRY(store->hold().transform_error(api::internal_failure));
    return answer_ecr(*store, *last, request, realm, host, now);
  };
  co_return co_await loop::in_thread(loop_, work);
}

}  // namespace muster::server
