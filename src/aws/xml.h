#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::aws {

/// What AWS's XML answers need: texts of plain elements, and texts written into elements.
///
/// Pure: texts in, texts out. Callers bound the size of what they read.

/// The text of the first element `name`; none if `xml` is malformed, the element is missing, or
/// contains other elements.
std::optional<std::string> xml_text(std::string_view xml, const std::string& name);

/// Appends `text`, escaped for an element of XML 1.0: invalid characters (controls, bytes that are
/// not UTF-8, U+FFFE) become U+FFFD.
void put_xml(std::string& out, std::string_view text);
std::string xml_escaped(std::string_view text);

/// S3's error for a failed request: "NoSuchKey" and a line. Both can be used in a message: bounded,
/// without control characters. Empty if `xml` is not such a response.
struct S3Failure {
  std::string code;
  std::string message;
  std::string region;  ///< Where the bucket is, if S3 says so.
};
S3Failure s3_failure(std::string_view xml);

}  // namespace muster::aws
