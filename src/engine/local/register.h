#pragma once

// Inside local/ only: files of the machine in which all its jobs, of whatever state folder, note
// what they have.

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace muster::local {

/// Creates the register's folder, mode 0700, and waits for the lock, which is released with the
/// descriptor. The lock is on a file next to the register, because the register is replaced as a
/// whole.
Result<Fd> lock_register(const std::string& register_file);

}  // namespace muster::local
