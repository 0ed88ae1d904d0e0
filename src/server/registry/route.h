#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aws/refusal.h"
#include "aws/request_head.h"
#include "base/result.h"

namespace muster::registry {

/// The parsed path of a request to a registry.
///
/// Pure. Source: the OCI's distribution-spec 1.1, "Endpoints" and "Error Codes".

enum class Kind {
  base,      ///< /v2/: is this a registry, and is the login valid?
  catalog,   ///< /v2/_catalog
  tags,      ///< /v2/NAME/tags/list
  manifest,  ///< /v2/NAME/manifests/TAG-OR-DIGEST
  blob,      ///< /v2/NAME/blobs/DIGEST
  uploads,   ///< /v2/NAME/blobs/uploads/: starts one.
  upload,    ///< /v2/NAME/blobs/uploads/ID
};

struct Route {
  Kind kind = Kind::base;
  std::string repository{};           ///< image::is_repository_name().
  std::string tag{};                  ///< A manifest is requested by tag,
  std::string digest{};               ///< or by digest, a blob by digest. image::is_digest().
  std::string id{};                   ///< 32 hex digits.
  std::string given_digest{};         ///< ?digest= of an upload's end.
  std::string mount{};                ///< ?mount=, with
  std::string mount_from{};           ///< ?from=; both empty if they cannot be mounted.
  std::optional<std::size_t> page{};  ///< ?n=
  std::string last{};                 ///< ?last=
};

/// True for all paths of a registry: "/v2" and all below it.
bool is_registry_path(std::string_view path);
/// Refusals: NAME_INVALID, DIGEST_INVALID, TAG_INVALID, BLOB_UPLOAD_UNKNOWN, UNSUPPORTED (404: no
/// place of a registry; 405: not this method there).
Result<Route, aws::Refusal> read_route(const aws::RequestHead& head);

/// A range of bytes, both ends within it.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const ByteRange&) const = default;
};
/// An upload's Content-Range: "0-99", also "bytes 0-99/*"; none for anything else.
std::optional<ByteRange> read_content_range(std::string_view text);
/// A blob's Range: "bytes=0-99", "bytes=100-", "bytes=-10", of `bytes` in all. Unset: the range is
/// not satisfiable. For several ranges, or a malformed one: the whole blob.
std::optional<ByteRange> read_range(std::string_view text, std::uint64_t bytes);

/// {"errors": [{"code", "message"}]}
std::string error_json(const aws::Refusal& refusal);

}  // namespace muster::registry
