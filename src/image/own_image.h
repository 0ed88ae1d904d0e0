#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::image {

/// The registry in the names of images that were pushed to this machine. No server has that name.
inline constexpr std::string_view own_registry = "registry.muster.internal";

/// What of a realm and of a server makes a name its own.
struct OwnNames {
  std::string account;  ///< 12 digits.
  std::string region;
  std::vector<std::string> hosts;  ///< "127.0.0.1:7700": where its registry answers.
};

/// The name under which this machine's store knows an image that the text means,
/// "registry.muster.internal/team/box:v1"; with a digest "…@sha256:…". None: the image is another
/// registry's, or the text is no registry's name.
///
/// Own are ACCOUNT.dkr.ecr.REGION.amazonaws.com of this account and region (another region's is
/// AWS's own, for who gives the server their real account), the server's addresses, and the name
/// itself. Pure.
std::optional<std::string> own_image(std::string_view text, const OwnNames& own);

/// The repository, and the tag or digest, of a name that own_image() gave; none for others.
struct OwnName {
  std::string repository;
  std::string tag;
  std::string digest;
};
std::optional<OwnName> read_own_name(std::string_view name);

}  // namespace muster::image
