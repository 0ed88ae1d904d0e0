#pragma once

// Inside access/ only: the text that a signature is made of, from a request as it came. Pure.

#include <string>
#include <string_view>

#include "aws/request_head.h"

namespace muster::access {

/// The path as it is signed. `of_s3`: decoded and encoded again, once; otherwise without "." and
/// "..", and encoded once more.
void put_canonical_path(std::string& out, std::string_view path, bool of_s3);
/// Names and values decoded, encoded and sorted; without the parameter `without`.
void put_canonical_query(std::string& out, std::string_view query, std::string_view without);
/// A line for each of `names` ("host;x-amz-date"), in their order; values of one name with commas.
void put_canonical_headers(std::string& out, const aws::RequestHead& head, std::string_view names);

/// The first of "a;b;c", which then lacks it.
std::string_view next_name(std::string_view& names);

}  // namespace muster::access
