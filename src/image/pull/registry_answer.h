#pragma once

// Inside image/ only: what a registry's answers mean.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/client.h"

namespace muster::image {

/// Where a redirect leads. A way without TLS is taken from another such one alone, and beyond this
/// machine only where `plain` says so. Error: `unsupported`, without the whole place: it may hold a
/// secret.
Result<http::Url> redirected(const http::Url& from, const http::Head& answer, bool plain);

/// The first byte of "bytes 5-9/10"; none if it is not that, or not of `total` bytes.
std::optional<std::uint64_t> range_begin(std::string_view content_range, std::uint64_t total);

/// A registry's own words for a failure, fit for a message: bounded, of one line. Empty: it has
/// none.
std::string failure_in(std::string_view body);

/// One line about an answer outside 2xx. `what`: "no such image"; `login`: where the one that was
/// shown came from, empty if none was.
Error failure_of(const http::Head& head, std::string_view body, const std::string& what,
                 const std::string& login);

}  // namespace muster::image
