#include "aws/s3client/s3_channel.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace muster::s3client {
namespace {

constexpr std::size_t name_bytes_max = 255;  // File systems' limit.
constexpr std::size_t names_max = listed_max;

Error unfit(const std::string& key, const std::string& why) {
  return fail(Errc::invalid_input, "object " + s3wire::text_of({"", key}).substr(6) + ": " + why);
}

/// "a//b" is a/b: SageMaker's hosts see the same file.
Result<std::string> safe_path(const std::string& key, std::string_view rest) {
  std::vector<std::string> parts;
  for (std::string& part : split(rest, '/')) {
    if (part.empty()) continue;
    if (part == "." || part == "..") return unfit(key, "invalid file name \"" + part + "\"");
    if (part.size() > name_bytes_max)
      return unfit(key, "its key contains a file or folder name of more than 255 bytes");
    if (part.find('\0') != std::string::npos) return unfit(key, "its key contains a NUL character");
    parts.push_back(std::move(part));
  }
  return join(parts, "/");
}

bool is_folder(std::string_view rest) {
  return rest.empty() || rest.ends_with('/');
}

/// Every name is one thing only.
Result<void> check_names(const std::vector<FetchItem>& items) {
  std::map<std::string_view, const FetchItem*> files;
  for (const FetchItem& item : items) {
    if (item.folder) continue;
    const auto [at, fresh] = files.emplace(item.path, &item);
    if (!fresh)
      return unfit(item.object.key,
                   "its file name is the same as that of object " + at->second->object.key);
  }
  for (const FetchItem& item : items) {
    if (item.folder && files.contains(item.path))
      return unfit(
          item.object.key,
          "this object is a folder, but another object has the same name without the final '/'");
    for (std::size_t slash = item.path.find('/'); slash != std::string::npos;
         slash = item.path.find('/', slash + 1))
      if (files.contains(std::string_view(item.path).substr(0, slash)))
        return unfit(item.object.key,
                     item.path.substr(0, slash) +
                         " is also an object, but a name cannot be both a file and a folder");
  }
  return {};
}

}  // namespace

std::size_t folder_bytes(std::string_view prefix) {
  const std::size_t slash = prefix.rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

std::uint64_t count_files(const std::vector<S3Object>& objects, std::size_t cut) {
  return static_cast<std::uint64_t>(std::ranges::count_if(objects, [cut](const S3Object& object) {
    return !is_folder(std::string_view(object.key).substr(cut));
  }));
}

Result<std::vector<FetchItem>> plan_fetch(const std::vector<S3Object>& objects, std::size_t cut,
                                          const FetchRules& rules) {
  CHECK_THAT(rules.share < rules.shares, "a host's share is one of the shares");
  std::vector<FetchItem> items;
  std::uint64_t number = rules.before;
  for (const S3Object& object : objects) {
    const std::string_view rest = std::string_view(object.key).substr(cut);
    FetchItem item;
    item.path = TRY(safe_path(object.key, rest));
    item.object = object;
    item.folder = is_folder(rest);
    if (item.path.empty() && item.folder) continue;  // The channel's own folder.
    if (item.folder) {
      items.push_back(std::move(item));
      continue;
    }
    if (number++ % rules.shares != rules.share) continue;
    if (rules.gzip && item.path.ends_with(".gz") && !item.path.ends_with("/.gz") &&
        item.path.size() > 3) {
      item.gunzip = true;
      item.path.resize(item.path.size() - 3);
    }
    items.push_back(std::move(item));
  }
  TRY(check_names(items));
  return items;
}

Result<Manifest> parse_manifest(std::string_view text) {
  const Result<Json> json = parse_json(text);
  const std::string want = "expected [{\"prefix\": \"s3://bucket/start\"}, \"name\", …]";
  if (!json) return json.error().in("invalid manifest");
  if (!json->is_array() || json->empty() || !(*json)[0].is_object() ||
      !(*json)[0].contains("prefix") || !(*json)[0]["prefix"].is_string())
    return fail(Errc::invalid_input, "invalid manifest: " + want);
  if (json->size() > names_max) return fail(Errc::invalid_input, "the manifest has too many names");
  Manifest manifest;
  manifest.prefix = TRY(s3wire::parse_s3_prefix((*json)[0]["prefix"].get<std::string>()));
  manifest.names.reserve(json->size() - 1);
  for (std::size_t i = 1; i < json->size(); ++i) {
    if (!(*json)[i].is_string() || (*json)[i].get<std::string>().empty())
      return fail(Errc::invalid_input, "invalid manifest: entry " + std::to_string(i) +
                                           " is not an object name; " + want);
    manifest.names.push_back((*json)[i].get<std::string>());
  }
  return manifest;
}

}  // namespace muster::s3client
