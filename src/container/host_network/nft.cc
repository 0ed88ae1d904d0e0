#include "container/host_network/nft.h"

#include "container/tool.h"

namespace muster::container {

Result<std::string> find_nft(const Env& env) {
  Result<std::string> nft = find_tool("nft", env);
  if (!nft) return fail(Errc::not_found, "nft is not installed (Debian package: nftables)");
  return nft;
}

Result<void> run_nft(const std::string& text, const Env& env) {
  const std::string nft = TRY(find_nft(env));
  return run_tool({nft, "-f", "-"}, text);
}

}  // namespace muster::container
