#include "image/manifest.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

const std::string a = "sha256:" + std::string(64, 'a');
const std::string b = "sha256:" + std::string(64, 'b');
const std::string oci = "application/vnd.oci.image.manifest.v1+json";

std::string descriptor(const std::string& digest, const std::string& more = "") {
  return R"({"digest":")" + digest + R"(","size":7)" + more + "}";
}

TEST_CASE("image manifest: OCI's and Docker's, with and without a media type") {
  for (const std::string& type :
       {std::string(), R"("mediaType":")" + oci + R"(",)",
        std::string(R"("mediaType":"application/vnd.docker.distribution.manifest.v2+json",)")}) {
    const auto read = manifest_from("{" + type + R"("config":)" + descriptor(a) + R"(,"layers":[)" +
                                    descriptor(b, R"(,"mediaType":"x")") + "]}");
    REQUIRE(read);
    const Manifest* manifest = std::get_if<Manifest>(&*read);
    REQUIRE(manifest != nullptr);
    CHECK(manifest->config == Descriptor{a, 7, ""});
    CHECK(manifest->layers == std::vector{Descriptor{b, 7, "x"}});
  }
}

TEST_CASE("image manifest: an index's image for a platform") {
  const auto read =
      manifest_from(R"({"manifests":[)" +
                    descriptor(a, R"(,"platform":{"os":"linux","architecture":"arm64"})") + "," +
                    descriptor(b, R"(,"platform":{"os":"linux","architecture":"amd64"},)"
                                  R"("annotations":{"org.opencontainers.image.ref.name":"v1"})") +
                    "]}");
  REQUIRE(read);
  const Index* index = std::get_if<Index>(&*read);
  REQUIRE(index != nullptr);
  CHECK(index->entries[1].name == "v1");
  CHECK(choose(*index, platform_of("x86_64"))->digest == b);
  CHECK(choose(*index, platform_of("aarch64"))->digest == a);
  const Result<Descriptor> none = choose(*index, platform_of("riscv64"));
  REQUIRE(!none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(
      none.error().text ==
      "there is no image for linux/riscv64; the available platforms are: linux/arm64, linux/amd64");
}

TEST_CASE("image manifest: an error is one line that says where") {
  struct {
    std::string text;
    const char* want;
  } const cases[] = {
      {"", "not JSON"},
      {"[]", "expected an object"},
      {"{}", "expected config and layers"},
      {R"({"config":1,"layers":[]})", "expected an object with digest"},
      {R"({"config":{"digest":"md5:1","size":1},"layers":[]})", "64 hex digits"},
      {R"({"config":)" + descriptor(a) + R"(,"layers":{}})", "expected a list"},
      {R"({"config":)" + descriptor(a) + R"(,"layers":[{"digest":")" + a + R"(","size":-1}]})",
       "a size in bytes"},
      {R"({"config":)" + descriptor(a) + R"(,"layers":[{"digest":")" + a + R"(","size":1.5}]})",
       "a size in bytes"},
      {R"({"mediaType":"application/vnd.docker.distribution.manifest.v1+json"})", "schema 2"},
      {R"({"mediaType":7})", "expected a string"},
      {R"({"manifests":3})", "expected a list"},
      {std::string(document_bytes_max + 1, ' '), "exceeds"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text.substr(0, 100));
    const auto read = manifest_from(c.text);
    REQUIRE(!read);
    CHECK(read.error().code == Errc::protocol);
    CHECK(read.error().text.find(c.want) != std::string::npos);
    CHECK(read.error().text.find('\n') == std::string::npos);
  }
  std::string many = descriptor(a);
  for (std::size_t i = 0; i < layers_max; ++i) many += "," + descriptor(b);
  const auto read = manifest_from(R"({"config":)" + descriptor(a) + R"(,"layers":[)" + many + "]}");
  REQUIRE(!read);
  CHECK(read.error().text.find("at most 999") != std::string::npos);
}

TEST_CASE("image config: the image's settings for its processes") {
  const Result<ImageConfig> config = config_from(
      R"({"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[")" + a +
      R"("]},"config":{"Entrypoint":["/bin/sh","-c"],"Cmd":null,"Env":["A=1","B","=C","D=x=y"],)"
      R"("WorkingDir":"/w","User":"1000:10"}})");
  REQUIRE(config);
  CHECK(config->platform == Platform{"linux", "amd64"});
  CHECK(config->entrypoint == std::vector<std::string>{"/bin/sh", "-c"});
  CHECK(config->command.empty());
  CHECK(config->environment == std::vector<std::string>{"A=1", "D=x=y"});
  CHECK(config->working_folder == "/w");
  CHECK(config->user == "1000:10");
  CHECK(config->diff_ids == std::vector{a});
  for (const std::string text :
       {R"({"rootfs":{"diff_ids":["x"]}})", R"({"rootfs":{"diff_ids":[1]}})", R"({})",
        R"({"rootfs":{"diff_ids":[]},"config":{"Env":"A=1"}})",
        R"({"rootfs":{"diff_ids":[]},"config":{"Cmd":["a\u0000b"]}})"}) {
    CAPTURE(text);
    const Result<ImageConfig> wrong = config_from(text);
    REQUIRE(!wrong);
    CHECK(wrong.error().code == Errc::protocol);
  }
}

TEST_CASE("image chain ids: the specification's rule") {
  CHECK(chain_ids({}).empty());
  CHECK(chain_ids({a}) == std::vector{a});
  const std::vector<std::string> chain = chain_ids({a, b, a});
  CHECK(chain[1] == digest_of(a + " " + b));
  CHECK(chain[2] == digest_of(chain[1] + " " + a));
}

TEST_CASE("image manifest: ours reads back") {
  const Manifest manifest{{a, 7, "application/vnd.oci.image.config.v1+json"}, {{b, 9, "x"}}};
  const auto read = manifest_from(document_of(manifest));
  REQUIRE(read);
  CHECK(std::get<Manifest>(*read) == manifest);
}

}  // namespace
}  // namespace muster::image
