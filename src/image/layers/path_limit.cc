#include "image/layers/path_limit.h"

#include <string>

namespace muster::image {

Result<std::string_view> checked_path(const char* raw) {
  const std::string_view path = raw != nullptr ? raw : "";
  std::size_t parts = 0;
  for (std::size_t i = 0; i < path.size() && parts <= path_parts_max; ++i)
    if (path[i] != '/' && (i == 0 || path[i - 1] == '/')) ++parts;
  if (path.size() <= path_bytes_max && parts <= path_parts_max) return path;
  return fail(Errc::protocol, "the path has " + std::to_string(path.size()) +
                                  " bytes; the limits are " + std::to_string(path_bytes_max) +
                                  " bytes and " + std::to_string(path_parts_max) + " parts");
}

}  // namespace muster::image
