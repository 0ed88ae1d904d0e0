#include "local/outside.h"

#include "base/default_route.h"
#include "base/fd.h"
#include "supervise/spawn.h"

namespace muster::local {
namespace {

constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin";

}  // namespace

std::string why_no_outside(const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search = (path == env.end() ? "" : path->second) + administrators_path;
  if (!supervise::find_program("nft", {{"PATH", search}}, "/"))
    return "nft is not installed (Debian: nftables)";
  if (default_route_interface(read_file("/proc/net/route").value_or("")).empty())
    return "the machine has no default route";
  return {};
}

}  // namespace muster::local
