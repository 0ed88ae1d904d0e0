#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::image {

/// Images that were pushed under one name: their tags, and the blobs that clients may download.
struct Repository {
  struct Pushed {
    std::string media_type;
    std::uint64_t bytes = 0;
    UnixMillis at{};

    bool operator==(const Pushed&) const = default;
  };
  std::string name;  ///< "team/box"
  UnixMillis created{};
  bool fixed_tags = false;                    ///< Existing tags cannot be changed.
  std::map<std::string, std::string> tags{};  ///< Digests of manifests.
  std::map<std::string, Pushed> manifests{};  ///< By digest.
  std::map<std::string, UnixMillis> blobs{};  ///< By digest, with the time they were added.

  bool operator==(const Repository&) const = default;
};

constexpr std::size_t repository_name_bytes_max = 200;  ///< Limits the length of a file name.
/// True for a valid repository name: as AWS and the OCI define it, and not too long. Pure.
bool is_repository_name(std::string_view name);
/// Pure.
bool is_tag_name(std::string_view tag);
/// Pure.
bool is_index_type(std::string_view media_type);

/// The repositories of a store, each a file in one folder.
///
///     registry/team+box.json   ("+" stands for "/")
///
/// Any number of processes and threads; blocks.
class Repositories {
 public:
  /// `folder` exists.
  explicit Repositories(std::string folder) : folder_(std::move(folder)) {}

  /// Error: `system`, also for a file that is damaged.
  Result<std::optional<Repository>> find(const std::string& name) const;
  /// A text that changes with each change of the repository; empty if it does not exist.
  Result<std::string> version(const std::string& name) const;
  /// Sorted.
  Result<std::vector<std::string>> names() const;
  /// Lets `edit` change the repository, and stores the result unless `edit` fails. A repository
  /// that becomes empty is removed; one that was empty is created. Errors: that of `edit`;
  /// `system`.
  using Change = std::function<Result<void>(std::optional<Repository>& repository)>;
  Result<void> change(const std::string& name, const Change& edit);

 private:
  std::string path_of(const std::string& name) const;

  std::string folder_;
};

/// Removes from a repository what clients can no longer request and has not been used for `grace`:
/// manifests without a tag that no index names, and blobs that no manifest names. `named_by`
/// returns the digests that a manifest names. Pure.
using NamedBy = std::function<std::vector<std::string>(const std::string& manifest)>;
Repository without_rests(Repository repository, const NamedBy& named_by, UnixMillis now,
                         Duration grace);

}  // namespace muster::image
