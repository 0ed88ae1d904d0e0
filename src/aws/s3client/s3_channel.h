#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3client/s3_list.h"
#include "aws/s3wire/s3_url.h"
#include "base/result.h"

namespace muster::s3client {

/// A channel's objects, and the names under which a host finds them.
///
/// Pure: lists in, plans out. Source: the CreateTrainingJob API, S3DataSource.

/// One file to fetch.
struct FetchItem {
  S3Object object;
  std::string path;     ///< Below the channel's folder; safe: no "..", no empty part.
  bool folder = false;  ///< A key that ends with '/': an empty folder.
  bool gunzip = false;  ///< `path` gets what the object's gzip data holds.

  bool operator==(const FetchItem&) const = default;
};

struct FetchRules {
  std::size_t share = 0;   ///< The host's own, from 0; objects are dealt by key, one to each share.
  std::size_t shares = 1;  ///< More than `share`.
  bool gzip = false;       ///< Objects named *.gz are unpacked and lose the ".gz".
  std::uint64_t before{};  ///< How many files the pages before these objects hold.
};

/// How many of the objects are files, not empty folders.
std::uint64_t count_files(const std::vector<S3Object>& objects, std::size_t cut);

/// How many bytes of each key `prefix` takes away: up to and including its last '/'.
std::size_t folder_bytes(std::string_view prefix);

/// `objects`: sorted by key; each loses its first `cut` bytes. Errors: `invalid_input`, naming the
/// key: a name that no file can have, one that is a file and a folder.
Result<std::vector<FetchItem>> plan_fetch(const std::vector<S3Object>& objects, std::size_t cut,
                                          const FetchRules& rules);

/// A ManifestFile: [{"prefix": "s3://bucket/start"}, "name", …]. The objects' sizes are not known.
struct Manifest {
  s3wire::S3Url prefix;
  std::vector<std::string> names;
};
/// Error: `invalid_input` saying what is wrong.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace muster::s3client
