#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::image {

/// Where the bytes of an image come from. Digests appear in logs and in manifests, so knowing one
/// does not give a right to its bytes: an existing layer is part of an image only after the image's
/// own source has delivered that layer, too. Pulls share downloads in progress only within one
/// source, so that none waits for another source's bytes.
///
/// Pure. Source: docs/decisions/0029-image-store.md, "Sources".
class Source {
 public:
  /// A repository of a registry, as one login sees it; `login` is empty where there was none.
  static Source pulled(std::string_view registry, std::string_view repository,
                       std::string_view login);
  /// A repository of this machine's own registry. Each key that may push there may read it all.
  static Source pushed(std::string_view repository);
  /// A file, a folder, or the name of an engine's image.
  static Source imported(std::string_view from);
  /// What a cluster's submit host sends to its nodes.
  static Source handed_over();

  /// 64 hex digits, for names of files.
  const std::string& id() const { return id_; }

  bool operator==(const Source&) const = default;

 private:
  explicit Source(const std::vector<std::string_view>& parts);

  std::string id_;
};

}  // namespace muster::image
