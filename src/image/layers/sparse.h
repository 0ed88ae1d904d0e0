#pragma once

#include <sys/types.h>

#include <cstddef>

#include "image/layers/budget.h"

namespace muster::image {

constexpr std::size_t block_bytes = 4096;  ///< A block of most file systems.

/// Writes a file that is new and gets its length at the end; blocks of zeros become holes. Pieces
/// may end anywhere. `budget` outlives this.
class SparseWriter {
 public:
  SparseWriter(int file, Budget& budget) : file_(file), budget_(budget) {}
  /// Errors: `system`; Budget::write()'s.
  Result<void> write(const char* bytes, std::size_t count, off_t at);

 private:
  Result<void> write_run(const char* bytes, std::size_t count, off_t at);
  int file_;
  Budget& budget_;
  off_t end_ = 0;      ///< The end of the last run,
  off_t counted_ = 0;  ///< and of its last block.
};

/// Copies a file into a new empty one; holes stay holes. Errors: `system`; Budget's.
Result<void> copy_sparse(int from, int to, Budget& budget, Meter& meter);

}  // namespace muster::image
