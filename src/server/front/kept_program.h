#pragma once

#include <string>

namespace muster::server {

/// The path of a copy of `program` (a file's path) in `folder`, from which stewards are started.
/// The copy stays unchanged while a steward runs it, whatever happens to `program`. A server that
/// restarts with the same program gets the same copy; copies that no process runs are removed.
/// Without the copy, a steward's host may fail to start, because the kernel cannot mount a file
/// that was removed.
///
/// `folder` belongs to one server at a time. Returns `program` itself if it cannot be copied.
/// Blocks.
std::string kept_program(const std::string& folder, const std::string& program);

}  // namespace muster::server
