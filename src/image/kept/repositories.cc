#include "image/kept/repositories.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/json.h"
#include "image/reference.h"

namespace muster::image {
namespace {

constexpr std::string_view file_end = ".json";

std::int64_t number_of(UnixMillis time) {
  return time.count();
}

Json to_json(const Repository& repository) {
  Json manifests = Json::object();
  for (const auto& [digest, pushed] : repository.manifests)
    manifests[digest] = Json{
        {"type", pushed.media_type}, {"bytes", pushed.bytes}, {"pushed", number_of(pushed.at)}};
  Json blobs = Json::object();
  for (const auto& [digest, time] : repository.blobs) blobs[digest] = number_of(time);
  return Json{{"name", repository.name},
              {"created", number_of(repository.created)},
              {"fixed_tags", repository.fixed_tags},
              {"tags", Json(repository.tags)},
              {"manifests", std::move(manifests)},
              {"blobs", std::move(blobs)}};
}

/// What muster wrote; anything else throws or is passed over.
Repository from_json(const Json& json) {
  Repository repository;
  repository.name = json.at("name").get<std::string>();
  repository.created = UnixMillis(json.at("created").get<std::int64_t>());
  repository.fixed_tags = json.at("fixed_tags").get<bool>();
  for (const auto& [digest, pushed] : json.at("manifests").items()) {
    if (!is_digest(digest)) continue;
    repository.manifests[digest] = {pushed.at("type").get<std::string>(),
                                    pushed.at("bytes").get<std::uint64_t>(),
                                    UnixMillis(pushed.at("pushed").get<std::int64_t>())};
  }
  for (const auto& [tag, digest] : json.at("tags").items())
    if (is_tag_name(tag) && repository.manifests.contains(digest.get<std::string>()))
      repository.tags[tag] = digest.get<std::string>();
  for (const auto& [digest, time] : json.at("blobs").items())
    if (is_digest(digest)) repository.blobs[digest] = UnixMillis(time.get<std::int64_t>());
  return repository;
}

}  // namespace

bool is_repository_name(std::string_view name) {
  if (name.size() < 2 || name.size() > repository_name_bytes_max) return false;
  const Result<Reference> read =
      reference_from("docker://" + std::string("h.example/") + std::string(name) + ":t");
  return read && read->repository == name;
}

bool is_tag_name(std::string_view tag) {
  const Result<Reference> read = reference_from("docker://h.example/n:" + std::string(tag));
  return read && read->tag == tag && read->digest.empty();
}

bool is_index_type(std::string_view media_type) {
  return media_type == "application/vnd.oci.image.index.v1+json" ||
         media_type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

std::string Repositories::path_of(const std::string& name) const {
  CHECK_THAT(is_repository_name(name), "a repository's name is checked before it is a file's");
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '+');
  return folder_ + "/" + file + std::string(file_end);
}

Result<std::optional<Repository>> Repositories::find(const std::string& name) const {
  const std::string path = path_of(name);
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == Errc::not_found) return std::optional<Repository>();
  if (!text) return text.error();
  const Result<Json> json = parse_json(*text);
  const Error damaged = fail(
      Errc::system, path + " is damaged: remove this file, and push the repository's images again");
  if (!json || !json->is_object()) return damaged;
  try {
    std::optional<Repository> repository = from_json(*json);
    if (repository->name != name) return damaged;
    return repository;
  } catch (const Json::exception&) {
    return damaged;
  }
}

Result<std::string> Repositories::version(const std::string& name) const {
  const std::string path = path_of(name);
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (!is_there && errno == ENOENT) return std::string();
  if (!is_there) return fail_errno("cannot open " + path);
  // Each change makes a new file of that name.
  return std::to_string(status.st_ino) + "." + std::to_string(status.st_size) + "." +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

Result<std::vector<std::string>> Repositories::names() const {
  std::vector<std::string> names;
  for (std::string file : TRY(names_in(folder_))) {
    if (!file.ends_with(file_end)) continue;
    file.resize(file.size() - file_end.size());
    std::replace(file.begin(), file.end(), '+', '/');
    if (is_repository_name(file)) names.push_back(std::move(file));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> Repositories::change(const std::string& name, const Change& edit) {
  const Fd lock = TRY(wait_for_lock(folder_ + "/lock"));
  const std::optional<Repository> before = TRY(find(name));
  std::optional<Repository> after = before;
  TRY(edit(after));
  if (after == before) return {};
  const std::string path = path_of(name);
  if (after) return write_file(path, muster::to_text(to_json(*after)) + "\n", 0600);
  if (::unlink(path.c_str()) != 0) return fail_errno("cannot remove " + path);
  return {};
}

Repository without_rests(Repository repository, const NamedBy& named_by, UnixMillis now,
                         Duration grace) {
  const auto is_fresh = [&](UnixMillis time) { return now - time < grace; };
  std::set<std::string> kept;
  const std::function<void(const std::string&)> keep = [&](const std::string& digest) {
    if (!kept.insert(digest).second) return;
    if (!repository.manifests.contains(digest)) return;
    for (const std::string& named : named_by(digest)) keep(named);
  };
  for (const auto& [tag, digest] : repository.tags) keep(digest);
  for (const auto& [digest, pushed] : repository.manifests)
    if (is_fresh(pushed.at)) keep(digest);
  std::erase_if(repository.manifests, [&](const auto& one) { return !kept.contains(one.first); });
  std::erase_if(repository.blobs, [&](const auto& one) {
    return !kept.contains(one.first) && !is_fresh(one.second);
  });
  return repository;
}

}  // namespace muster::image
