#include "image/signature.h"

#include "image/signature_testing.h"

namespace muster::image {
namespace {

const std::string digest = digest_of("a manifest");

TEST_CASE("image signature: a key takes its own signature of these bytes, and no other") {
  const TestKey own;
  const TestKey other;
  const Result<PublicKey> key = PublicKey::from_pem(own.pem());
  REQUIRE(key);
  const Signature good = own.sign(test_payload(digest, "reg.lab/box"));
  CHECK(key->verifies(good));
  CHECK_FALSE(key->verifies(other.sign(good.payload)));
  Signature changed = good;
  changed.payload[10] = static_cast<char>(changed.payload[10] ^ 1);
  CHECK_FALSE(key->verifies(changed));
  for (std::size_t i = 0; i < good.signature.size(); ++i) {
    changed = good;
    changed.signature[i] = static_cast<char>(changed.signature[i] ^ 1);
    CHECK_FALSE(key->verifies(changed));
  }
  CHECK_FALSE(key->verifies({good.payload, ""}));
  CHECK_FALSE(key->verifies({"", good.signature}));
}

TEST_CASE("image signature: keys of other kinds are refused") {
  const std::string good = TestKey().pem();
  for (const std::string& text :
       {std::string(), std::string("key"), TestKey("P-384").pem(), good.substr(0, good.size() / 2),
        good + std::string(key_bytes_max, '\n')}) {
    const Result<PublicKey> key = PublicKey::from_pem(text);
    REQUIRE_FALSE(key);
    CHECK(key.error().text.starts_with("expected an ECDSA P-256 public key"));
  }
}

TEST_CASE("image signature: a payload names a digest and a reference, or is refused") {
  const std::string good = test_payload(digest, "reg.lab/box:v1");
  const Result<SignedClaim> claim = claim_from(good);
  REQUIRE(claim);
  CHECK(claim->digest == digest);
  CHECK(claim->reference == "reg.lab/box:v1");
  const auto with = [&](const std::string& pointer, Json value) {
    Json json = Json::parse(good);
    json[Json::json_pointer(pointer)] = std::move(value);
    return muster::to_text(json);
  };
  for (const std::string& text :
       {std::string("x"), std::string("[]"), std::string("{}"), with("/critical", 1),
        with("/critical/type", "atomic container signature"), with("/critical/more", 1),
        with("/critical/image/docker-manifest-digest", "sha256:1"), with("/critical/image", 1),
        with("/optional", std::string(payload_bytes_max, 'x'))})
    CHECK_FALSE(claim_from(text));
}

TEST_CASE("image signature: attachments are read, other layers passed over") {
  const Signature one = TestKey().sign(test_payload(digest, "reg.lab/box"));
  Json json = Json::parse(test_signatures({one, one}, "{}"));
  json["layers"][0]["mediaType"] = "application/vnd.oci.image.layer.v1.tar";
  const Result<std::vector<AttachedSignature>> read = attached_signatures(muster::to_text(json));
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  CHECK(read->at(0).payload.digest == digest_of(one.payload));
  CHECK(read->at(0).signature == one.signature);
}

TEST_CASE("image signature: attachments beyond a limit, or without a signature, are refused") {
  const Signature one = TestKey().sign("p");
  const std::vector<Signature> many(signatures_max + 1, one);
  CHECK_FALSE(attached_signatures(test_signatures(many, "{}")));
  Json json = Json::parse(test_signatures({one}, "{}"));
  json["layers"][0]["size"] = payload_bytes_max + 1;
  CHECK_FALSE(attached_signatures(muster::to_text(json)));
  json["layers"][0]["size"] = 1;
  for (const Json& value : {Json("?"), Json(""), Json(1), Json()}) {
    json["layers"][0]["annotations"]["dev.cosignproject.cosign/signature"] = value;
    CHECK_FALSE(attached_signatures(muster::to_text(json)));
  }
  json["layers"][0]["annotations"] = 1;
  CHECK_FALSE(attached_signatures(muster::to_text(json)));
}

TEST_CASE("image signature: the tag of a digest's signatures") {
  CHECK(signature_tag(digest) == "sha256-" + digest.substr(7) + ".sig");
  CHECK(is_signature_tag(signature_tag(digest)));
  for (const char* tag : {"", "v1", "sha256-.sig", "sha256-12.sig"}) CHECK(!is_signature_tag(tag));
}

TEST_CASE("image signature: an image counts as what the indexes name that it is in") {
  const auto index = [](const std::string& of) {
    return muster::to_text(Json{{"manifests", Json::array({Json{{"digest", of}, {"size", 1}}})}});
  };
  const std::string inner = index(digest);
  const std::string outer = index(digest_of(inner));
  const std::string other = index(digest_of("other"));
  CHECK(digests_of(digest, {{inner, outer}, {}}) ==
        std::vector<std::string>{digest, digest_of(inner), digest_of(outer)});
  CHECK(digests_of(digest, {{other, outer, "x"}, {}}) == std::vector<std::string>{digest});
}

}  // namespace
}  // namespace muster::image
