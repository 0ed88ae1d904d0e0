#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace muster::image {

/// The JSON documents of an image: index, manifest, configuration.
///
/// Pure. Every digest in what is read is_digest(), every size is not negative; what others wrote
/// is refused beyond the limits below.
/// Source: OCI image specification 1.1 (image-index.md, manifest.md, config.md); Docker's image
/// manifest, version 2, schema 2.

constexpr std::size_t document_bytes_max = 4u << 20;  ///< Each of them; registries have this limit.
/// What two overlays stack, one on the other (docs/decisions/0042-many-layers.md).
constexpr std::size_t layers_max = 999;
constexpr std::size_t entries_max = 1024;  ///< Images of an index.

/// The kinds that manifests are asked of a registry by, index forms among them.
extern const std::vector<std::string> manifest_media_types;

/// Where bytes are: what they hash to, how many they are, and what they are called.
struct Descriptor {
  std::string digest;       ///< "sha256:" and 64 hex digits.
  std::uint64_t bytes = 0;  ///< At most 2^62.
  std::string media_type;

  bool operator==(const Descriptor&) const = default;
};

/// The machines that an image runs on, in Go's words: "linux", "amd64", "v8".
struct Platform {
  std::string os = "linux";
  std::string architecture;
  std::string variant{};

  bool operator==(const Platform&) const = default;
};
/// `machine` as uname(2) says it: "x86_64" is amd64.
Platform platform_of(std::string_view machine);

/// One image: its configuration and layers, lowest first.
struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;

  bool operator==(const Manifest&) const = default;
};

/// Several images, one for each platform or, in a layout folder, each name.
struct Index {
  struct Entry {
    Descriptor manifest;
    std::optional<Platform> platform;
    std::string name;  ///< The annotation org.opencontainers.image.ref.name.
  };
  std::vector<Entry> entries;
};

/// Either, by its media type or, without one, by what it has. Error: `protocol`, in one line.
Result<std::variant<Manifest, Index>> manifest_from(std::string_view bytes);

/// The image of `index` for `platform`: the one that names it and, if the variants differ, the
/// first. Error: `not_found`, with the platforms that there are.
Result<Descriptor> choose(const Index& index, const Platform& platform);

/// What an image says of its processes, and of what its layers hold.
struct ImageConfig {
  Platform platform;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;      ///< "Cmd"
  std::vector<std::string> environment;  ///< "NAME=VALUE"; others are left out.
  std::string working_folder;            ///< Empty: "/".
  std::string user;                      ///< "USER[:GROUP]", names or numbers; empty: root.
  std::vector<std::string> diff_ids;     ///< Digest of each layer's tar, not compressed.

  bool operator==(const ImageConfig&) const = default;
};
/// Error: `protocol`, in one line.
Result<ImageConfig> config_from(std::string_view bytes);

/// What names each layer with all that lies below it: the first is the first diff id, the next one
/// the SHA-256 of "CHAIN_ID DIFF_ID". So equal ids mean equal folders, also over other layers.
std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids);

/// A manifest of our own for an image that comes without one: canonical, so that one image has one
/// digest.
std::string document_of(const Manifest& manifest);

/// "sha256:" and the SHA-256 of `bytes`.
std::string digest_of(std::string_view bytes);

}  // namespace muster::image
