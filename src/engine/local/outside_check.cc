#include "engine/local/outside_check.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/process/rootless.h"
#include "net/addresses/default_route.h"
#include "os/supervise/spawn.h"

namespace muster::local {
namespace {

constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin";

}  // namespace

std::string why_no_outside(const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search = (path == env.end() ? "" : path->second) + administrators_path;
  if (!supervise::find_program("nft", {{"PATH", search}}, "/"))
    return "nft is not installed (Debian package: nftables)";
  if (rootless_ids(env) > 0) {
    if (!supervise::find_program("slirp4netns", {{"PATH", search}}, "/"))
      return "slirp4netns is not installed (Debian package: slirp4netns)";
    if (::access("/dev/net/tun", R_OK | W_OK) != 0) return errno_text("cannot open /dev/net/tun");
  }
  if (default_route_interface(read_file("/proc/net/route").value_or("")).empty())
    return "the machine has no default route";
  return {};
}

}  // namespace muster::local
