#include "image/pull/pull_signatures.h"

namespace muster::image {
namespace {

/// Signatures of one manifest; none where the registry knows no such tag.
loop::Task<Result<std::vector<AttachedSignature>>> attached_to(Registry& registry,
                                                               std::string digest) {
  using Attached = std::vector<AttachedSignature>;
  const Result<std::string> manifest = co_await registry.manifest(signature_tag(digest));
  if (!manifest && manifest.error().code == Errc::not_found) co_return Attached();
  if (!manifest) co_return manifest.error();
  co_return attached_signatures(*manifest);
}

loop::Task<Result<std::string>> bring_payload(Registry& registry, Descriptor payload) {
  const auto text = std::make_shared<std::string>();
  const Registry::Take take = [text](std::string_view bytes) {
    *text += bytes;
    return Result<void>();
  };
  const Result<void> came = co_await registry.blob(payload.digest, payload.bytes, take);
  if (!came) co_return came.error();
  co_return std::move(*text);
}

}  // namespace

loop::Task<Result<Evidence>> bring_signatures(Registry& registry, const Policy& policy,
                                              Reference image, std::string digest,
                                              Evidence evidence) {
  for (const std::string& each : digests_of(digest, evidence)) {
    Result<std::vector<AttachedSignature>> attached = co_await attached_to(registry, each);
    if (!attached) co_return attached.error().in(to_text(image));
    for (AttachedSignature& one : *attached) {
      Result<std::string> payload = co_await bring_payload(registry, one.payload);
      if (!payload) co_return payload.error();
      evidence.signatures.push_back({*std::move(payload), std::move(one.signature)});
    }
  }
  const Result<void> taken = check_image(policy, image, digest, evidence);
  if (!taken) co_return taken.error();
  co_return evidence;
}

}  // namespace muster::image
