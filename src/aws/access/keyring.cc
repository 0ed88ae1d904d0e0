#include "aws/access/keyring.h"

#include <algorithm>
#include <mutex>

#include "base/letters.h"

namespace muster::access {
namespace {

constexpr std::size_t id_bytes_min = 3;
constexpr std::size_t id_bytes_max = 128;
constexpr std::size_t secret_bytes_min = 8;
constexpr std::size_t secret_bytes_max = 128;
constexpr std::size_t token_bytes_max = 4096;

bool is_id(std::string_view id) {
  return id.size() >= id_bytes_min && id.size() <= id_bytes_max &&
         std::all_of(id.begin(), id.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool covers(const std::vector<Place>& places, std::string_view bucket, std::string_view name,
            const IsThere& is_there) {
  return std::any_of(places.begin(), places.end(), [&](const Place& place) {
    if (place.bucket != bucket || !name.starts_with(place.key)) return false;
    if (place.extent == Extent::folder || name == place.key) return true;
    if (place.extent == Extent::object) return false;
    return name[place.key.size()] == '/' || (is_there && !is_there(place));
  });
}

View view_in(const std::vector<Place>& places, std::string_view bucket, std::string_view prefix,
             const IsThere& is_there) {
  View view = View::nothing;
  for (const Place& place : places) {
    if (place.bucket != bucket || place.extent == Extent::object) continue;
    const bool at_folder = place.extent == Extent::folder &&
                           place.key.size() == prefix.size() + 1 && place.key.starts_with(prefix) &&
                           place.key.ends_with('/');
    if (at_folder || prefix == place.key) view = std::max(view, View::named);
    if (!prefix.starts_with(place.key)) continue;
    const bool inside = place.extent == Extent::folder ||
                        (prefix.size() > place.key.size() && prefix[place.key.size()] == '/');
    if (inside || (is_there && !is_there(place))) return View::all;
  }
  return view;
}

bool names_bucket(const std::vector<Place>& places, std::string_view bucket) {
  return std::any_of(places.begin(), places.end(),
                     [&](const Place& place) { return place.bucket == bucket; });
}

bool has_object_of(const KeyPolicy& policy, std::string_view bucket) {
  const auto at = policy.read_objects.lower_bound({std::string(bucket), {}});
  return at != policy.read_objects.end() && at->first == bucket;
}

enum class Need { owner, bucket, read, write };

Need need_of(s3wire::S3Op op) {
  switch (op) {
    case s3wire::S3Op::head_bucket:
    case s3wire::S3Op::get_bucket_location:
    case s3wire::S3Op::get_bucket_versioning:
      return Need::bucket;
    case s3wire::S3Op::get_object:
    case s3wire::S3Op::head_object:
    case s3wire::S3Op::get_object_acl:
    case s3wire::S3Op::get_object_attributes:
    case s3wire::S3Op::get_object_tagging:
      return Need::read;
    case s3wire::S3Op::put_object:
    case s3wire::S3Op::delete_object:
    case s3wire::S3Op::copy_object:
    case s3wire::S3Op::put_object_acl:
    case s3wire::S3Op::put_object_tagging:
    case s3wire::S3Op::delete_object_tagging:
    case s3wire::S3Op::create_multipart_upload:
    case s3wire::S3Op::upload_part:
    case s3wire::S3Op::upload_part_copy:
    case s3wire::S3Op::complete_multipart_upload:
    case s3wire::S3Op::abort_multipart_upload:
    case s3wire::S3Op::list_parts:
      return Need::write;
    // Each key in the body is asked for as a delete_object.
    case s3wire::S3Op::delete_objects:
      return Need::bucket;
    case s3wire::S3Op::list_buckets:
    case s3wire::S3Op::create_bucket:
    case s3wire::S3Op::delete_bucket:
    case s3wire::S3Op::get_bucket_acl:
    case s3wire::S3Op::put_bucket_acl:
    case s3wire::S3Op::get_bucket_setting:
    case s3wire::S3Op::delete_bucket_setting:
    case s3wire::S3Op::list_objects:  // Listings have a view, see view_of().
    case s3wire::S3Op::list_objects_v2:
    case s3wire::S3Op::list_object_versions:
    case s3wire::S3Op::list_multipart_uploads:
      return Need::owner;
  }
  return Need::owner;
}

}  // namespace

std::vector<Place> places_named(const s3wire::S3Url& url) {
  if (url.key.empty() || url.key.ends_with('/')) return {{url.bucket, url.key, Extent::folder}};
  return {{url.bucket, url.key, Extent::object}, {url.bucket, url.key + "/", Extent::folder}};
}

bool allowed(const AccessKey& key, s3wire::S3Op op, std::string_view bucket, std::string_view name,
             const IsThere& is_there) {
  const KeyPolicy& policy = key.policy;
  if (!policy.limited) return true;
  switch (need_of(op)) {
    case Need::owner:
      return false;
    case Need::bucket:
      return names_bucket(policy.reads, bucket) || names_bucket(policy.writes, bucket) ||
             has_object_of(policy, bucket);
    case Need::read:
      return covers(policy.reads, bucket, name, is_there) ||
             policy.read_objects.contains({std::string(bucket), std::string(name)});
    case Need::write:
      return covers(policy.writes, bucket, name, is_there);
  }
  return false;
}

bool is_listing(s3wire::S3Op op) {
  return op == s3wire::S3Op::list_objects || op == s3wire::S3Op::list_objects_v2 ||
         op == s3wire::S3Op::list_object_versions || op == s3wire::S3Op::list_multipart_uploads;
}

View view_of(const AccessKey& key, s3wire::S3Op op, std::string_view bucket,
             std::string_view prefix, const IsThere& is_there) {
  const KeyPolicy& policy = key.policy;
  if (!policy.limited) return View::all;
  if (op != s3wire::S3Op::list_multipart_uploads)
    return view_in(policy.reads, bucket, prefix, is_there);
  const View view = view_in(policy.writes, bucket, prefix, is_there);
  return view == View::all ? view : View::nothing;
}

bool allowed_operation(const AccessKey& key, std::string_view service, std::string_view operation) {
  return !key.policy.limited || (service == "sts" && operation == "GetCallerIdentity") ||
         (service == "ecr" && operation == "GetAuthorizationToken");
}

Result<void> KeyRing::add(AccessKey key) {
  if (!is_id(key.id))
    return fail(Errc::invalid_input,
                "invalid access key ID: expected 3 to 128 letters, digits and '_'");
  if (key.secret.size() < secret_bytes_min || key.secret.size() > secret_bytes_max ||
      !is_printable(key.secret))
    return fail(
        Errc::invalid_input,
        key.id + ": invalid secret key: expected 8 to 128 printable characters without spaces");
  if (key.session_token.size() > token_bytes_max || !is_printable(key.session_token))
    return fail(Errc::invalid_input,
                key.id + ": invalid session token: expected at most 4096 printable characters");
  std::string id = key.id;
  auto kept = std::make_shared<const AccessKey>(std::move(key));
  const std::unique_lock lock(mutex_);
  keys_.insert_or_assign(std::move(id), std::move(kept));
  return {};
}

bool KeyRing::revoke(std::string_view id) {
  const std::unique_lock lock(mutex_);
  const auto at = keys_.find(id);
  if (at == keys_.end()) return false;
  keys_.erase(at);
  return true;
}

std::size_t KeyRing::revoke_owned(std::string_view owner) {
  if (owner.empty()) return 0;
  const std::unique_lock lock(mutex_);
  return std::erase_if(keys_, [&](const auto& entry) { return entry.second->owner == owner; });
}

std::shared_ptr<const AccessKey> KeyRing::find(std::string_view id) const {
  const std::shared_lock lock(mutex_);
  const auto at = keys_.find(id);
  return at == keys_.end() ? nullptr : at->second;
}

std::vector<std::string> KeyRing::ids() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> ids;
  ids.reserve(keys_.size());
  for (const auto& [id, key] : keys_) ids.push_back(id);
  return ids;
}

}  // namespace muster::access
