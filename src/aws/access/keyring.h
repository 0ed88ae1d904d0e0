#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3wire/s3_request.h"
#include "aws/s3wire/s3_url.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::access {

/// The keys that a server knows, and what each may do.
///
/// Pure: values and one table in memory; times come in. The table may be used by several threads.

/// What a right covers. It is never a prefix of bytes: "run1" would also grant "run10".
enum class Extent {
  folder,  ///< All below `key`, which is empty (the bucket) or ends with '/'.
  object,  ///< `key` alone.
  start,   ///< What S3Prefix names: the object `key` and the folder of that name; only where there
           ///< is neither, all keys that begin so. For reading.
};

struct Place {
  std::string bucket;
  std::string key;
  Extent extent{};

  bool operator==(const Place&) const = default;
};
/// The object and the folder that a URL names; of the folder alone, if it ends with '/' or is a
/// whole bucket.
std::vector<Place> places_named(const s3wire::S3Url& url);

/// What a key may do. A job's own key is `limited`: S3 only, in the places that are named, and to
/// ask who it is; from the registry it pulls its own image.
struct KeyPolicy {
  bool limited = false;  ///< Not: everything, and the rest of this is not looked at.
  std::vector<Place> reads;
  /// More objects to read, one by one: bucket and key.
  std::set<std::pair<std::string, std::string>> read_objects{};
  std::vector<Place> writes;  ///< Do not imply reads.
  std::string repository{};   ///< The only one of this server's registry; empty: none.
  /// What may lie in `writes`, open uploads and all; 0: no limit.
  std::uint64_t bytes_max = 0;
  std::uint64_t files_max = 0;  ///< Objects, open uploads and their parts; 0: no limit.
  bool may_fill_disk = false;   ///< Also the room that the server keeps free.

  bool operator==(const KeyPolicy&) const = default;
};

struct AccessKey {
  std::string id;             ///< 3 to 128 letters, digits and '_'.
  std::string secret;         ///< In no log.
  std::string session_token;  ///< Empty: a lasting key. Else each request has to bring it.
  std::optional<UnixMillis> expires;
  KeyPolicy policy;
  std::string
      owner;  ///< Chosen by the code that created the key, e.g. a job's name; not interpreted here.
  /// The lasting key that a temporary one was made of, whose rights it has; empty: a lasting one.
  std::string maker = {};
  std::string session = {};  ///< "ROLE/NAME" of AssumeRole's; empty otherwise.

  /// The key whose bounds a request counts in.
  const std::string& counted() const { return maker.empty() ? id : maker; }
};

/// True if a bucket has an object `place.key`, or one in the folder of that name.
using IsThere = std::function<bool(const Place& place)>;

/// True if `key` may do `op`, other than a listing, on `name` of `bucket`; `name` is empty for
/// operations on a bucket; the source of a copy is a separate get_object. `is_there` is called only
/// for places to read with Extent::start.
bool allowed(const AccessKey& key, s3wire::S3Op op, std::string_view bucket, std::string_view name,
             const IsThere& is_there);

/// What a key sees of a listing.
enum class View {
  nothing,  ///< No right to list.
  named,    ///< ListQuery::named_only: the object and the folder that the prefix names.
  all,
};
bool is_listing(s3wire::S3Op op);
View view_of(const AccessKey& key, s3wire::S3Op op, std::string_view bucket,
             std::string_view prefix, const IsThere& is_there);

/// True if `key` may call an operation of a service other than S3; `service` by its name in
/// credential scopes: "sagemaker", "ListTrainingJobs". A limited key may ask STS who it is,
/// and ECR for a token to pull images by; no more.
bool allowed_operation(const AccessKey& key, std::string_view service, std::string_view operation);

class KeyRing {
 public:
  /// Takes the place of a key with the same id. Error: `invalid_input` for an id or a secret that
  /// no client could sign with (empty, too long, characters that break the header).
  Result<void> add(AccessKey key);
  /// From now on unknown. False if it was.
  bool revoke(std::string_view id);
  /// Revokes all keys with this owner, and returns how many. None if `owner` is empty.
  std::size_t revoke_owned(std::string_view owner);
  /// None if unknown. Keys that expired are found: the answer to them is another one.
  std::shared_ptr<const AccessKey> find(std::string_view id) const;
  std::vector<std::string> ids() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<const AccessKey>, std::less<>> keys_;
};

}  // namespace muster::access
