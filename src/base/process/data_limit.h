#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// Limits the memory that this process allocates for itself, thread stacks included (RLIMIT_DATA).
/// Beyond `bytes` it writes `last_words` on standard error and exits with code ENOMEM: where `new`
/// fails, and where the process aborts from lack of memory (a thread's stack, a C library's
/// buffers). Shared memory and files' pages do not count. Call before threads and children. No
/// effect under a sanitizer, which reserves more addresses than that.
void limit_data(std::int64_t bytes, std::string last_words);

/// For a child between fork and exec: the limit that this process was started with. Safe after a
/// fork; does nothing where nothing was limited.
void restore_data_limit();

}  // namespace muster
