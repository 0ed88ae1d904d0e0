#include "image/manifest.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "aws/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "image/reference.h"

namespace muster::image {
namespace {

constexpr const char* oci_manifest = "application/vnd.oci.image.manifest.v1+json";
constexpr const char* oci_index = "application/vnd.oci.image.index.v1+json";
constexpr const char* docker_manifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr const char* docker_list = "application/vnd.docker.distribution.manifest.list.v2+json";
constexpr const char* oci_config = "application/vnd.oci.image.config.v1+json";
constexpr const char* reference_name = "org.opencontainers.image.ref.name";
constexpr std::size_t words_max = 4096;  ///< In each list of a configuration.
constexpr std::size_t shown_max = 80;

Error invalid_manifest(const std::string& text) {
  return fail(Errc::protocol, text);
}

/// The member; null where it is missing or null, as Go writes what is empty.
const Json* member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

Result<std::string> text_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return invalid_manifest(std::string(name) + ": expected a string");
  return value->get<std::string>();
}

Result<std::vector<std::string>> texts_member(const Json& object, const char* name) {
  std::vector<std::string> texts;
  const Json* value = member(object, name);
  if (value == nullptr) return texts;
  if (!value->is_array() || value->size() > words_max)
    return invalid_manifest(std::string(name) + ": expected a list of at most 4096 strings");
  for (const Json& text : *value) {
    if (!text.is_string())
      return invalid_manifest(std::string(name) + ": expected a list of strings");
    texts.push_back(text.get<std::string>());
    if (texts.back().find('\0') != std::string::npos)
      return invalid_manifest(std::string(name) + ": text must not contain NUL characters");
  }
  return texts;
}

/// Names and sizes of what others wrote, for one line.
std::string cited(const std::string& text) {
  return muster::to_text(Json(text.substr(0, shown_max)));
}

Result<Descriptor> descriptor_from(const Json& json) {
  if (!json.is_object()) return invalid_manifest("expected an object with digest and size");
  Descriptor descriptor;
  descriptor.digest = TRY(text_member(json, "digest"));
  descriptor.media_type = TRY(text_member(json, "mediaType"));
  if (!is_digest(descriptor.digest))
    return invalid_manifest("digest " + cited(descriptor.digest) +
                            ": expected sha256: and 64 hex digits");
  const Json* size = member(json, "size");
  if (size == nullptr || !size->is_number_unsigned() || size->get<std::uint64_t>() > 1ull << 62)
    return invalid_manifest(descriptor.digest + ": expected a size in bytes");
  descriptor.bytes = size->get<std::uint64_t>();
  return descriptor;
}

Result<Platform> platform_from(const Json& json) {
  if (!json.is_object()) return invalid_manifest("platform: expected an object");
  Platform platform;
  platform.os = TRY(text_member(json, "os"));
  platform.architecture = TRY(text_member(json, "architecture"));
  platform.variant = TRY(text_member(json, "variant"));
  return platform;
}

Result<Index> index_from(const Json& manifests) {
  if (!manifests.is_array() || manifests.size() > entries_max)
    return invalid_manifest("manifests: expected a list of at most " + std::to_string(entries_max) +
                            " manifests");
  Index index;
  for (const Json& json : manifests) {
    Index::Entry entry;
    entry.manifest = TRY(descriptor_from(json));
    if (const Json* platform = member(json, "platform"))
      entry.platform = TRY(platform_from(*platform));
    const Json* annotations = member(json, "annotations");
    if (annotations != nullptr && annotations->is_object())
      entry.name = TRY(text_member(*annotations, reference_name));
    index.entries.push_back(std::move(entry));
  }
  return index;
}

Result<Manifest> image_from(const Json& json) {
  const Json* config = member(json, "config");
  const Json* layers = member(json, "layers");
  if (config == nullptr || layers == nullptr)
    return invalid_manifest("expected config and layers: this is not an image manifest");
  Manifest manifest;
  manifest.config = TRY(descriptor_from(*config));
  if (manifest.config.bytes > document_bytes_max)
    return invalid_manifest("config: exceeds " + std::to_string(document_bytes_max) + " bytes");
  if (!layers->is_array() || layers->size() > layers_max)
    return invalid_manifest("layers: expected a list of at most " + std::to_string(layers_max) +
                            " layers, the kernel's limit");
  for (const Json& layer : *layers) manifest.layers.push_back(TRY(descriptor_from(layer)));
  return manifest;
}

Result<Json> document(std::string_view bytes, const char* what) {
  if (bytes.size() > document_bytes_max)
    return invalid_manifest(std::string(what) + ": exceeds " + std::to_string(document_bytes_max) +
                            " bytes");
  Result<Json> json = parse_json(bytes);
  if (!json) return invalid_manifest(std::string(what) + ": " + json.error().text);
  if (!json->is_object()) return invalid_manifest(std::string(what) + ": expected an object");
  return json;
}

Result<std::variant<Manifest, Index>> either(const Json& json) {
  const std::string type = TRY(text_member(json, "mediaType"));
  const Json* manifests = member(json, "manifests");
  if (type == oci_index || type == docker_list || (type.empty() && manifests != nullptr)) {
    if (manifests == nullptr) return invalid_manifest("expected manifests: this is not an index");
    return std::variant<Manifest, Index>(TRY(index_from(*manifests)));
  }
  if (!type.empty() && type != oci_manifest && type != docker_manifest)
    return invalid_manifest("mediaType " + cited(type) +
                            ": expected an OCI image or a Docker schema 2 image");
  return std::variant<Manifest, Index>(TRY(image_from(json)));
}

Result<ImageConfig> read_config(const Json& json) {
  ImageConfig config;
  config.platform = TRY(platform_from(json));
  const Json* rootfs = member(json, "rootfs");
  if (rootfs == nullptr || !rootfs->is_object())
    return invalid_manifest("expected rootfs with diff_ids");
  config.diff_ids = TRY(texts_member(*rootfs, "diff_ids"));
  for (const std::string& id : config.diff_ids)
    if (!is_digest(id))
      return invalid_manifest("diff id " + cited(id) + ": expected sha256: and 64 hex digits");
  const Json* process = member(json, "config");
  if (process == nullptr) return config;
  if (!process->is_object()) return invalid_manifest("config: expected an object");
  config.entrypoint = TRY(texts_member(*process, "Entrypoint"));
  config.command = TRY(texts_member(*process, "Cmd"));
  config.working_folder = TRY(text_member(*process, "WorkingDir"));
  config.user = TRY(text_member(*process, "User"));
  for (const std::string* text : {&config.working_folder, &config.user})
    if (text->find('\0') != std::string::npos)
      return invalid_manifest("text must not contain NUL characters");
  for (std::string& entry : TRY(texts_member(*process, "Env")))
    if (entry.find('=') != std::string::npos && entry[0] != '=')
      config.environment.push_back(std::move(entry));
  return config;
}

std::string platform_text(const Platform& platform) {
  return platform.os + "/" + platform.architecture +
         (platform.variant.empty() ? "" : "/" + platform.variant);
}

}  // namespace

const std::vector<std::string> manifest_media_types = {oci_manifest, oci_index, docker_manifest,
                                                       docker_list};

Platform platform_of(std::string_view machine) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {
      {{"x86_64", "amd64"},
       {"aarch64", "arm64"},
       {"i686", "386"},
       {"armv7l", "arm"},
       {"ppc64le", "ppc64le"},
       {"s390x", "s390x"}}};
  for (const auto& [kernel, go] : names)
    if (kernel == machine) return {"linux", std::string(go)};
  return {"linux", std::string(machine)};
}

Result<std::variant<Manifest, Index>> manifest_from(std::string_view bytes) {
  const Json json = TRY(document(bytes, "manifest"));
  Result<std::variant<Manifest, Index>> read = either(json);
  if (!read) return read.error().in("manifest");
  return read;
}

Result<Descriptor> choose(const Index& index, const Platform& platform) {
  std::vector<std::string> there;
  for (const Index::Entry& entry : index.entries) {
    if (!entry.platform) continue;
    if (entry.platform->os == platform.os && entry.platform->architecture == platform.architecture)
      return entry.manifest;
    // Attestations stand among the images as unknown/unknown.
    if (entry.platform->os != "unknown" && there.size() < 16)
      there.push_back(platform_text(*entry.platform));
  }
  if (index.entries.size() == 1 && !index.entries[0].platform) return index.entries[0].manifest;
  return fail(Errc::not_found,
              "there is no image for " + platform_text(platform) +
                  (there.empty() ? "; no other platform is available"
                                 : "; the available platforms are: " + join(there, ", ")));
}

Result<ImageConfig> config_from(std::string_view bytes) {
  const Json json = TRY(document(bytes, "configuration"));
  Result<ImageConfig> read = read_config(json);
  if (!read) return read.error().in("configuration");
  return read;
}

std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> chain;
  for (const std::string& id : diff_ids)
    chain.push_back(chain.empty() ? id : digest_of(chain.back() + " " + id));
  return chain;
}

std::string document_of(const Manifest& manifest) {
  const auto json = [](const Descriptor& descriptor) {
    return Json{{"digest", descriptor.digest},
                {"size", descriptor.bytes},
                {"mediaType", descriptor.media_type}};
  };
  Json layers = Json::array();
  for (const Descriptor& layer : manifest.layers) layers.push_back(json(layer));
  Json config = json(manifest.config);
  if (manifest.config.media_type.empty()) config["mediaType"] = oci_config;
  return muster::to_text(Json{{"schemaVersion", 2},
                              {"mediaType", oci_manifest},
                              {"config", std::move(config)},
                              {"layers", std::move(layers)}});
}

std::string digest_of(std::string_view bytes) {
  return "sha256:" + hex(aws::view_of(aws::sha256(bytes)));
}

}  // namespace muster::image
