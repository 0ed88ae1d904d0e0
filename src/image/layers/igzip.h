#pragma once

#include <memory>

#include "image/layers/bytes.h"

namespace muster::image {

/// What `packed` holds, unpacked by igzip(1) of ISA-L, a process that takes a third of zlib's time;
/// null where that is not installed. Whatever is wrong, with the bytes or with the process, ends
/// them early: who takes them checks their digest. `packed` is read to its end. The process has no
/// files but its two ends, and ends with this, or with the thread that takes the bytes. Errors:
/// those of `packed`.
std::unique_ptr<Bytes> by_igzip(std::unique_ptr<Bytes> packed);

/// Whether by_igzip() has a program to start.
bool has_igzip();

}  // namespace muster::image
