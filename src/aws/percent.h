#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::aws {

/// Percent-encoding as URLs and signatures have it. Pure.

/// Names and values of a query or of headers, in their order.
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Percent-encodes all but letters, digits and "-._~"; '/' too unless `keep_slash`.
std::string percent_encoded(std::string_view text, bool keep_slash);
/// "a=1&b=": sorted and encoded, as it is signed and as it goes out.
std::string encoded_query(Pairs query);

/// Undoes percent-encoding; none if broken. `plus_is_space`: in queries, not in paths.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
/// All names and values, decoded, in their order; none if the encoding is broken.
std::optional<Pairs> decoded_query(std::string_view query);

}  // namespace muster::aws
