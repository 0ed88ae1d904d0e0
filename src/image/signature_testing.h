#pragma once

// For tests only.

#include <doctest/doctest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/base64.h"
#include "base/json.h"
#include "image/signature.h"

namespace muster::image {

/// A key as cosign makes one, or of another curve.
class TestKey {
 public:
  explicit TestKey(const char* curve = "P-256") : key_(EVP_EC_gen(curve), EVP_PKEY_free) {
    REQUIRE(key_ != nullptr);
  }
  std::string pem() const {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
    REQUIRE(PEM_write_bio_PUBKEY(bio.get(), key_.get()) == 1);
    char* text = nullptr;
    const auto length = static_cast<std::size_t>(BIO_get_mem_data(bio.get(), &text));
    return {text, length};
  }
  Signature sign(const std::string& payload) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                     EVP_MD_CTX_free);
    REQUIRE(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1);
    const auto* bytes = reinterpret_cast<const unsigned char*>(payload.data());
    std::size_t size = 256;
    std::string made(size, '\0');
    REQUIRE(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &size,
                           bytes, payload.size()) == 1);
    made.resize(size);
    return {payload, made};
  }

 private:
  std::shared_ptr<EVP_PKEY> key_;
};

/// What cosign signs.
inline std::string test_payload(const std::string& digest, const std::string& reference) {
  return muster::to_text(Json{{"critical",
                               {{"identity", {{"docker-reference", reference}}},
                                {"image", {{"docker-manifest-digest", digest}}},
                                {"type", "cosign container image signature"}}},
                              {"optional", nullptr}});
}

/// The manifest of signatures as cosign pushes it.
inline std::string test_signatures(const std::vector<Signature>& signatures,
                                   const std::string& config) {
  Json layers = Json::array();
  for (const Signature& each : signatures)
    layers.push_back(
        {{"mediaType", "application/vnd.dev.cosign.simplesigning.v1+json"},
         {"digest", digest_of(each.payload)},
         {"size", each.payload.size()},
         {"annotations", {{"dev.cosignproject.cosign/signature", base64(each.signature)}}}});
  return muster::to_text(Json{{"schemaVersion", 2},
                              {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                              {"config",
                               {{"mediaType", "application/vnd.oci.image.config.v1+json"},
                                {"digest", digest_of(config)},
                                {"size", config.size()}}},
                              {"layers", std::move(layers)}});
}

}  // namespace muster::image
