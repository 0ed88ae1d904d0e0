#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::packing {

/// The members of a tar archive, one after the other, as libarchive reads them.
class TarReader {
 public:
  /// The archive's next bytes, valid until the next call; empty at the end.
  using Source = std::function<Result<std::string_view>()>;

  explicit TarReader(Source source);
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  /// The next member's header, valid until the next call; null at the end. Errors: the source's;
  /// `invalid_input`: no tar archive, or a damaged one.
  Result<archive_entry*> next();
  /// For archive_read_data_block() of the member that was read last.
  archive* handle() { return handle_.get(); }
  /// Why the library's last call failed.
  Error error(const std::string& what) const;

 private:
  static la_ssize_t read(archive* handle, void* self, const void** bytes);
  Result<void> open();

  Source source_;
  std::optional<Error> source_error_;  ///< Why the library got no more bytes.
  std::unique_ptr<archive, int (*)(archive*)> handle_;
  std::uint64_t members_ = 0;
  bool opened_ = false;
};

}  // namespace muster::packing
