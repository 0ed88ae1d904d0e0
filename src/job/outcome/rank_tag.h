#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "job/outcome/lines.h"

namespace muster::job {

/// What a rank's line begins with in a host's log, "[1,mpirank:3,algo-2]<stdout>:"
/// (docs/protocols/exit-codes.md).
struct RankTag {
  int rank = 0;
  std::string_view host{};  ///< As the tag says; a part of the line.
  Stream stream = Stream::out;
  std::size_t bytes = 0;  ///< The tag's length.
};
/// Higher ranks are none.
constexpr std::int64_t tagged_rank_most = 1'000'000;

/// None: the line has no such tag, as those of a rank that is alone on its host. Pure.
std::optional<RankTag> rank_tag_in(std::string_view line);
/// Empty if `rank` is -1. Pure.
std::string rank_tag(int rank, const std::string& host, Stream stream);

/// "stdout", "stderr".
const char* stream_name(Stream stream);

}  // namespace muster::job
