#include "job/outcome/rank_tag.h"

#include "base/text.h"

namespace muster::job {
namespace {

constexpr std::string_view tag_begin = "[1,mpirank:";
constexpr std::string_view out_end = "<stdout>:";
constexpr std::string_view err_end = "<stderr>:";
constexpr std::size_t tag_bytes_max = 200;
constexpr std::size_t digits_max = 12;

}  // namespace

std::optional<RankTag> rank_tag_in(std::string_view line) {
  if (!line.starts_with(tag_begin)) return std::nullopt;
  const std::string_view head = line.substr(tag_begin.size(), tag_bytes_max);
  const std::size_t comma = head.substr(0, digits_max).find(',');
  const std::size_t host_end = head.find("]<");
  if (comma == std::string_view::npos || host_end == std::string_view::npos || comma > host_end)
    return std::nullopt;
  const std::optional<std::int64_t> rank = parse_integer(head.substr(0, comma));
  if (!rank || *rank < 0 || *rank > tagged_rank_most) return std::nullopt;
  const std::string_view rest = line.substr(tag_begin.size() + host_end + 1);
  const bool is_err = rest.starts_with(err_end);
  if (!is_err && !rest.starts_with(out_end)) return std::nullopt;
  return RankTag{.rank = static_cast<int>(*rank),
                 .host = head.substr(comma + 1, host_end - comma - 1),
                 .stream = is_err ? Stream::err : Stream::out,
                 .bytes = line.size() - rest.size() + (is_err ? err_end : out_end).size()};
}

std::string rank_tag(int rank, const std::string& host, Stream stream) {
  if (rank < 0) return {};
  return std::string(tag_begin) + std::to_string(rank) + "," + host + "]" +
         std::string(stream == Stream::err ? err_end : out_end);
}

const char* stream_name(Stream stream) {
  return stream == Stream::err ? "stderr" : "stdout";
}

}  // namespace muster::job
