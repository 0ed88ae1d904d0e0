// A policy.json, and what registries have of signatures. The first byte says which.
#include <string_view>

#include "fuzz.h"
#include "image/policy_read.h"

namespace muster {

namespace {

constexpr const char* pem = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0Ic1UGHxjEYZBOARtQHWW8OMBRSf
ayQ5UK/ghtSP1y5K0cqe1mYq1W1zCJf0p+PhBKytE4IpIvBw7BfIlPi7Zg==
-----END PUBLIC KEY-----
)";

void check_line(const Error& error) {
  CHECK_THAT(error.text.find('\n') == std::string::npos, "an error is one line");
  CHECK_THAT(error.text.size() < 2000, "an error quotes a part at most");
}

void check_requirements(const std::vector<image::Requirement>& requirements) {
  CHECK_THAT(!requirements.empty(), "nothing is taken for want of a rule");
  for (const image::Requirement& each : requirements)
    CHECK_THAT(each.key.has_value() == (each.type == image::Requirement::Type::sigstore),
               "who wants a signature has a key");
}

void read_policy(std::string_view text) {
  const image::ReadKey read_key = [](const std::string& path) -> Result<std::string> {
    if (path.size() % 2 == 0) return std::string(pem);
    return fail(Errc::not_found, "no such key");
  };
  const Result<image::Policy> policy = image::policy_from(text, read_key);
  if (!policy) return check_line(policy.error());
  check_requirements(policy->otherwise);
  for (const auto& [transport, scopes] : policy->transports)
    for (const auto& [scope, requirements] : scopes) check_requirements(requirements);
  const std::string digest = image::digest_of("");
  for (const char* name : {"reg.lab:5000/team/box:v1", "docker-archive:/a.tar", "oci:/a/b:v1"}) {
    const image::Reference reference = *image::reference_from(name);
    const Result<bool> needs = image::needs_signatures(*policy, reference);
    const Result<void> taken = image::check_image(*policy, reference, digest, {});
    if (!taken) check_line(taken.error());
    CHECK_THAT(taken.has_value() == (needs && !*needs), "without signatures nothing is signed");
    const image::Evidence forged{{}, {{"{}", "signature"}}};
    CHECK_THAT(
        image::check_image(*policy, reference, digest, forged).has_value() == taken.has_value(),
        "a forged signature changes nothing");
  }
}

void read_attached(std::string_view manifest) {
  const auto attached = image::attached_signatures(manifest);
  if (!attached) return check_line(attached.error());
  CHECK_THAT(attached->size() <= image::signatures_max, "signatures have their limit");
  for (const image::AttachedSignature& each : *attached)
    CHECK_THAT(each.payload.bytes <= image::payload_bytes_max && !each.signature.empty(),
               "payloads have their limit");
}

void read_claim(std::string_view payload) {
  const Result<image::SignedClaim> claim = image::claim_from(payload);
  if (!claim) return check_line(claim.error());
  CHECK_THAT(image::is_digest(claim->digest), "a claim is for a digest");
}

void read_key(std::string_view text) {
  const Result<image::PublicKey> key = image::PublicKey::from_pem(text);
  if (!key) return check_line(key.error());
  CHECK_THAT(!key->verifies({"payload", "signature"}), "no key takes what nobody signed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'p') read_policy(text);
  if (data[0] == 's') read_attached(text);
  if (data[0] == 'c') read_claim(text);
  if (data[0] == 'k') read_key(text);
  return 0;
}

}  // namespace muster
