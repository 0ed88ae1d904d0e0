#pragma once

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "objects/s3_request.h"
#include "objects/s3_url.h"

namespace muster::objects {

/// The keys that a server knows, and what each may do.
///
/// Pure: values and one table in memory; times come in. The table may be used by several threads.

/// What a key may do. A job's own key is `limited`: S3 only (and to ask who it is), under the
/// prefixes that are named. A prefix is one of bytes, as in S3: {"b", "in"} covers "in/x" and
/// "inner"; whoever means a folder ends it in '/'. An empty key covers the whole bucket.
struct KeyPolicy {
  bool limited = false;  ///< Not: everything, and the rest of this is not looked at.
  std::vector<S3Url> reads;
  std::vector<S3Url> writes;  ///< Do not imply reads.

  bool operator==(const KeyPolicy&) const = default;
};

struct AccessKey {
  std::string id;             ///< 3 to 128 letters, digits and '_'.
  std::string secret;         ///< In no log.
  std::string session_token;  ///< Empty: a lasting key. Else each request has to bring it.
  std::optional<UnixMillis> expires;
  KeyPolicy policy;
  std::string owner;  ///< For whoever made it, say a job's name; means nothing here.
};

/// True if `key` may do `op` to `key_or_prefix` of `bucket`. For a listing that is its prefix; for
/// what is about a bucket it is empty; a copy's source is a get_object of its own.
bool allowed(const AccessKey& key, S3Op op, std::string_view bucket,
             std::string_view key_or_prefix);
/// True if `key` may call an operation of a service other than S3; `service` by its name in
/// credential scopes: "sagemaker", "ListTrainingJobs". A limited key may ask STS who it is, no
/// more.
bool allowed_call(const AccessKey& key, std::string_view service, std::string_view operation);

class KeyRing {
 public:
  /// Takes the place of a key with the same id. Error: `invalid_input` for an id or a secret that
  /// no client could sign with (empty, too long, characters that break the header).
  Result<void> add(AccessKey key);
  /// From now on unknown. False if it was.
  bool revoke(std::string_view id);
  /// Revokes all keys with this owner; how many. None of nobody ("").
  std::size_t revoke_owned(std::string_view owner);
  /// None if unknown. Keys that expired are found: the answer to them is another one.
  std::shared_ptr<const AccessKey> find(std::string_view id) const;
  std::vector<std::string> ids() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<const AccessKey>, std::less<>> keys_;
};

}  // namespace muster::objects
