// What a registry or an archive says of an image: its index, manifest and configuration.
#include <algorithm>
#include <string_view>

#include "fuzz.h"
#include "image/manifest.h"
#include "image/reference.h"

namespace muster {

namespace {

void check_line(const Error& error) {
  CHECK_THAT(error.text.find('\n') == std::string::npos, "an error is one line");
  CHECK_THAT(error.text.size() < 1000, "an error quotes a part at most");
}

void check_descriptor(const image::Descriptor& descriptor) {
  CHECK_THAT(image::is_digest(descriptor.digest), "a digest has its form");
  CHECK_THAT(descriptor.bytes <= 1ull << 62, "a size is one");
}

void read_manifest(std::string_view bytes) {
  const auto read = image::manifest_from(bytes);
  if (!read) return check_line(read.error());
  if (const image::Index* index = std::get_if<image::Index>(&*read)) {
    for (const image::Index::Entry& entry : index->entries) check_descriptor(entry.manifest);
    const Result<image::Descriptor> chosen = image::choose(*index, {"linux", "amd64"});
    if (chosen) check_descriptor(*chosen);
    return;
  }
  const image::Manifest& manifest = std::get<image::Manifest>(*read);
  check_descriptor(manifest.config);
  CHECK_THAT(manifest.layers.size() <= image::layers_max, "layers have their limit");
  std::for_each(manifest.layers.begin(), manifest.layers.end(), check_descriptor);
  const auto again = image::manifest_from(image::document_of(manifest));
  CHECK_THAT(again && std::get<image::Manifest>(*again).layers == manifest.layers,
             "a manifest of ours reads back");
}

void read_config(std::string_view bytes) {
  const Result<image::ImageConfig> config = image::config_from(bytes);
  if (!config) return check_line(config.error());
  for (const std::vector<std::string>* words :
       {&config->entrypoint, &config->command, &config->environment})
    for (const std::string& word : *words)
      CHECK_THAT(word.find('\0') == std::string::npos, "words can be given to a program");
  for (const std::string& id : image::chain_ids(config->diff_ids))
    CHECK_THAT(image::is_digest(id), "a chain id is a digest");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_manifest(bytes);
  read_config(bytes);
  return 0;
}

}  // namespace muster
