#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/manifest.h"

struct evp_pkey_st;

namespace muster::image {

/// Signatures of images as cosign attaches them: under the tag `sha256-HEX.sig` of the image's own
/// repository lies a manifest, of which each layer is a payload, and an annotation of that layer
/// the signature of the payload's bytes.
///
/// Pure. What others wrote is refused beyond the limits below.
/// Source: sigstore/cosign, specs/SIGNATURE_SPEC.md; containers/image, signature/.

constexpr std::size_t signatures_max = 128;           ///< One image has so many at most.
constexpr std::size_t payload_bytes_max = 64u << 10;  ///< Most have 250 bytes.
constexpr std::size_t key_bytes_max = 16u << 10;      ///< A key in PEM.

/// The tag under which the signatures of a manifest are: "sha256-HEX.sig" for "sha256:HEX".
std::string signature_tag(const std::string& digest);
bool is_signature_tag(std::string_view tag);

/// A payload that has to be read, and its signature.
struct AttachedSignature {
  Descriptor payload;
  std::string signature;  ///< In DER.
};
/// What a manifest that a signature tag names has of them; layers of other kinds are left out.
/// Error: `protocol`, in one line.
Result<std::vector<AttachedSignature>> attached_signatures(std::string_view manifest);

struct Signature {
  std::string payload;
  std::string signature;  ///< In DER.

  bool operator==(const Signature&) const = default;
};

/// What is known of who signed an image.
struct Evidence {
  std::vector<std::string> indexes{};  ///< Documents; each names the image or one before it.
  std::vector<Signature> signatures{};

  bool operator==(const Evidence&) const = default;
};
/// The image's digest, and those of the indexes of `evidence` that it is one of.
std::vector<std::string> digests_of(const std::string& digest, const Evidence& evidence);

/// What a payload says is signed.
struct SignedClaim {
  std::string digest;     ///< A manifest's, or an index's.
  std::string reference;  ///< "reg.lab/team/box", "reg.lab/team/box:v1".
};
/// Error: `protocol`, in one line.
Result<SignedClaim> claim_from(std::string_view payload);

/// A public key of cosign's kind: ECDSA over P-256, with SHA-256.
class PublicKey {
 public:
  /// Error: `invalid_input`.
  static Result<PublicKey> from_pem(std::string_view text);
  bool verifies(const Signature& signature) const;

 private:
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace muster::image
