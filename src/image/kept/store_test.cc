#include "image/kept/store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/files/folder.h"
#include "image/kept/import.h"
#include "image/kept/testing.h"
#include "image/signature_testing.h"

namespace muster::image {
namespace {

using packing::Scratch;
using packing::Tar;

const std::string box = "localhost/box:v1";
const Source lab = Source::pulled("reg.lab", "team/box", "ann");
const Source stranger = Source::pulled("evil.lab", "box", "");

struct Place {
  Place() : store(*Store::open(scratch.path + "/images")) {}

  /// As a registry's client does.
  Result<Image> add(const std::string& name, const TestImage& image, AddOptions options = {}) {
    for (const std::string& layer : image.layers) put(layer);
    return store.add(lab, name, image.manifest, image.config, options);
  }
  void put(const std::string& bytes, const Source& source = lab) {
    Result<std::optional<BlobDraft>> draft = store.draft(source, digest_of(bytes), bytes.size());
    REQUIRE(draft);
    if (!*draft) return;
    REQUIRE((*draft)->append(bytes));
    REQUIRE((*draft)->commit());
  }
  Result<std::optional<Image>> find(const std::string& name) const {
    const std::optional<Meaning> meaning = TRY(store.look_up(name));
    return meaning ? store.find(*meaning) : std::optional<Image>();
  }
  /// Names below a folder of the store.
  std::size_t count(const std::string& folder) const {
    return names_in(scratch.path + "/images/" + folder)->size();
  }

  Scratch scratch;
  Store store;
};

TestImage two_layers(const std::string& top) {
  return TestImage({Tar().folder("bin").file("bin/sh", "shell", 0755), Tar().file("train", top)});
}

TEST_SUITE_BEGIN("image store" * doctest::skip(::geteuid() != 0));

TEST_CASE("image store: the signers of an image are known as long as it exists") {
  Place place;
  const Image image = *place.add(box, two_layers("1"));
  const Evidence known{{"an index"}, {{"payload", std::string("\0\xff", 2)}}};
  REQUIRE(place.store.keep_evidence(image.digest, known));
  CHECK(*place.store.evidence({image.digest}) == known);
  CHECK(*place.store.evidence({digest_of("another")}) == Evidence());
  REQUIRE(place.store.prune({}));
  CHECK(place.count("signatures") == 1);
  REQUIRE(place.store.remove(box));
  CHECK(place.count("signatures") == 0);
}

TEST_CASE("image store: a pushed image's signatures are those pushed next to it") {
  Place place;
  const std::string digest = digest_of("a manifest");
  const Signature good = TestKey().sign(test_payload(digest, "reg.lab/box"));
  const Signature foreign = TestKey().sign("its payload is not the repository's");
  const std::string signatures = test_signatures({good, foreign}, "{}");
  for (const std::string& blob : {good.payload, foreign.payload, signatures})
    REQUIRE(place.store.put_blob(digest_of(blob), blob));
  REQUIRE(place.store.repositories().change(
      "box", [&](std::optional<Repository>& repository) -> Result<void> {
        repository.emplace();
        repository->name = "box";
        repository->tags = {{"v1", digest}, {signature_tag(digest), digest_of(signatures)}};
        for (const auto& [tag, named] : repository->tags)
          repository->manifests[named] = {"application/vnd.oci.image.manifest.v1+json", 2, {}};
        repository->blobs = {{digest_of(good.payload), UnixMillis()}};
        return {};
      }));
  const Evidence known{{}, {good}};
  CHECK(*place.store.evidence({digest, "box"}) == known);
  CHECK(*place.store.evidence({digest, "other"}) == Evidence());
}

TEST_CASE("image store: an image is there with its layers, and found by name and digest") {
  Place place;
  const TestImage image = two_layers("1");
  CHECK(place.store.missing(lab, *config_from(image.config)).size() == 2);
  const Result<Image> added = place.add(box, image);
  REQUIRE(added);
  CHECK(added->layers.size() == 2);
  CHECK(*read_file(added->layers[0] + "/bin/sh") == "shell");
  CHECK(*read_file(added->layers[1] + "/train") == "1");
  for (const std::string& name : {box, digest_of(image.manifest)}) {
    const Result<std::optional<Image>> found = place.find(name);
    REQUIRE((found && *found));
    CHECK((*found)->layers == added->layers);
    CHECK((*found)->config.entrypoint == std::vector<std::string>{"/train"});
  }
  CHECK(!place.find("localhost/other:v1")->has_value());
  CHECK(place.store.missing(lab, added->config).empty());
  CHECK(place.count("blobs/sha256") == 2);  // The manifest and the configuration.
  struct stat status {};
  REQUIRE(::stat((place.scratch.path + "/images").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("image store: layers that images share are there once") {
  Place place;
  REQUIRE(place.add(box, two_layers("1")));
  AddOptions options;
  std::vector<std::size_t> unpacked;
  options.on_layer = [&](std::size_t number, std::size_t) { unpacked.push_back(number); };
  REQUIRE(place.add("localhost/box:v2", two_layers("2"), options));
  CHECK(unpacked == std::vector<std::size_t>{1});
  CHECK(place.count("layers") == 3);
  CHECK(*place.store.remove("localhost/box:v2"));
  CHECK(place.count("layers") == 2);
  CHECK(!*place.store.remove("localhost/box:v2"));
  CHECK(*place.store.remove(box));
  CHECK(place.count("layers") == 0);
  CHECK(place.count("blobs/sha256") == 0);
}

TEST_CASE("image store: one layer that occurs twice in an image") {
  Place place;
  const Tar tar = Tar().file("a", "a");
  const Result<Image> added = place.add(box, TestImage({tar, Tar().file(".wh.a", ""), tar}));
  REQUIRE(added);
  CHECK(added->layers.size() == 3);
  CHECK(added->layers[0] != added->layers[2]);
}

TEST_CASE("image store: mismatched documents and layers are refused, and nothing stays") {
  Place place;
  const TestImage image = two_layers("1");
  const TestImage other = two_layers("2");
  const auto text = [](const Result<Image>& result) {
    return result ? std::string("added") : result.error().text;
  };
  CHECK(text(place.store.add(lab, box, image.manifest, other.config)).find("digest") !=
        std::string::npos);
  CHECK(text(place.store.add(lab, box, image.manifest, image.config)).find("No such file") !=
        std::string::npos);
  const TestImage foreign({Tar().file("a", "a")}, "riscv64");
  const Result<Image> machine = place.add(box, foreign);
  REQUIRE(!machine);
  CHECK(machine.error().code == Errc::unsupported);
  // An image that claims another's diff id for bytes of its own.
  TestImage liar = two_layers("1");
  liar.manifest =
      document_of({{digest_of(liar.config), liar.config.size(), ""},
                   {{digest_of(other.layers[0]), 1, ""}, {digest_of(other.layers[1]), 1, ""}}});
  liar.layers = other.layers;
  CHECK(text(place.add(box, liar)).find("does not match its digest") != std::string::npos);
  TestImage fewer = two_layers("1");
  fewer.manifest = document_of({{digest_of(fewer.config), fewer.config.size(), ""}, {}});
  CHECK(text(place.add(box, fewer)) == "the manifest has 0 layers, but the configuration has 2");
  CHECK(place.store.list()->empty());
  REQUIRE(place.store.prune({}));
  CHECK(place.count("layers") == 0);
  CHECK(place.count("blobs/sha256") == 0);
}

TEST_CASE(
    "image store: a large layer that is damaged is named as zlib names it, and leaves nothing") {
  std::string noise(1 << 20, '\0');
  unsigned state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const TestImage whole({Tar().file("noise", noise)});
  for (const bool cut : {true, false}) {
    Place place;
    TestImage image = whole;
    std::string& layer = image.layers[0];
    REQUIRE(layer.size() > (600u << 10));
    if (cut)
      layer.resize(layer.size() - 1000);
    else
      layer[layer.size() - 6] = static_cast<char>(layer[layer.size() - 6] ^ 1);
    image.manifest = document_of({{digest_of(image.config), image.config.size(), "config"},
                                  {{digest_of(layer), layer.size(), "gzip"}}});
    const Result<Image> added = place.add(box, image);
    REQUIRE(!added);
    CHECK(added.error().code == Errc::protocol);
    CHECK(added.error().text == "layer " + digest_of(layer) + ": 'noise': " +
                                    (cut ? "is truncated in the middle of its gzip data"
                                         : "is damaged: gzip: incorrect data check"));
    CHECK(place.count("layers") == 0);
  }
}

TEST_CASE("image store: many that add one image at once make each layer once") {
  Place place;
  const TestImage image = two_layers(std::string(1 << 20, 'x'));
  std::atomic<int> unpacked = 0;
  std::atomic<int> added = 0;
  std::vector<std::thread> threads;
  for (const std::string& layer : image.layers) place.put(layer);
  const Fd held = *place.store.hold();
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      Result<Store> store = Store::open(place.scratch.path + "/images");
      AddOptions options;
      options.on_layer = [&](std::size_t, std::size_t) { ++unpacked; };
      if (store && store->add(lab, box, image.manifest, image.config, options)) ++added;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(added == 6);
  CHECK(unpacked == 2);
  CHECK(place.count("layers") == 2);
}

TEST_CASE("image store: a process that was killed while it unpacked leaves nothing in the way") {
  Place place;
  const TestImage image = two_layers("1");
  for (const std::string& layer : image.layers) place.put(layer);
  const pid_t child = ::fork();
  if (child == 0) {
    AddOptions options;
    options.on_layer = [](std::size_t number, std::size_t) {
      if (number == 1) ::_exit(9);  // As a SIGKILL: no destructor runs.
    };
    static_cast<void>(place.store.add(lab, box, image.manifest, image.config, options));
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WEXITSTATUS(status) == 9);
  CHECK(place.count("layers") == 2);  // One whole, one begun.
  CHECK(!place.find(box)->has_value());
  std::vector<std::size_t> unpacked;
  AddOptions options;
  options.on_layer = [&](std::size_t number, std::size_t) { unpacked.push_back(number); };
  REQUIRE(place.store.add(lab, box, image.manifest, image.config, options));
  CHECK(unpacked == std::vector<std::size_t>{1});
  std::filesystem::create_directories(place.scratch.path + "/images/layers/.new-rest/root");
  std::filesystem::create_directories(place.scratch.path + "/images/layers/.old-rest/root");
  REQUIRE(place.store.prune({}));
  CHECK(place.count("layers") == 2);
}

TEST_CASE("image store: an image in use stays, whatever is removed") {
  Place place;
  const Result<Image> first = place.add(box, two_layers("1"));
  REQUIRE(first);
  REQUIRE(place.add("localhost/box:v2", two_layers("2")));
  {
    const Result<Lease> lease = place.store.lease(*first);
    REQUIRE(lease);
    CHECK(*place.store.remove(box));
    const Result<std::optional<Pruned>> pruned = place.store.prune({.all = true, .bytes_max = {}});
    REQUIRE((pruned && *pruned));
    CHECK((*pruned)->names == std::vector<std::string>{"localhost/box:v2"});
    CHECK(*read_file(first->layers[1] + "/train") == "1");
    CHECK(place.count("layers") == 2);
  }
  REQUIRE(place.store.prune({}));
  CHECK(place.count("layers") == 0);
  const Result<Lease> late = place.store.lease(*first);
  REQUIRE(!late);
  CHECK(late.error().code == Errc::not_found);
}

TEST_CASE("image store: a holder of a lease's file keeps the image after the lease ends") {
  Place place;
  const Result<Image> image = place.add(box, two_layers("1"));
  REQUIRE(image);
  std::optional<Lease> taken = *place.store.lease(*image);
  const Fd file(::open(taken->file.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(file.get(), LOCK_SH) == 0);
  taken.reset();
  REQUIRE(place.store.prune({.all = true, .bytes_max = {}}));
  CHECK(place.count("layers") == 2);
}

TEST_CASE("image store: beyond a size the least recently used images are removed first") {
  Place place;
  std::vector<Image> images;
  for (const char* name : {"a", "b", "c"}) {
    const TestImage image({Tar().file("f", name + std::string(100'000, 'x'))});
    images.push_back(*place.add("localhost/" + std::string(name) + ":v1", image));
  }
  const auto set_time = [&](const Image& image, const char* when) {
    const std::string path = place.scratch.path + "/images/leases/" + image.digest.substr(7);
    const timespec time{when[0] * 1000, 0};
    const timespec times[2] = {time, time};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  };
  set_time(images[0], "2");
  set_time(images[1], "1");
  set_time(images[2], "3");
  REQUIRE(place.store.lease(images[1]));  // Used now.
  const Result<std::optional<Pruned>> pruned =
      place.store.prune({.all = false, .bytes_max = 250'000});
  REQUIRE((pruned && *pruned));
  CHECK((*pruned)->names == std::vector<std::string>{"localhost/a:v1"});
  CHECK((*pruned)->bytes >= 100'000);
  CHECK((*pruned)->left_bytes <= 250'000);
  CHECK(place.store.list()->size() == 2);
}

TEST_CASE("image store: knowing a layer's digests is not enough, a source must deliver it") {
  Place place;
  const std::string name = "evil.lab/box:v1";
  const TestImage image = two_layers("private");
  REQUIRE(place.add(box, image));
  const ImageConfig config = *config_from(image.config);
  const auto add = [&](const TestImage& claimed, AddOptions options = {}) {
    return place.store.add(stranger, name, claimed.manifest, claimed.config, options);
  };
  const auto with_layers = [&](std::vector<std::string> layers) {
    TestImage other = image;
    Manifest document{{digest_of(other.config), other.config.size(), ""}, {}};
    for (const std::string& layer : layers) {
      place.put(layer, stranger);
      document.layers.push_back({digest_of(layer), layer.size(), ""});
    }
    other.manifest = document_of(document);
    return other;
  };
  CHECK(place.store.missing(stranger, config) == std::vector<std::size_t>{0, 1});
  CHECK(add(image).error().code == Errc::not_found);
  CHECK(add(with_layers({"junk", "more junk"})).error().code == Errc::protocol);
  // More than the layer's own length is not read.
  const std::string longer = packing::gzipped(image.plain[0] + std::string(1 << 20, '\0'));
  CHECK(add(with_layers({longer, longer})).error().text.find("contains more than") !=
        std::string::npos);
  CHECK(add(with_layers({image.layers[0], "junk"})).error().code == Errc::protocol);
  CHECK(!place.find(name)->has_value());
  CHECK(place.store.missing(stranger, config) == std::vector<std::size_t>{1});
  place.put(image.layers[1], stranger);
  std::vector<std::size_t> read;
  AddOptions options;
  options.on_layer = [&](std::size_t number, std::size_t) { read.push_back(number); };
  const Result<Image> added = add(image, options);
  REQUIRE(added);
  CHECK(read == std::vector<std::size_t>{1});
  CHECK(added->layers == (*place.find(box))->layers);
  CHECK(place.count("layers") == 2);
  // From here on it is the stranger's, too, and does not come again.
  CHECK(place.count("pulls") == 0);
  CHECK(*place.store.remove(name));
  CHECK(place.store.missing(stranger, config).empty());
  REQUIRE(add(image));
}

TEST_CASE("image store: a layer from another source is never waited for") {
  Place place;
  const TestImage image = two_layers("1");
  const std::string digest = digest_of(image.layers[0]);
  const Result<std::optional<BlobDraft>> held = place.store.draft(stranger, digest, 1u << 30);
  REQUIRE((held && *held));
  std::promise<void> begun;
  std::promise<void> over;
  AddOptions slow;
  slow.open = [&](const Descriptor&, std::size_t number) {
    if (number == 0) begun.set_value();
    if (number == 0) over.get_future().wait();
    const std::string path = place.scratch.path + "/" + std::to_string(number);
    packing::put_file(path, image.layers[number]);
    return Result<std::unique_ptr<Bytes>>(bytes_of(Fd(::open(path.c_str(), O_RDONLY))));
  };
  Result<Image> late = fail(Errc::not_found, "");
  std::thread other([&] {
    late = place.store.add(stranger, "evil.lab/box:v1", image.manifest, image.config, slow);
  });
  begun.get_future().wait();
  const Result<Image> first = place.add(box, image);
  over.set_value();
  other.join();
  REQUIRE(first);
  REQUIRE(late);
  CHECK(first->layers == late->layers);
  CHECK(place.count("layers") == 2);
}

TEST_CASE("image store: while an image is being added nothing is removed") {
  Place place;
  place.put("a layer on its way");
  const Result<Fd> held = place.store.hold();
  REQUIRE(held);
  const Result<std::optional<Pruned>> pruned = place.store.prune({.all = true, .bytes_max = {}});
  REQUIRE(pruned);
  CHECK(!pruned->has_value());
  CHECK(place.store.has_draft(lab, digest_of("a layer on its way")));
}

TEST_CASE("image store: on a full disk an image is added completely or not at all") {
  Scratch scratch;
  const std::string disk = scratch.path + "/disk";
  REQUIRE(::mkdir(disk.c_str(), 0700) == 0);
  if (::mount("muster-test", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    MESSAGE("skipped: no tmpfs can be mounted here");
    return;
  }
  std::string noise(3 << 20, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i >> 7 | 1);
  const TestImage image({Tar().file("small", "s"), Tar().file("large", noise)});
  image.put_layout(scratch.path + "/layout", "v1");
  Result<Store> store = Store::open(disk + "/images");
  REQUIRE(store);
  const Result<GivenImage> from = find_image(*reference_from("oci:" + scratch.path + "/layout:v1"));
  REQUIRE(from);
  AddOptions options;
  options.budget = std::make_shared<Budget>(BudgetLimits());  // Others may fill the disk meanwhile.
  const Result<Imported> imported = import_image(*store, *from, box, options);
  REQUIRE(!imported);
  CHECK(imported.error().code == Errc::system);
  CHECK(imported.error().text.find("No space left on device") != std::string::npos);
  CHECK(store->list()->empty());
  CHECK(names_in(disk + "/images/layers")->size() == 1);  // The small one, whole.
  REQUIRE(store->prune({}));
  CHECK(names_in(disk + "/images/layers")->empty());
  const Result<Imported> refused = import_image(*store, *from, box, {});
  REQUIRE(!refused);
  CHECK(refused.error().text.find("bytes on the disk (at most 3/4 of the disk's free space)") !=
        std::string::npos);
  CHECK(::umount2(disk.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("image store: 200 layers") {
  Place place;
  std::vector<Tar> tars;
  for (int i = 0; i < 200; ++i) tars.push_back(Tar().file("f" + std::to_string(i % 50), "x"));
  const Result<Image> added = place.add(box, TestImage(tars));
  REQUIRE(added);
  CHECK(added->layers.size() == 200);
  CHECK(place.store.list()->at(0).layers == 200);
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
