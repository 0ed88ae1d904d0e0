#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::packing {

/// One thing in an archive.
struct Member {
  enum class Kind : std::uint8_t { file, folder, link, other };

  std::string name;  ///< As the archive has it, for people: visible_line(), its end cut off.
  Kind kind = Kind::file;
  std::uint64_t bytes = 0;  ///< A file's size, as the archive says.
  std::int64_t time = 0;    ///< Seconds since 1970 of the last change, as it says.
  std::string target{};     ///< A link's, as `name`.
};

/// How far an archive is looked through.
struct ContentsLimits {
  std::size_t members_max = 1000;
  std::uint64_t bytes_max = 16ull << 30;  ///< Unpacked, whatever they are.
  TimePoint deadline = TimePoint::max();
};

struct Contents {
  std::vector<Member> members;  ///< In the archive's order.
  bool more = false;            ///< A limit was met before its end.
};

/// Lists a tar archive, plain or gzip, in the first `file_bytes` of `file` from its current
/// position. Nothing is unpacked to disk; the content of files is skipped. Blocks. Errors:
/// `invalid_input` (not an archive, damaged, truncated), `system`.
Result<Contents> contents_of(Fd file, std::uint64_t file_bytes, const ContentsLimits& limits);

}  // namespace muster::packing
