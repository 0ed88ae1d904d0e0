#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/refusal.h"
#include "aws/s3wire/s3_request.h"

namespace muster::s3wire {

/// XML that comes in the bodies of requests.
///
/// Pure: texts in, values out; bounded: a text of more than `document_bytes_max`, or of more
/// entries than S3 takes, is refused (MalformedXML, or MaxMessageLengthExceeded). Document type
/// declarations and processing instructions are refused; entities are XML's own five.
inline constexpr std::size_t document_bytes_max = 4 << 20;

template <class T>
using Document = Result<T, aws::Refusal>;

struct DeleteAsked {
  struct Object {
    std::string key;
    std::string version_id;             ///< Empty, or "null": the object itself.
    std::string etag;                   ///< Only if it has this; empty: any.
    std::optional<std::uint64_t> size;  ///< Only if it has this.
    std::optional<UnixMillis> modified;
  };
  std::vector<Object> objects;  ///< 1 to 1,000.
  bool quiet = false;
};
Document<DeleteAsked> read_delete(std::string_view xml);

struct CompletePart {
  int number = 0;    ///< 1 to 10,000.
  std::string etag;  ///< Without quotes.
  std::optional<GivenChecksum> checksum;
};
/// In document order; parts not in ascending order are InvalidPartOrder. 1 to 10,000 parts; a
/// missing document is MalformedXML, too.
Document<std::vector<CompletePart>> read_complete(std::string_view xml);

/// The location constraint; empty for none. An empty body is one too.
Document<std::string> read_create_bucket(std::string_view xml);

/// At most 10 (S3's limit for objects); names are unique. Errors: MalformedXML, InvalidTag.
Document<aws::Pairs> read_tagging(std::string_view xml);
/// Tags of "a=b&c=d" (x-amz-tagging), within read_tagging's limits; sorted by name.
Document<aws::Pairs> read_tagging_header(std::string_view text);

/// A decimal number without a sign; none if it is anything else.
std::optional<std::uint64_t> whole_number(std::string_view text);

}  // namespace muster::s3wire
