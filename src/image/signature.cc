#include "image/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "image/reference.h"

namespace muster::image {
namespace {

constexpr std::string_view payload_type = "application/vnd.dev.cosign.simplesigning.v1+json";
constexpr const char* signature_name = "dev.cosignproject.cosign/signature";
constexpr std::string_view claim_type = "cosign container image signature";

Error invalid_signature(const std::string& why) {
  return fail(Errc::protocol, "invalid signature: " + why);
}

/// The member that `path` leads to if it is text; empty otherwise.
std::string text_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* name : path) {
    if (!at->is_object()) return "";
    const auto member = at->find(name);
    if (member == at->end()) return "";
    at = &*member;
  }
  return at->is_string() ? at->get<std::string>() : "";
}

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool is_p256(const EVP_PKEY* key) {
  std::array<char, 32> group{};
  std::size_t length = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &length) == 1 &&
         std::string_view(group.data(), length) == "prime256v1";
}

/// No question is asked where the text is an encrypted key.
int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace

std::string signature_tag(const std::string& digest) {
  CHECK_THAT(is_digest(digest), "a digest");
  return "sha256-" + digest.substr(digest.find(':') + 1) + ".sig";
}

bool is_signature_tag(std::string_view tag) {
  constexpr std::string_view start = "sha256-";
  constexpr std::string_view end = ".sig";
  if (!tag.starts_with(start) || !tag.ends_with(end)) return false;
  tag.remove_prefix(start.size());
  tag.remove_suffix(end.size());
  return is_digest("sha256:" + std::string(tag));
}

Result<std::vector<AttachedSignature>> attached_signatures(std::string_view manifest) {
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
  const Manifest* list = std::get_if<Manifest>(&read);
  if (list == nullptr) return invalid_signature("expected a manifest with payloads, got an index");
  const Json json = TRY(parse_json(manifest));
  std::vector<AttachedSignature> attached;
  for (std::size_t i = 0; i < list->layers.size(); ++i) {
    const Descriptor& payload = list->layers[i];
    if (payload.media_type != payload_type) continue;
    if (payload.bytes > payload_bytes_max)
      return invalid_signature("its payload is longer than " +
                               std::to_string(payload_bytes_max >> 10) + " KiB");
    const std::string packed = text_at(json["layers"][i], {"annotations", signature_name});
    std::optional<std::string> signature = from_base64(packed);
    if (!signature || signature->empty())
      return invalid_signature("expected base64 in the annotation " + std::string(signature_name));
    if (attached.size() == signatures_max)
      return invalid_signature("there are more than " + std::to_string(signatures_max) +
                               " signatures");
    attached.push_back({payload, *std::move(signature)});
  }
  return attached;
}

std::vector<std::string> digests_of(const std::string& digest, const Evidence& evidence) {
  std::vector<std::string> digests{digest};
  for (const std::string& bytes : evidence.indexes) {
    const Result<std::variant<Manifest, Index>> read = manifest_from(bytes);
    const Index* index = read ? std::get_if<Index>(&*read) : nullptr;
    if (index == nullptr) continue;
    const bool names_one =
        std::any_of(index->entries.begin(), index->entries.end(), [&](const Index::Entry& entry) {
          return std::find(digests.begin(), digests.end(), entry.manifest.digest) != digests.end();
        });
    if (names_one) digests.push_back(digest_of(bytes));
  }
  return digests;
}

Result<SignedClaim> claim_from(std::string_view payload) {
  if (payload.size() > payload_bytes_max) return invalid_signature("its payload is too long");
  const Result<Json> json = parse_json(payload);
  if (!json) return invalid_signature("its payload is not JSON");
  SignedClaim claim{text_at(*json, {"critical", "image", "docker-manifest-digest"}),
                    text_at(*json, {"critical", "identity", "docker-reference"})};
  if (text_at(*json, {"critical", "type"}) != claim_type || (*json)["critical"].size() != 3)
    return invalid_signature("its payload is not from cosign");
  if (!is_digest(claim.digest)) return invalid_signature("its payload contains no image digest");
  return claim;
}

Result<PublicKey> PublicKey::from_pem(std::string_view text) {
  const Error no_key = fail(Errc::invalid_input,
                            "expected an ECDSA P-256 public key in PEM, as cosign "
                            "generate-key-pair writes cosign.pub");
  if (text.size() > key_bytes_max) return no_key;
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  CHECK_THAT(bio != nullptr, "a buffer");
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr),
                                EVP_PKEY_free);
  if (!key || !is_p256(key.get())) return no_key;
  return PublicKey(std::move(key));
}

bool PublicKey::verifies(const Signature& signature) const {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  CHECK_THAT(context != nullptr, "a digest's context");
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature.signature), signature.signature.size(),
                          bytes_of(signature.payload), signature.payload.size()) == 1;
}

}  // namespace muster::image
