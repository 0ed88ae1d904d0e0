#include "server/jobs/manifests.h"

#include <nlohmann/json.hpp>

#include "aws/s3client/s3_channel.h"
#include "base/fields.h"
#include "base/json.h"

namespace muster::jobs {
namespace {

std::string where(const job::InputChannel& channel) {
  return "channel " + channel.name + ": " + channel.s3.url;
}

Result<ManifestObject> read_for(const job::InputChannel& channel, const ReadManifest& read) {
  const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(channel.s3.url));
  Result<ManifestObject> object = read(url);
  if (!object) return object.error().in("channel " + channel.name);
  return object;
}

}  // namespace

Result<void> pin_manifests(job::Spec& spec, const ReadManifest& read) {
  for (job::InputChannel& channel : spec.input) {
    channel.s3.etag.clear();  // A request may contain one.
    if (channel.s3.manifest && read) channel.s3.etag = TRY(read_for(channel, read)).etag;
  }
  return {};
}

std::string pins_text(const job::Spec& spec) {
  Json pins = Json::object();
  for (const job::InputChannel& channel : spec.input)
    if (!channel.s3.etag.empty()) pins[channel.name] = channel.s3.etag;
  return pins.empty() ? std::string() : to_text(pins);
}

Result<void> put_pins(job::Spec& spec, std::string_view text) {
  const Json pins = text.empty() ? Json::object() : TRY(parse_json(text));
  for (job::InputChannel& channel : spec.input) channel.s3.etag = member_text(pins, channel.name);
  return {};
}

Result<std::set<std::pair<std::string, std::string>>> named_objects(const job::Spec& spec,
                                                                    const ReadManifest& read) {
  std::set<std::pair<std::string, std::string>> objects;
  for (const job::InputChannel& channel : spec.input) {
    if (channel.s3.etag.empty()) continue;
    const Result<ManifestObject> object = read_for(channel, read);
    if (!object && object.error().code == Errc::system) return object.error();
    if (!object || object->etag != channel.s3.etag) continue;
    Result<s3client::Manifest> manifest = s3client::parse_manifest(object->text);
    if (!manifest) return manifest.error().in(where(channel));
    for (const std::string& name : manifest->names)
      objects.emplace(manifest->prefix.bucket, manifest->prefix.key + name);
    if (objects.size() > manifest_names_max)
      return fail(Errc::invalid_input, where(channel) + ": the job's manifests list more than " +
                                           std::to_string(manifest_names_max) + " objects");
  }
  return objects;
}

}  // namespace muster::jobs
