#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3wire/checksum.h"
#include "aws/s3wire/s3_request.h"
#include "base/time.h"

namespace muster::s3wire {

/// Pages of a bucket's keys.
///
/// Pure: over keys in the order of their bytes, which come through a cursor.

struct ListedObject {
  std::string key;
  std::string etag;  ///< Without quotes.
  std::uint64_t size = 0;
  UnixMillis modified{};
  std::optional<Checksum> checksum;
  bool whole_checksum = false;  ///< FULL_OBJECT, else COMPOSITE.
};

/// Keys in the order of their bytes, from a place on.
class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  /// To the first key that is not less than `key`. Called with greater keys each time.
  virtual void seek(std::string_view key) = 0;
  virtual void next() = 0;
  /// The key here; none at the end. The view holds until the next call.
  virtual std::optional<std::string_view> key() = 0;
  /// What is here; none if it went away meanwhile.
  virtual std::optional<ListedObject> object() = 0;
};

struct Listing {
  std::vector<ListedObject> objects;
  std::vector<std::string> common_prefixes;
  bool truncated = false;
  /// Where the next page begins: the last key or common prefix of this one. Empty if not truncated.
  std::string next;
};

/// A page by `query`: what is behind query.after (a key, or a common prefix that the page before
/// ended with). At most query.max objects and common prefixes together.
Listing list(KeyCursor& keys, const ListQuery& query);

/// Opaque to clients.
std::string continuation_token(std::string_view next);
/// The text that the token encodes; none if it is not a token: InvalidArgument.
std::optional<std::string> continued_at(std::string_view token);

/// The least text greater than all that start with `prefix`; none if there is none (all 0xff).
std::optional<std::string> behind_prefix(std::string prefix);

}  // namespace muster::s3wire
