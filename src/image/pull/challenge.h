#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::image {

/// How a registry says what it wants to see, and what its token service answers.
///
/// Pure: texts in, values out; no error repeats a token.
/// Source: RFC 9110 section 11; the distribution project's "Token Authentication Specification".

/// One way in that a WWW-Authenticate header names.
struct Challenge {
  std::string scheme;                             ///< In small letters: "basic", "bearer".
  std::map<std::string, std::string> parameters;  ///< Names in small letters, values unquoted.

  bool operator==(const Challenge&) const = default;
  /// Empty if no value has that name.
  std::string value(const std::string& name) const;
};

/// The challenges of a header; several such headers are one, joined by commas. Error: `protocol`:
/// longer than 8 KiB, more than 16 challenges or 32 parameters, one given twice, not the grammar.
Result<std::vector<Challenge>> challenges_from(std::string_view header);

/// The token in a token service's JSON response ("token", or "access_token" in OAuth 2), valid for
/// a header. Error: `protocol`.
Result<std::string> token_from(std::string_view answer);

}  // namespace muster::image
