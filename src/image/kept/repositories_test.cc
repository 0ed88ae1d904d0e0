#include "image/kept/repositories.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "image/kept/store.h"
#include "image/kept/testing.h"
#include "image/own_image.h"

namespace muster::image {
namespace {

using packing::Scratch;
using packing::Tar;
using std::chrono::hours;

const std::string type = "application/vnd.oci.image.manifest.v1+json";

std::string fake(char digit) {
  return "sha256:" + std::string(64, digit);
}

TEST_CASE("repositories: names that are no path, and no other's file") {
  for (const char* name : {"ab", "team/box", "a1.b_c-d/e__f", "a--b"}) {
    CAPTURE(name);
    CHECK(is_repository_name(name));
  }
  const std::string long_name(repository_name_bytes_max + 1, 'a');
  for (const std::string& name :
       {std::string("a"), std::string(), std::string("../x"), std::string("a/../b"),
        std::string("/a"), std::string("a/"), std::string("a//b"), std::string("A/b"),
        std::string("a+b"), std::string("a b"), std::string("a:b"), std::string("a@b"),
        std::string("a%2fb"), std::string("a\0b", 3), std::string("h:1/a"), long_name}) {
    CAPTURE(name);
    CHECK(!is_repository_name(name));
  }
  CHECK(is_tag_name("v1.0_B-2"));
  for (const char* tag : {"", ".x", "-x", "a/b", "a:b", "a@b", "a b"}) CHECK(!is_tag_name(tag));
}

TEST_CASE("repositories: stored ones are read back, and a damaged file is reported, not guessed") {
  const Scratch scratch;
  Repositories repositories(scratch.path);
  Repository box{"team/box", UnixMillis(7), true, {}, {}, {}};
  box.manifests[fake('1')] = {type, 12, UnixMillis(8)};
  box.tags["v1"] = fake('1');
  box.blobs[fake('2')] = UnixMillis(9);
  CHECK(!repositories.find("team/box")->has_value());
  REQUIRE(repositories.change("team/box", [&](std::optional<Repository>& one) -> Result<void> {
    CHECK(!one);
    one = box;
    return {};
  }));
  CHECK(**repositories.find("team/box") == box);
  CHECK(*repositories.names() == std::vector<std::string>{"team/box"});
  const Result<void> failed =
      repositories.change("team/box", [](std::optional<Repository>& one) -> Result<void> {
        one.reset();
        return fail(Errc::invalid_input, "no");
      });
  CHECK(!failed);
  CHECK(**repositories.find("team/box") == box);
  REQUIRE(write_file(scratch.path + "/team+box.json", "{\"name\": 3}"));
  const Result<std::optional<Repository>> damaged = repositories.find("team/box");
  REQUIRE(!damaged);
  CHECK(damaged.error().text.find("is damaged") != std::string::npos);
  REQUIRE(write_file(scratch.path + "/team+box.json", "{}"));
  CHECK(!repositories.find("team/box"));
}

TEST_CASE(
    "repositories: tagged images stay with all their blobs, the rest is removed after its time") {
  Repository box;
  const auto manifest = [&](char digit, hours at) {
    box.manifests[fake(digit)] = {type, 1, UnixMillis(at)};
  };
  manifest('1', hours(0));  // An index with a tag, of 2 and 3.
  manifest('2', hours(0));
  manifest('3', hours(0));
  manifest('4', hours(0));   // Lost its tag.
  manifest('5', hours(99));  // Is just being pushed.
  for (const char digit : {'a', 'b', 'c', 'd'}) box.blobs[fake(digit)] = UnixMillis(0);
  box.blobs[fake('e')] = UnixMillis(hours(99));
  box.tags["v1"] = fake('1');
  const NamedBy named_by = [](const std::string& digest) -> std::vector<std::string> {
    if (digest == fake('1')) return {fake('2'), fake('3')};
    if (digest == fake('2')) return {fake('a')};
    if (digest == fake('4')) return {fake('b')};
    if (digest == fake('5')) return {fake('c')};
    return {};
  };
  const Repository kept = without_rests(box, named_by, UnixMillis(hours(100)), hours(24));
  std::string manifests;
  for (const auto& [digest, pushed] : kept.manifests) manifests += digest.back();
  CHECK(manifests == "1235");
  std::string blobs;
  for (const auto& [digest, time] : kept.blobs) blobs += digest.back();
  CHECK(blobs == "ace");
  CHECK(kept.tags == box.tags);
}

struct Place {
  Place() : store(*Store::open(scratch.path + "/images")) {}

  void put(const std::string& bytes) {
    Result<BlobDraft> draft = store.upload(bytes.size());
    REQUIRE(draft);
    REQUIRE(draft->append(bytes));
    REQUIRE(draft->commit_as(digest_of(bytes)));
  }
  /// As a push does; the time of it is long ago.
  void push(const TestImage& image, const std::string& tag) {
    for (const std::string& layer : image.layers) put(layer);
    put(image.config);
    put(image.manifest);
    link(digest_of(image.manifest), type, tag,
         {digest_of(image.layers[0]), digest_of(image.config)});
  }
  void link(const std::string& digest, const std::string& kind, const std::string& tag,
            const std::vector<std::string>& blobs) {
    REQUIRE(store.repositories().change("team/box",
                                        [&](std::optional<Repository>& repository) -> Result<void> {
                                          if (!repository)
                                            repository = Repository{.name = "team/box"};
                                          repository->manifests[digest] = {kind, 1, UnixMillis(0)};
                                          repository->tags[tag] = digest;
                                          for (const std::string& blob : blobs)
                                            repository->blobs[blob] = UnixMillis(0);
                                          return {};
                                        }));
  }
  Result<std::optional<Image>> find(const std::string& name) const {
    const std::optional<Meaning> meaning = TRY(store.look_up(name));
    return meaning ? store.find(*meaning) : std::optional<Image>();
  }
  Result<std::optional<Image>> unpack(const std::string& name) {
    const std::optional<Meaning> meaning = TRY(store.look_up(name));
    return meaning ? store.unpack(*meaning) : std::optional<Image>();
  }
  std::size_t count(const std::string& folder) const {
    return names_in(scratch.path + "/images/" + folder)->size();
  }

  Scratch scratch;
  Store store;
};

const std::string v1 = "registry.muster.internal/team/box:v1";

TEST_SUITE_BEGIN("pushed images" * doctest::skip(::geteuid() != 0));

TEST_CASE("pushed image: unpacked at its first use, and kept by every prune") {
  Place place;
  const TestImage image({Tar().file("train", "1", 0755)});
  place.push(image, "v1");
  CHECK(!place.find(v1)->has_value());
  REQUIRE(place.store.list()->size() == 1);
  CHECK(!place.store.list()->front().unpacked);
  REQUIRE(*place.store.prune({.all = true, .bytes_max = {}}));
  const Result<std::optional<Image>> made = place.unpack(v1);
  REQUIRE((made && *made));
  CHECK(*read_file((*made)->layers[0] + "/train") == "1");
  CHECK((*place.find(v1))->layers == (*made)->layers);
  CHECK((*place.find(v1.substr(0, v1.size() - 3) + "@" + digest_of(image.manifest)))->digest ==
        digest_of(image.manifest));
  REQUIRE(*place.store.prune({}));
  CHECK(place.find(v1)->has_value());
  CHECK(place.count("blobs/sha256") == 3);
  REQUIRE(*place.store.prune({.all = true, .bytes_max = {}}));
  CHECK(place.count("layers") == 0);
  CHECK(place.count("blobs/sha256") == 3);
  CHECK(place.unpack(v1)->has_value());
  CHECK(!place.unpack("registry.muster.internal/team/box:v2")->has_value());
  CHECK(!place.unpack("registry.muster.internal/other:v1")->has_value());
}

TEST_CASE("pushed image: a moved tag means the new image at once, and the old one is removed") {
  Place place;
  const TestImage first({Tar().file("train", "1")});
  const TestImage second({Tar().file("train", "2")});
  place.push(first, "v1");
  REQUIRE(place.unpack(v1)->has_value());
  place.push(second, "v1");
  CHECK(!place.find(v1)->has_value());
  REQUIRE(*place.store.prune({}));
  CHECK(!place.store.has_blob(digest_of(first.manifest)));
  const Result<std::optional<Image>> made = place.unpack(v1);
  REQUIRE((made && *made));
  CHECK(*read_file((*made)->layers[0] + "/train") == "2");
  CHECK(place.count("layers") == 1);
  CHECK(*place.store.remove(v1));
  CHECK(place.count("blobs/sha256") == 0);
  CHECK(!*place.store.remove(v1));
}

TEST_CASE("pushed image: the image that a tag meant runs, although the tag has moved since") {
  Place place;
  const TestImage judged({Tar().file("train", "1")});
  const TestImage other({Tar().file("train", "2")});
  place.push(judged, "v1");
  const std::optional<Meaning> meaning = *place.store.look_up(v1);
  REQUIRE(meaning);
  CHECK(*meaning == Meaning{digest_of(judged.manifest), "team/box"});
  place.push(other, "v1");
  const Result<std::optional<Image>> made = place.store.unpack(*meaning);
  REQUIRE((made && *made));
  CHECK(*read_file((*made)->layers[0] + "/train") == "1");
  CHECK((*place.store.find(*meaning))->digest == digest_of(judged.manifest));
  REQUIRE(place.store.repositories().change("team/box", [&](std::optional<Repository>& there) {
    there->manifests.erase(meaning->digest);
    return Result<void>();
  }));
  CHECK(!place.store.unpack(*meaning)->has_value());
}

TEST_CASE("pushed image: a configuration that claims another's diff ids gets none of its layers") {
  Place place;
  const TestImage secret({Tar().file("model", "secret")});
  AddOptions options;
  options.open = [&](const Descriptor&, std::size_t) {
    packing::put_file(place.scratch.path + "/layer", secret.layers[0]);
    return Result<std::unique_ptr<Bytes>>(
        bytes_of(Fd(::open((place.scratch.path + "/layer").c_str(), O_RDONLY))));
  };
  REQUIRE(place.store.add(Source::pulled("private.lab", "box", "ann"), "private.lab/box:v1",
                          secret.manifest, secret.config, options));
  TestImage liar = secret;
  liar.layers = {"junk"};
  liar.manifest = document_of(
      {{digest_of(liar.config), liar.config.size(), "config"}, {{digest_of("junk"), 4, "gzip"}}});
  place.push(liar, "v1");
  CHECK(!place.find(v1)->has_value());
  CHECK(!place.find(digest_of(liar.manifest))->has_value());
  const Result<std::optional<Image>> made = place.unpack(v1);
  REQUIRE(!made);
  CHECK(made.error().code == Errc::protocol);
  CHECK(!place.find(v1)->has_value());
  place.push(secret, "v1");  // Who has its bytes has the layer.
  CHECK(place.unpack(v1)->has_value());
  CHECK(place.count("layers") == 1);
}

TEST_CASE("pushed image: of several the one for this machine") {
  Place place;
  const TestImage ours({Tar().file("train", "1")});
  const TestImage other({Tar().file("train", "2")}, "vax");
  place.push(ours, "ours");
  place.push(other, "other");
  Json entries = Json::array();
  const auto add = [&](const TestImage& image, const std::string& architecture) {
    entries.push_back({{"digest", digest_of(image.manifest)},
                       {"size", image.manifest.size()},
                       {"platform", {{"os", "linux"}, {"architecture", architecture}}}});
  };
  add(other, "vax");
  add(ours, this_platform().architecture);
  const std::string index = muster::to_text(Json{{"manifests", entries}});
  place.put(index);
  place.link(digest_of(index), "application/vnd.oci.image.index.v1+json", "v1", {});
  const Result<std::optional<Image>> made = place.unpack(v1);
  REQUIRE((made && *made));
  CHECK((*made)->digest == digest_of(ours.manifest));
  CHECK((*place.find(v1))->digest == digest_of(ours.manifest));
  const Result<std::optional<Image>> vax = place.unpack("registry.muster.internal/team/box:other");
  REQUIRE(!vax);
  CHECK(vax.error().code == Errc::unsupported);
}

TEST_CASE("pushed image: an upload that is given up, or whose process is killed, leaves nothing") {
  Place place;
  {
    Result<BlobDraft> draft = place.store.upload(10);
    REQUIRE(draft);
    REQUIRE(draft->append("some"));
    CHECK(place.count("blobs/sha256") == 1);
    REQUIRE(place.store.remove_rests());
    CHECK(place.count("blobs/sha256") == 1);  // Somebody is at it.
    CHECK(!draft->append("too many bytes"));
  }
  CHECK(place.count("blobs/sha256") == 0);
  REQUIRE(write_file(place.scratch.path + "/images/blobs/sha256/.part-upload-00", "half"));
  REQUIRE(place.store.remove_rests());
  CHECK(place.count("blobs/sha256") == 0);
  Result<BlobDraft> draft = place.store.upload(10);
  REQUIRE(draft);
  REQUIRE(draft->append("some"));
  const Result<void> other = draft->commit_as(digest_of("other"));
  REQUIRE(!other);
  CHECK(other.error().code == Errc::protocol);
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
