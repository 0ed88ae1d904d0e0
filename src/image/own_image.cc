#include "image/own_image.h"

#include <algorithm>

#include "base/text.h"
#include "image/reference.h"

namespace muster::image {

std::optional<std::string> own_image(std::string_view text, const OwnNames& own) {
  Result<Reference> reference = reference_from(text);
  if (!reference || reference->transport != Reference::Transport::registry) return std::nullopt;
  const std::string host = lower_case(reference->registry);
  const std::string ecr = own.account + ".dkr.ecr." + own.region + ".amazonaws.com";
  const bool is_own = host == own_registry || host == ecr ||
                      std::any_of(own.hosts.begin(), own.hosts.end(),
                                  [&](const std::string& one) { return lower_case(one) == host; });
  if (!is_own) return std::nullopt;
  reference->registry = own_registry;
  return to_text(*reference);
}

std::optional<OwnName> read_own_name(std::string_view name) {
  if (!name.starts_with(std::string(own_registry) + "/")) return std::nullopt;
  Result<Reference> reference = reference_from(name);
  if (!reference) return std::nullopt;
  return OwnName{reference->repository, reference->tag, reference->digest};
}

}  // namespace muster::image
