#include "job/wire/node_place.h"

#include <string_view>

#include "job/wire/node_messages.h"

namespace muster::job {
namespace {

constexpr std::string_view prefix = "muster-";

}  // namespace

bool is_place(const std::string& name) {
  return name.starts_with(prefix) && is_nonce(name.substr(prefix.size()));
}

std::string place_around(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  return is_place(parent.substr(parent.rfind('/') + 1)) ? parent : path;
}

}  // namespace muster::job
