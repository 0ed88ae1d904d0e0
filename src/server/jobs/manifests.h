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
/// A manifest is a claim that becomes a right, so it is pinned: its ETag is noted when the job is
/// taken, the key may read what the manifest with that ETag names, and the stewards take no other.

struct ManifestObject {
  std::string text;
  std::string etag;  ///< Without quotes.
};
/// Reads from the server's own S3. Errors: `not_found`, `invalid_input` (more bytes than a manifest
/// may have), `system`.
using ReadManifest = std::function<Result<ManifestObject>(const s3wire::S3Url& url)>;

inline constexpr std::size_t manifest_bytes_max = 8u << 20;
/// All of a job's manifests together: its key remembers each name.
inline constexpr std::size_t manifest_names_max = 100'000;

/// Records the manifests' ETags in `spec`, none without `read`. Errors: those of `read`, naming the
/// channel; `invalid_input` for an invalid URL.
Result<void> pin_manifests(job::Spec& spec, const ReadManifest& read);
/// The pins as the store keeps them: {"channel": "etag"}; empty: there are none.
std::string pins_text(const job::Spec& spec);
/// Puts them back into the spec of the same job.
Result<void> put_pins(job::Spec& spec, std::string_view text);

/// The objects that pinned manifests name, as bucket and key; none of a manifest that is gone or
/// has changed. Error: `invalid_input`: no manifest, or too many names.
Result<std::set<std::pair<std::string, std::string>>> named_objects(const job::Spec& spec,
                                                                    const ReadManifest& read);

}  // namespace muster::jobs
