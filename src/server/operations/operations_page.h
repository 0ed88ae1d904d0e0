#pragma once

#include <string>

namespace muster::server {

/// The operations that the server answers and what becomes of their members, in Markdown: the text
/// of docs/users/operations.md, and what `sm server --operations` prints. Pure.
std::string operations_page();

}  // namespace muster::server
