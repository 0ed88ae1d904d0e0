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

/// The name in this machine's store of the image that the text means,
/// "registry.muster.internal/team/box:v1"; with a digest "…@sha256:…". None: the image is in
/// another registry, or the text is not a registry name.
///
/// Own names are ACCOUNT.dkr.ecr.REGION.amazonaws.com of this account and region (other regions
/// belong to AWS, for servers with a real account), the server's addresses, and the name itself.
/// Pure.
std::optional<std::string> own_image(std::string_view text, const OwnNames& own);

/// The repository, and the tag or digest, of a name that own_image() gave; none for others.
struct OwnName {
  std::string repository;
  std::string tag;
  std::string digest;
};
std::optional<OwnName> read_own_name(std::string_view name);

}  // namespace muster::image
