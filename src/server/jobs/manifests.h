#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "aws/s3wire/s3_url.h"
#include "base/result.h"
#include "job/spec.h"

namespace muster::jobs {

/// Channels of S3DataType ManifestFile, whose objects a job's own key may read.
///
/// A manifest grants access to the objects that it lists, so it is pinned: its ETag is recorded
/// when the job is accepted. The key can read only objects listed in the manifest with that ETag,
/// and stewards use no other.

struct ManifestObject {
  std::string text;
  std::string etag;  ///< Without quotes.
};
/// Reads from the server's own S3. Errors: `not_found`, `invalid_input` (more bytes than a manifest
/// may have), `system`.
using ReadManifest = std::function<Result<ManifestObject>(const s3wire::S3Url& url)>;

inline constexpr std::size_t manifest_bytes_max = 8u << 20;
/// The limit for all of a job's manifests together, because its key stores each name.
inline constexpr std::size_t manifest_names_max = 100'000;

/// Records the manifests' ETags in `spec`, none without `read`. Errors: those of `read`, naming the
/// channel; `invalid_input` for an invalid URL.
Result<void> pin_manifests(job::Spec& spec, const ReadManifest& read);
/// The pins in the store's form: {"channel": "etag"}; empty: none.
std::string pins_text(const job::Spec& spec);
/// Restores them in the spec of the same job.
Result<void> put_pins(job::Spec& spec, std::string_view text);

/// The objects that pinned manifests name, as bucket and key; none of a manifest that was removed
/// or changed. Error: `invalid_input`: not a manifest, or too many names.
Result<std::set<std::pair<std::string, std::string>>> named_objects(const job::Spec& spec,
                                                                    const ReadManifest& read);

}  // namespace muster::jobs
