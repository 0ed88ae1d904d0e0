#pragma once

// For tests only.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "image/manifest.h"
#include "image/this_platform.h"
#include "os/packing/testing.h"

namespace muster::image {

/// An image as a test makes it: each layer gzip of a tar.
struct TestImage {
  explicit TestImage(std::vector<packing::Tar> tars, const std::string& architecture = "") {
    Json json{{"os", "linux"}, {"rootfs", {{"type", "layers"}, {"diff_ids", Json::array()}}}};
    json["architecture"] = architecture.empty() ? this_platform().architecture : architecture;
    json["config"] = {{"Entrypoint", {"/train"}}, {"Env", {"A=1"}}};
    Manifest document;
    for (const packing::Tar& tar : tars) {
      const std::string bytes = tar.bytes();
      json["rootfs"]["diff_ids"].push_back(digest_of(bytes));
      plain.push_back(bytes);
      layers.push_back(packing::gzipped(bytes));
      document.layers.push_back({digest_of(layers.back()), layers.back().size(), "gzip"});
    }
    config = muster::to_text(json);
    document.config = {digest_of(config), config.size(), "config"};
    manifest = document_of(document);
  }

  /// Writes it as a layout folder.
  void put_layout(const std::string& folder, const std::string& tag) const {
    const auto put = [&](const std::string& bytes) {
      packing::put_file(folder + "/blobs/sha256/" + digest_of(bytes).substr(7), bytes);
    };
    for (const std::string& layer : layers) put(layer);
    put(config);
    put(manifest);
    const Json entry{{"digest", digest_of(manifest)},
                     {"size", manifest.size()},
                     {"annotations", {{"org.opencontainers.image.ref.name", tag}}}};
    packing::put_file(folder + "/index.json",
                      muster::to_text(Json{{"manifests", Json::array({entry})}}));
  }

  std::string manifest;
  std::string config;
  std::vector<std::string> plain;   ///< The layers' tars.
  std::vector<std::string> layers;  ///< Each layer, packed.
};

}  // namespace muster::image
