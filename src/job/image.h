#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::job {

/// A container image on this machine: what a host's root is made of in place of the machine's own
/// programs. Pure. Source of the settings: the OCI image specification 1.0, config.md.
struct Image {
  /// As the job named it; with a `tool`, as it is passed to that tool: a path on the node, or
  /// "docker://…".
  std::string name{};
  /// "apptainer" or "enroot": a program of the node that opens the image there, for a light host
  /// (docs/decisions/0062-image-tools.md). Nothing else is known of the image then. Empty: muster.
  std::string tool{};
  std::string digest{};               ///< The manifest's, "sha256:…": which image that was.
  std::vector<std::string> layers{};  ///< Folders, absolute, the lowest first; never written to.
  Args entrypoint{};                  ///< ENTRYPOINT.
  Env environment{};                  ///< ENV.
  std::string folder{};               ///< WORKDIR, absolute; empty: the root.
  std::string user{};                 ///< USER: "", "app", "1000:1000", "app:users".
  /// Users of the layers hold a shared flock on this file (absolute), which keeps the layers.
  /// Empty: they are kept anyway.
  std::string lease{};

  bool operator==(const Image&) const = default;
};

/// What the hosts of an image run: the job's entry point and arguments, or if it has none the
/// image's ENTRYPOINT and the one word `train`, as SageMaker does. Source: "How Amazon SageMaker
/// runs your training image".
Args command_of(const Image& image, const Args& entrypoint, const Args& arguments);

/// Who runs in a container.
struct User {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home = "/root";

  bool operator==(const User&) const = default;
};
/// The user in an image's USER, with names looked up in its passwd(5) and group(5) files; a number
/// need not be in them. Error: `not_found` for an unknown name; `invalid_input` for a number beyond
/// a host's ids.
Result<User> user_of(std::string_view text, std::string_view passwd, std::string_view group);

/// The image's JSON form in muster's own part of a job. Errors: `invalid_input`, naming the field.
Result<void> check(const Image& image);
Json to_json(const Image& image);
Result<Image> image_from(const Json& json);

}  // namespace muster::job
