#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::aws {

/// What AWS's XML answers need: texts of plain elements, and texts written into elements.
///
/// Pure: texts in, texts out. Callers bound the size of what they read.

/// The text of the first element `name`; none if `xml` is no document, there is no such element, or
/// other elements are inside.
std::optional<std::string> xml_text(std::string_view xml, const std::string& name);

/// Appends `text` as it may stand in an element of XML 1.0: what it cannot hold (controls, bytes
/// that are no UTF-8, U+FFFE) becomes U+FFFD.
void put_xml(std::string& out, std::string_view text);
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
