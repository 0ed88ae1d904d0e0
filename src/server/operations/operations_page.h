#pragma once

#include <string>

namespace muster::server {

/// The supported operations and the treatment of their fields, in Markdown: the text of
/// docs/users/operations.md and the output of `sm server --operations`. Pure.
std::string operations_page();

}  // namespace muster::server
