#pragma once

#include <string>

namespace muster::server {

/// A place for `program` (a file's path) in `folder`, from where stewards are started: the file
/// there stays the same while a steward runs it, whatever happens to `program`. A server that
/// starts again with the same program gets the same file; what no process runs any more is removed.
/// Without that a steward's host may fail to start: the kernel mounts no file whose name has gone.
///
/// `folder` belongs to one server at a time. `program` itself, if no place could be made. Blocks.
std::string kept_program(const std::string& folder, const std::string& program);

}  // namespace muster::server
