#include "server/jobs/manifests.h"

#include <doctest/doctest.h>

#include <map>

#include "aws/s3wire/s3_url.h"

namespace muster::jobs {
namespace {

using Names = std::set<std::pair<std::string, std::string>>;

struct Bench {
  std::map<std::string, ManifestObject> objects;
  job::Spec spec;
  ReadManifest read = [this](const s3wire::S3Url& url) -> Result<ManifestObject> {
    const auto found = objects.find(s3wire::text_of(url));
    if (found == objects.end())
      return fail(Errc::not_found, s3wire::text_of(url) + ": no such object");
    return found->second;
  };

  void add_channel(const std::string& name, const std::string& url, bool manifest = true) {
    job::InputChannel channel;
    channel.name = name;
    channel.s3.url = url;
    channel.s3.manifest = manifest;
    spec.input.push_back(channel);
  }
};

TEST_CASE("manifests: a key may read what the manifest named when the job was accepted") {
  Bench bench;
  bench.objects["s3://b/m"] = {R"([{"prefix": "s3://data/d/"}, "1.csv", "2.csv"])", "tag1"};
  bench.add_channel("train", "s3://b/m");
  bench.add_channel("test", "s3://b/prefix", false);
  REQUIRE(pin_manifests(bench.spec, bench.read));
  CHECK(pins_text(bench.spec) == R"({"train":"tag1"})");

  job::Spec later = bench.spec;
  later.input[0].s3.etag.clear();
  CHECK(named_objects(later, bench.read)->empty());
  REQUIRE(put_pins(later, pins_text(bench.spec)));
  CHECK(later == bench.spec);
  CHECK(*named_objects(later, bench.read) == Names{{"data", "d/1.csv"}, {"data", "d/2.csv"}});

  bench.objects["s3://b/m"] = {R"([{"prefix": "s3://secret/"}, "key"])", "tag2"};
  CHECK(named_objects(later, bench.read)->empty());
  bench.objects.clear();
  CHECK(named_objects(later, bench.read)->empty());
}

TEST_CASE("manifests: a job without any has no pins") {
  Bench bench;
  bench.add_channel("train", "s3://b/prefix", false);
  bench.spec.input[0].s3.etag = "of-the-request";
  const job::Spec asked = bench.spec;
  REQUIRE(pin_manifests(bench.spec, bench.read));
  CHECK(pins_text(bench.spec).empty());
  bench.spec = asked;
  CHECK(put_pins(bench.spec, ""));
  CHECK(pins_text(bench.spec).empty());
  CHECK(named_objects(bench.spec, {})->empty());
}

TEST_CASE("manifests: pins that cannot be read, and a store that fails, are errors") {
  Bench bench;
  bench.add_channel("train", "s3://b/m");
  CHECK(put_pins(bench.spec, "{").error().code == Errc::invalid_input);
  bench.spec.input[0].s3.etag = "of-the-request";
  REQUIRE(pin_manifests(bench.spec, {}));  // Nothing reads manifests here.
  CHECK(bench.spec.input[0].s3.etag.empty());
  REQUIRE(put_pins(bench.spec, R"({"train": "tag"})"));
  const ReadManifest broken = [](const s3wire::S3Url&) -> Result<ManifestObject> {
    return fail(Errc::system, "disk: Input/output error");
  };
  const auto objects = named_objects(bench.spec, broken);
  REQUIRE_FALSE(objects);
  CHECK(objects.error().text == "channel train: disk: Input/output error");
  bench.spec.input[0].s3.url = "https://b/m";
  CHECK(pin_manifests(bench.spec, bench.read).error().text ==
        "https://b/m: not an S3 URL; expected s3://bucket/key");
}

TEST_CASE("manifests: refusals name the channel") {
  Bench bench;
  bench.add_channel("train", "s3://b/m");
  CHECK(pin_manifests(bench.spec, bench.read).error().text ==
        "channel train: s3://b/m: no such object");
  bench.objects["s3://b/m"] = {"{}", "tag"};
  REQUIRE(pin_manifests(bench.spec, bench.read));
  CHECK(named_objects(bench.spec, bench.read)
            .error()
            .text.starts_with("channel train: s3://b/m: invalid manifest: expected"));
  std::string many = R"([{"prefix": "s3://data/"})";
  for (std::size_t i = 0; i <= manifest_names_max; ++i) many += ",\"" + std::to_string(i) + '"';
  bench.objects["s3://b/m"] = {many + "]", "tag"};
  CHECK(named_objects(bench.spec, bench.read).error().text ==
        "channel train: s3://b/m: the job's manifests list more than 100000 objects");
}

}  // namespace
}  // namespace muster::jobs
