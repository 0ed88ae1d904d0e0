#include "image/policy_read.h"
#include "image/signature_testing.h"

namespace muster::image {
namespace {

const TestKey& own() {
  static const TestKey key;
  return key;
}
const TestKey& other() {
  static const TestKey key;
  return key;
}
const std::string digest = digest_of("a manifest");
const std::string accept = R"([{"type": "insecureAcceptAnything"}])";
const std::string reject = R"([{"type": "reject"}])";

Result<std::string> read_key(const std::string& path) {
  if (path == "/own.pub") return own().pem();
  if (path == "/other.pub") return other().pem();
  return fail(Errc::not_found, path + ": No such file or directory");
}

Policy policy_of(const std::string& text) {
  Result<Policy> policy = policy_from(text, read_key);
  REQUIRE_MESSAGE(policy, (policy ? "" : policy.error().text));
  return *std::move(policy);
}

/// One for everything of reg.lab, with the identity if it is not empty.
Policy signed_by(const std::string& identity, const std::string& key = "/own.pub") {
  return policy_of(R"({"default": [{"type": "reject"}], "transports": {"docker": {"reg.lab": [
      {"type": "sigstoreSigned", "keyPath": ")" +
                   key + "\"" + (identity.empty() ? "" : ", \"signedIdentity\": " + identity) +
                   "}]}}}");
}

Evidence signatures_for(const std::string& reference, const std::string& of = digest) {
  return {{}, {own().sign(test_payload(of, reference))}};
}

std::string verdict(const Policy& policy, const std::string& image, const Evidence& evidence) {
  const Result<void> taken = check_image(policy, *reference_from(image), digest, evidence);
  if (taken) return "taken";
  CHECK(taken.error().code == Errc::denied);
  CHECK(taken.error().text.find('\n') == std::string::npos);
  return taken.error().text;
}

TEST_CASE("image policy: the longest scope wins, then the transport's own, then the default") {
  const std::string taken = "taken";
  const auto takes = [&](const std::string& scopes, const std::string& image) {
    return verdict(policy_of(R"({"default": [{"type": "reject"}], "transports": )" + scopes + "}"),
                   image, {}) == taken;
  };
  const auto docker = [](const std::string& scope) {
    return R"({"docker": {")" + scope + "\": " + accept + "}}";
  };
  const std::string named = "a.reg.lab:5000/team/box:v1";
  for (const char* scope : {"a.reg.lab:5000/team/box:v1", "a.reg.lab:5000/team/box",
                            "a.reg.lab:5000/team", "a.reg.lab:5000", "*.reg.lab", "*.lab", ""}) {
    CAPTURE(scope);
    CHECK(takes(docker(scope), named));
  }
  for (const char* scope : {"a.reg.lab:5000/team/box:v2", "a.reg.lab:5000/te", "a.reg.lab",
                            "*.a.reg.lab", "team/box", "*", "a.reg.lab:5000/team/"}) {
    CAPTURE(scope);
    CHECK_FALSE(takes(docker(scope), named));
  }
  CHECK(takes(docker("docker.io/library/busybox:latest"), "busybox"));
  CHECK(takes(docker("reg.lab/box@" + digest), "reg.lab/box@" + digest));
  CHECK_FALSE(takes(docker(""), "docker-archive:/a.tar"));
  CHECK(takes(R"({"docker-archive": {"": )" + accept + "}}", "docker-archive:/a.tar"));
  CHECK(takes(R"({"oci": {"/images": )" + accept + "}}", "oci:/images/box:v1"));
  CHECK(takes(R"({"oci": {"/images/box:v1": )" + accept + "}}", "oci:/images/box:v1"));
  CHECK_FALSE(takes(R"({"oci": {"/images/box:v2": )" + accept + "}}", "oci:/images/box:v1"));
  CHECK_FALSE(takes(R"({"oci": {"/im": )" + accept + "}}", "oci:/images/box:v1"));
  CHECK(
      takes(R"({"docker-daemon": {"docker.io/team": )" + accept + "}}", "docker-daemon:team/box"));
  const std::string two = R"({"docker": {"reg.lab": )" + accept + R"(, "reg.lab/team": )" + reject;
  CHECK_FALSE(takes(two + "}}", "reg.lab/team/box:v1"));
  CHECK(takes(two + "}}", "reg.lab/box:v1"));
}

TEST_CASE("image policy: a registry is the same in capitals, and with a dot behind it") {
  const std::string two = R"({"default": )" + accept + R"(, "transports": {"docker": {)";
  for (const char* scope : {"reg.lab", "Reg.LAB", "reg.lab.", "reg.lab/team/box", "*.LAB"})
    for (const char* image :
         {"reg.lab/team/box:v1", "REG.lab/team/box:v1", "reg.lab./team/box:v1"}) {
      CAPTURE(scope);
      CAPTURE(image);
      const Policy policy = policy_of(two + "\"" + scope + "\": " + reject + "}}}");
      CHECK(verdict(policy, image, {}).find("it rejects every such image") != std::string::npos);
    }
  const Policy port = policy_of(two + "\"reg.lab:5000\": " + reject + "}}}");
  CHECK(verdict(port, "Reg.lab.:5000/box", {}) != "taken");
  CHECK(verdict(port, "reg.lab/box", {}) == "taken");
  const Evidence good = signatures_for("reg.lab/box:v1");
  CHECK(verdict(signed_by(""), "REG.lab/box:v1", good) == "taken");
  CHECK(verdict(signed_by(""), "REG.lab/box:v1", {}) != "taken");
  const Result<Policy> twice =
      policy_from(two + "\"reg.lab\": " + reject + ", \"REG.lab\": " + accept + "}}}", read_key);
  REQUIRE(!twice);
  CHECK(twice.error().text.find("in two spellings") != std::string::npos);
}

TEST_CASE("image policy: without a transport of it the default counts") {
  CHECK(verdict(policy_of(R"({"default": )" + accept + "}"), "reg.lab/box", {}) == "taken");
  CHECK(verdict(policy_of(R"({"default": )" + reject + "}"), "reg.lab/box", {}) ==
        "reg.lab/box:latest: refused by the image policy (default): it rejects every such image");
}

TEST_CASE("image policy: one good signature of the key is enough, nothing else is") {
  const Policy policy = signed_by("");
  const std::string image = "reg.lab/box:v1";
  const Evidence good = signatures_for(image);
  CHECK(verdict(policy, image, good) == "taken");
  const std::string start = image + ": refused by the image policy (docker reg.lab): ";
  CHECK(verdict(policy, image, {}) ==
        start + "it is not signed; sign it in its registry with cosign sign --key");
  const std::string wrong_key = start + "its signature was not made with the key /own.pub";
  CHECK(verdict(policy, image, {{}, {other().sign(test_payload(digest, image))}}) == wrong_key);
  Evidence tampered = good;
  tampered.signatures[0].payload += " ";
  CHECK(verdict(policy, image, tampered) == wrong_key);
  const std::string of = digest_of("another");
  CHECK(verdict(policy, image, signatures_for(image, of)) ==
        start + "its signature belongs to another image, " + of);
  CHECK(verdict(policy, image, signatures_for("reg.lab/other:v1")) ==
        start +
            "its signature is for the name 'reg.lab/other:v1', which signedIdentity of its key "
            "does not accept");
  CHECK(verdict(policy, image, {{}, {own().sign("{}")}}) ==
        start + "invalid signature: its payload is not from cosign");
  Evidence several{{}, {other().sign("x"), own().sign("{}"), good.signatures[0]}};
  CHECK(verdict(policy, image, several) == "taken");
  several.signatures.pop_back();
  CHECK(verdict(policy, image, several) ==
        start + "invalid signature: its payload is not from cosign");
}

TEST_CASE("image policy: all requirements are to be met") {
  const std::string one = R"({"type": "sigstoreSigned", "keyPath": "/own.pub"})";
  const std::string two = R"({"type": "sigstoreSigned", "keyPath": "/other.pub"})";
  const Policy policy = policy_of(R"({"default": [)" + one + "," + two + "]}");
  const std::string image = "reg.lab/box:v1";
  Evidence evidence = signatures_for(image);
  CHECK(verdict(policy, image, evidence).ends_with("was not made with the key /other.pub"));
  evidence.signatures.push_back(other().sign(test_payload(digest, image)));
  CHECK(verdict(policy, image, evidence) == "taken");
  const Policy with_reject = policy_of(R"({"default": [)" + one + R"(,{"type": "reject"}]})");
  CHECK(verdict(with_reject, image, evidence).ends_with("it rejects every such image"));
  const Policy with_accept =
      policy_of(R"({"default": [{"type": "insecureAcceptAnything"},)" + one + "]}");
  CHECK(verdict(with_accept, image, {}).find("it is not signed") != std::string::npos);
}

TEST_CASE("image policy: a signature of an index is one of its images") {
  const std::string index =
      muster::to_text(Json{{"manifests", Json::array({Json{{"digest", digest}, {"size", 1}}})}});
  Evidence evidence = signatures_for("reg.lab/box:v1", digest_of(index));
  CHECK(verdict(signed_by(""), "reg.lab/box:v1", evidence) != "taken");
  evidence.indexes.push_back(index);
  CHECK(verdict(signed_by(""), "reg.lab/box:v1", evidence) == "taken");
}

TEST_CASE("image policy: no signature makes up for an image that lies in a file") {
  const Policy policy =
      policy_of(R"({"default": [{"type": "sigstoreSigned", "keyPath": "/own.pub"}]})");
  CHECK(verdict(policy, "oci:/box:v1", signatures_for("reg.lab/box:v1"))
            .ends_with("signatures are checked only in registries"));
}

TEST_CASE("image policy: the required name in a signature") {
  const std::string by_digest = "reg.lab/box@" + digest;
  const struct {
    const char* identity;
    std::string image, claimed;
    bool taken;
  } cases[] = {
      {"", "reg.lab/box:v1", "reg.lab/box:v1", true},
      {"", "reg.lab/box:v1", "reg.lab/box:v2", false},
      {"", "reg.lab/box:v1", "reg.lab/box", false},  // As cosign writes it.
      {"", "reg.lab/box:latest", "reg.lab/box", false},
      {"", by_digest, "reg.lab/box:v2", true},
      {"", by_digest, "reg.lab/other:v2", false},
      {"", "reg.lab/box:v1", "", false},
      {"", "reg.lab/box:v1", "docker://reg.lab/box:v1", false},
      {R"({"type": "matchRepoDigestOrExact"})", by_digest, "reg.lab/box", true},
      {R"({"type": "matchExact"})", "reg.lab/box:v1", "reg.lab/box:v1", true},
      {R"({"type": "matchExact"})", by_digest, "reg.lab/box:v1", false},
      {R"({"type": "matchRepository"})", "reg.lab/box:v1", "reg.lab/box", true},
      {R"({"type": "matchRepository"})", "reg.lab/box:v1", "reg.lab/box:v9", true},
      {R"({"type": "matchRepository"})", "reg.lab/box:v1", "reg.lab/boxes", false},
      {R"({"type": "exactReference", "dockerReference": "a.lab/x:v1"})", "reg.lab/box:v1",
       "a.lab/x:v1", true},
      {R"({"type": "exactReference", "dockerReference": "a.lab/x:v1"})", "reg.lab/box:v1",
       "reg.lab/box:v1", false},
      {R"({"type": "exactRepository", "dockerRepository": "a.lab/x"})", "reg.lab/box:v1",
       "a.lab/x:v7", true},
      {R"({"type": "exactRepository", "dockerRepository": "a.lab/x"})", "reg.lab/box:v1", "a.lab/y",
       false},
      {R"({"type": "remapIdentity", "prefix": "reg.lab", "signedPrefix": "a.lab/m"})",
       "reg.lab/box:v1", "a.lab/m/box:v1", true},
      {R"({"type": "remapIdentity", "prefix": "reg.lab/box", "signedPrefix": "a.lab/x"})",
       by_digest, "a.lab/x", true},
      {R"({"type": "remapIdentity", "prefix": "reg.lab/bo", "signedPrefix": "a.lab/x"})",
       "reg.lab/box:v1", "reg.lab/box:v1", true},
      {R"({"type": "remapIdentity", "prefix": "reg.lab", "signedPrefix": "a.lab"})",
       "reg.lab/box:v1", "reg.lab/box:v1", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.identity);
    CAPTURE(c.image);
    CAPTURE(c.claimed);
    CHECK((verdict(signed_by(c.identity), c.image, signatures_for(c.claimed)) == "taken") ==
          c.taken);
  }
}

TEST_CASE("image policy: unsupported rules are refused by name when the policy is read") {
  const auto with = [](const std::string& requirement) {
    return R"({"default": [)" + requirement + "]}";
  };
  const auto sigstore = [&](const std::string& rest) {
    return with(R"({"type": "sigstoreSigned")" + rest + "}");
  };
  const auto identity = [&](const std::string& value) {
    return sigstore(R"(, "keyPath": "/own.pub", "signedIdentity": )" + value);
  };
  const struct {
    std::string text, want;
  } cases[] = {
      {"", "line 1"},
      {"{", "line 1"},
      {"[]", "the policy: expected an object"},
      {"{}", "the policy: expected a list of requirements in \"default\""},
      {R"({"default": []})", "default: expected a non-empty list of requirements"},
      {R"({"default": )" + accept + R"(, "default": )" + reject + "}", "\"default\" appears twice"},
      {R"({"default": )" + accept + R"(, "more": 1})", "unsupported key \"more\""},
      {R"({"default": )" + accept + R"(, "transports": {"dockr": {}}})",
       "unsupported key \"dockr\""},
      {R"({"default": )" + accept + R"(, "transports": {"docker": []}})",
       "an object whose keys are scopes"},
      {R"({"default": )" + accept + R"(, "transports": {"docker": {"a": []}}})",
       "transports.docker.\"a\": expected a non-empty list of requirements"},
      {with("1"), "default[0]: expected an object"},
      {with(R"({"type": 1})"), "default[0]: expected type to be a string"},
      {with(R"({"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/k"})"),
       "got \"signedBy\"; muster does not support other types"},
      {with(R"({"type": "signedBaseLayer"})"), "got \"signedBaseLayer\""},
      {with(R"({"type": "reject", "keyPath": "/own.pub"})"), "unsupported key \"keyPath\""},
      {sigstore(""), "expected either keyPath or keyData"},
      {sigstore(R"(, "keyPath": "/own.pub", "keyData": "a")"), "expected either keyPath or"},
      {sigstore(R"(, "keyPath": "own.pub")"), "expected keyPath to be an absolute path"},
      {sigstore(R"(, "keyPath": "/none.pub")"), "/none.pub: No such file"},
      {sigstore(R"(, "keyData": "?")"), "expected keyData to be base64-encoded"},
      {sigstore(R"(, "keyData": "eA==")"), "\"keyData\": expected an ECDSA P-256 public key"},
      {sigstore(R"(, "fulcio": {"caPath": "/ca"})"), "unsupported key \"fulcio\""},
      {sigstore(R"(, "keyPath": "/own.pub", "rekorPublicKeyPath": "/r")"),
       "unsupported key \"rekorPublicKeyPath\""},
      {identity("1"), "default[0].signedIdentity: expected an object"},
      {identity(R"({"type": "matchAll"})"), ", got \"matchAll\""},
      {identity(R"({"type": "matchExact", "prefix": "a"})"), "unsupported key \"prefix\""},
      {identity(R"({"type": "exactReference", "dockerReference": "box"})"),
       "expected dockerReference to be a name like registry.lab/team/box:v1"},
      {identity(R"({"type": "exactRepository", "dockerRepository": "a.lab/x:v1"})"),
       "expected dockerRepository to be a name like registry.lab/team/box"},
      {identity(R"({"type": "remapIdentity", "prefix": "a.lab"})"),
       "expected signedPrefix to be a string"},
      {identity(R"({"type": "remapIdentity", "prefix": "a.lab/x:v1", "signedPrefix": "b.lab"})"),
       "expected prefix to be a registry or"},
      {identity(R"({"type": "remapIdentity", "prefix": "box", "signedPrefix": "b.lab"})"),
       "expected prefix to be a registry or"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Policy> policy = policy_from(c.text, read_key);
    REQUIRE_FALSE(policy);
    CAPTURE(policy.error().text);
    CHECK(policy.error().text.find(c.want) != std::string::npos);
    CHECK(policy.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("image policy: keys may be in the policy, next to other places' rules") {
  const Policy policy =
      policy_of(R"({"default": [{"type": "sigstoreSigned", "keyData": ")" + base64(own().pem()) +
                R"("}], "transports": {"containers-storage": {"": )" + accept + "}}}");
  CHECK(verdict(policy, "reg.lab/box:v1", signatures_for("reg.lab/box:v1")) == "taken");
}

}  // namespace
}  // namespace muster::image
