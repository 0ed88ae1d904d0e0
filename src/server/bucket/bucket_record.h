#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_request.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::bucket {

/// An object's metadata in a bucket, and its form after the bytes in one file.
///
/// Pure: values and bytes. Source: docs/protocols/bucket.md.

struct PartRecord {
  std::uint64_t size = 0;
  std::string checksum;  ///< Base64; empty: none.

  bool operator==(const PartRecord&) const = default;
};

struct ObjectRecord {
  std::string key;
  std::string id;  ///< The object's version, new for each write.
  std::uint64_t size = 0;
  UnixMillis modified{};
  std::string etag;  ///< Without quotes.
  s3wire::ObjectMetadata metadata;
  std::optional<s3wire::KeptChecksum> checksum;
  std::vector<PartRecord> parts;  ///< Empty if it was not uploaded in parts.

  bool operator==(const ObjectRecord&) const = default;
};

/// The end of an object's file: the record, and a tail of `record_tail_bytes`.
std::string encode_record(const ObjectRecord& record);
inline constexpr std::size_t record_tail_bytes = 16;

/// The size of the record at the end of the file, including the tail. Error: `protocol`: no tail.
Result<std::size_t> record_bytes(std::string_view end_of_file);
/// Parses the exact output of encode_record(). Error: `protocol`: damaged.
Result<ObjectRecord> decode_record(std::string_view bytes);

/// Converts tags to the content of their separate file, and back. Error: `protocol`.
std::string encode_tags(const std::string& id, const aws::Pairs& tags);
struct KeptTags {
  std::string id;
  aws::Pairs tags;
};
Result<KeptTags> decode_tags(std::string_view bytes);

}  // namespace muster::bucket
