#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::aws {

/// The little that S3's answers need of XML: texts of elements without structure of their own.
///
/// Pure: texts in, texts out. Callers bound the size of what they read.

/// The text of the first element `name`, with &lt; &gt; &amp; &quot; &apos; and &#N; resolved; none
/// if there is no such element, or it does not end, or other elements are inside.
std::optional<std::string> xml_text(std::string_view xml, std::string_view name);

/// `text` as it may stand in an element.
std::string xml_escaped(std::string_view text);

/// What S3 says of a request that failed: "NoSuchKey" and a line. Both fit for a message: bounded,
/// without control characters. Empty if `xml` is no such answer.
struct S3Failure {
  std::string code;
  std::string message;
  std::string region;  ///< Where the bucket is, if S3 says so.
};
S3Failure s3_failure(std::string_view xml);

}  // namespace muster::aws
