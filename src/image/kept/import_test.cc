#include "image/kept/import.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/kept/testing.h"

namespace muster::image {
namespace {

using packing::put_file;
using packing::Scratch;
using packing::Tar;

Result<Imported> import_from(const Scratch& scratch, const std::string& from,
                             const std::string& name = "") {
  Result<Store> store = Store::open(scratch.path + "/images");
  REQUIRE(store);
  const GivenImage given = TRY(find_image(*reference_from(from)));
  return import_image(*store, given, name, {});
}

std::string manifest_json(const std::vector<std::string>& layers,
                          const std::vector<std::string>& tags) {
  return muster::to_text(
      Json::array({{{"Config", "c.json"}, {"RepoTags", tags}, {"Layers", layers}}}));
}

TEST_SUITE_BEGIN("image import" * doctest::skip(::geteuid() != 0));

TEST_CASE("image import: a layout folder, by tag or the only one") {
  const Scratch scratch;
  const TestImage image({Tar().file("a", "1"), Tar().file("b", "2")});
  const std::string folder = scratch.path + "/box";
  image.put_layout(folder, "v1");
  const Result<Imported> by_tag = import_from(scratch, "oci:" + folder + ":v1");
  REQUIRE(by_tag);
  CHECK(by_tag->name == "localhost/box:v1");
  CHECK(by_tag->image.digest == digest_of(image.manifest));
  CHECK(*read_file(by_tag->image.layers[1] + "/b") == "2");
  const Result<Imported> only = import_from(scratch, "oci:" + folder, "quay.io/a/b:c");
  REQUIRE(only);
  CHECK(only->name == "quay.io/a/b:c");
  const Result<Imported> none = import_from(scratch, "oci:" + folder + ":v2");
  REQUIRE(!none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().text ==
        "oci:" + folder + ":v2: found no image with the tag v2; available tags: 'v1'");
}

TEST_CASE("image import: a layout folder that is damaged is refused, one line that says where") {
  const TestImage image({Tar().file("a", "1")});
  const std::string layer = digest_of(image.layers[0]);
  struct {
    std::string path, bytes, want;
  } const cases[] = {
      {"index.json", "{}", "expected config and layers"},
      {"index.json", R"({"manifests":[]})", "the folder contains no image"},
      {"index.json", "\xff", "not JSON"},
      {"blobs/sha256/" + digest_of(image.manifest).substr(7), "{}", "does not match its digest"},
      {"blobs/sha256/" + digest_of(image.config).substr(7), "{}", "does not match its digest"},
      {"blobs/sha256/" + layer.substr(7), image.layers[0] + "x", "does not match its digest"},
      {"blobs/sha256/" + layer.substr(7), image.layers[0].substr(0, 40),
       "does not match its digest"},
      {"blobs/sha256/" + layer.substr(7), "", "layer " + layer},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Scratch scratch;
    image.put_layout(scratch.path + "/box", "v1");
    put_file(scratch.path + "/box/" + c.path, c.bytes);
    const Result<Imported> imported = import_from(scratch, "oci:" + scratch.path + "/box");
    REQUIRE(!imported);
    CHECK(imported.error().text.find(c.want) != std::string::npos);
    CHECK(imported.error().text.find('\n') == std::string::npos);
    CHECK(Store::open(scratch.path + "/images")->list()->empty());
    CHECK(std::filesystem::is_empty(scratch.path + "/images/layers"));
  }
}

TEST_CASE("image import: a named pipe or a device is refused, and never blocks") {
  const TestImage image({Tar().file("a", "1")});
  const std::string blobs = "blobs/sha256/";
  for (const std::string& name :
       {std::string("index.json"), blobs + digest_of(image.manifest).substr(7),
        blobs + digest_of(image.config).substr(7), blobs + digest_of(image.layers[0]).substr(7)}) {
    CAPTURE(name);
    const Scratch scratch;
    image.put_layout(scratch.path + "/box", "v1");
    const std::string path = scratch.path + "/box/" + name;
    REQUIRE(::unlink(path.c_str()) == 0);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const Result<Imported> imported = import_from(scratch, "oci:" + scratch.path + "/box");
    REQUIRE(!imported);
    CHECK(imported.error().text.find(path + " is not a regular file") != std::string::npos);
  }
  const Scratch scratch;
  const std::string path = scratch.path + "/box.tar";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const std::string& special : {path, std::string("/dev/zero")}) {
    const Result<Imported> imported = import_from(scratch, "docker-archive:" + special);
    REQUIRE(!imported);
    CHECK(imported.error().text.find(special + " is not a regular file") != std::string::npos);
  }
}

TEST_CASE("image import: no link of another user is followed, neither to an image nor in it") {
  const TestImage image({Tar().file("a", "1")});
  const Scratch scratch;
  image.put_layout(scratch.path + "/box", "v1");
  const std::string index = scratch.path + "/box/index.json";
  const std::string blobs = scratch.path + "/box/blobs/sha256";
  const auto link = [](const std::string& path, const std::string& target) {
    REQUIRE(::symlink(target.c_str(), path.c_str()) == 0);
    return path;
  };
  for (const std::string& path : {index, blobs}) {
    REQUIRE(::rename(path.c_str(), (path + "-real").c_str()) == 0);
    link(path, path + "-real");
  }
  put_file(scratch.path + "/box.tar", "no archive");
  const std::string folder = link(scratch.path + "/folder", "box");
  const std::string file = link(scratch.path + "/file.tar", "box.tar");
  const Result<Imported> by_roots_links = import_from(scratch, "oci:" + folder);
  REQUIRE(by_roots_links);
  CHECK(by_roots_links->name == "localhost/folder:latest");
  for (const std::string& path : {folder, file, index, blobs}) {
    CAPTURE(path);
    REQUIRE(::lchown(path.c_str(), 4321, 4321) == 0);
    const std::string from = path == file ? "docker-archive:" + file : "oci:" + folder;
    const Result<Imported> refused = import_from(scratch, from);
    REQUIRE(!refused);
    CHECK(refused.error().text.starts_with(from + ": "));
    CHECK(refused.error().text.find(": this symbolic link belongs to user 4321") !=
          std::string::npos);
    REQUIRE(::lchown(path.c_str(), 0, 0) == 0);
  }
}

TEST_CASE("image import: the file or folder that was found is read, whatever replaces it") {
  const TestImage good({Tar().file("a", "good")});
  const TestImage evil({Tar().file("a", "evil")});
  const Scratch scratch;
  const auto save = [&](const TestImage& image, const std::string& name) {
    image.put_layout(scratch.path + "/" + name + "/box", "v1");
    Tar tar;
    tar.file("layer.tar", image.plain[0]).file("c.json", image.config);
    tar.file("manifest.json", manifest_json({"layer.tar"}, {"box:v1"}));
    put_file(scratch.path + "/" + name + "/box.tar", tar.bytes());
  };
  save(good, "home");
  save(evil, "evil");
  const Result<GivenImage> folder =
      find_image(*reference_from("oci:" + scratch.path + "/home/box"));
  const Result<GivenImage> file =
      find_image(*reference_from("docker-archive:" + scratch.path + "/home/box.tar"));
  REQUIRE(folder);
  REQUIRE(file);
  REQUIRE(::rename((scratch.path + "/home").c_str(), (scratch.path + "/away").c_str()) == 0);
  REQUIRE(::symlink((scratch.path + "/evil").c_str(), (scratch.path + "/home").c_str()) == 0);
  for (const GivenImage* given : {&*folder, &*file}) {
    Result<Store> store = Store::open(scratch.path + "/images");
    REQUIRE(store);
    const Result<Imported> imported = import_image(*store, *given, "", {});
    REQUIRE(imported);
    CHECK(*read_file(imported->image.layers[0] + "/a") == "good");
  }
}

TEST_CASE("image import: the output of docker save, packed or not") {
  const TestImage image({Tar().file("a", "1"), Tar().file("b", "2"), Tar().file("a", "1")});
  Tar tar;
  tar.file("l1/layer.tar", image.plain[0]).file("l2/layer.tar", image.plain[1]);
  tar.symlink("l3/layer.tar", "../l1/layer.tar").file("c.json", image.config);
  tar.file("manifest.json",
           manifest_json({"l1/layer.tar", "l2/layer.tar", "l3/layer.tar"}, {"team/box:v2"}));
  for (const std::string& bytes : {tar.bytes(), packing::gzipped(tar.bytes())}) {
    const Scratch scratch;
    put_file(scratch.path + "/box.tar", bytes);
    const std::string from = "docker-archive:" + scratch.path + "/box.tar";
    const Result<Imported> imported = import_from(scratch, from);
    REQUIRE(imported);
    CHECK(imported->name == "docker.io/team/box:v2");
    CHECK(imported->image.layers.size() == 3);
    CHECK(*read_file(imported->image.layers[2] + "/a") == "1");
    CHECK(import_from(scratch, from + ":team/box:v2"));
    const Result<Imported> other = import_from(scratch, from + ":team/box:v3");
    REQUIRE(!other);
    CHECK(other.error().text.find(
              "the archive does not contain the image docker.io/team/box:v3; it contains "
              "docker.io/team/box:v2") != std::string::npos);
  }
}

TEST_CASE("image import: an archive's own name does not replace an image from a registry") {
  const Scratch scratch;
  Result<Store> store = Store::open(scratch.path + "/images");
  const TestImage pulled({Tar().file("a", "pulled")});
  const TestImage other({Tar().file("a", "other")});
  const std::string name = "docker.io/team/box:v1";
  const auto digest = [&] { return (**store->look_up(name)).digest; };
  const auto archive = [&](const TestImage& image, const std::string& tag) {
    put_file(scratch.path + "/box.tar", Tar()
                                            .file("manifest.json", manifest_json({"l.tar"}, {tag}))
                                            .file("c.json", image.config)
                                            .file("l.tar", image.plain[0])
                                            .bytes());
    return "docker-archive:" + scratch.path + "/box.tar";
  };
  const std::string from = archive(other, "team/box:v1");
  const std::string imported = import_from(scratch, from)->image.digest;

  put_file(scratch.path + "/layer", pulled.layers[0]);
  AddOptions options;
  options.name_from = NameFrom::registry;
  options.open = [&](const Descriptor&, std::size_t) -> Result<std::unique_ptr<Bytes>> {
    return bytes_of(Fd(::open((scratch.path + "/layer").c_str(), O_RDONLY | O_CLOEXEC)));
  };
  REQUIRE(store->add(Source::pulled("docker.io", "team/box", ""), name, pulled.manifest,
                     pulled.config, options));
  for (const std::string& source : {from, from + ":team/box:v1"}) {
    const Result<Imported> refused = import_from(scratch, source);
    REQUIRE(!refused);
    CHECK(
        refused.error().text.ends_with(": the image's name, docker.io/team/box:v1, belongs to an "
                                       "image in a registry; set another name with --name"));
    CHECK(digest() == digest_of(pulled.manifest));
  }
  CHECK(import_from(scratch, from, "localhost/box:v1"));
  CHECK(import_from(scratch, from, name));  // A person says so.
  CHECK(digest() == imported);
  CHECK(import_from(scratch, from));
  const std::string own = archive(other, "registry.muster.internal/team/box:v1");
  CHECK(!import_from(scratch, own));
}

TEST_CASE("image import: an archive that docker save did not write") {
  const TestImage image({Tar().file("a", "1")});
  const std::string list = manifest_json({"l.tar"}, {});
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not a tar archive"},
      {"no tar at all, but long enough to be looked at" + std::string(600, 'x'),
       "not a tar archive"},
      {Tar().file("manifest.json", "{}").bytes(), "expected a list of images"},
      {Tar().file("manifest.json", list).bytes(), "does not contain 'c.json'"},
      {Tar().file("manifest.json", list).file("c.json", image.config).bytes(),
       "does not contain 'l.tar'"},
      {Tar().file("manifest.json", list).file("c.json", "{}").file("l.tar", "").bytes(),
       "expected rootfs"},
      {Tar().file("manifest.json", list).file("c.json", image.config).file("l.tar", "x").bytes(),
       "does not match its digest"},
      {Tar()
           .file("manifest.json", list)
           .file("c.json", image.config)
           .file("l.tar", Tar().file("a", "2").bytes())
           .bytes(),
       "does not match its digest"},
      {Tar()
           .file("manifest.json", manifest_json({"l.tar", "l.tar"}, {}))
           .file("c.json", image.config)
           .file("l.tar", image.plain[0])
           .bytes(),
       "has 2 layers, but its configuration has 1"},
      {Tar().symlink("manifest.json", "manifest.json").bytes(), "symbolic links form a loop"},
      {Tar().file(std::string(5000, 'n'), "").bytes(), "the path has 5000 bytes; the limits are"},
      {Tar().symlink("l", std::string(5000, 'n')).bytes(), "the path has 5000 bytes"},
      {Tar()
           .pax({{"GNU.sparse.size", "1000000"},
                 {"GNU.sparse.numblocks", "1"},
                 {"GNU.sparse.map", "999999,1"}})
           .file("manifest.json", "x")
           .bytes(),
       "contains a sparse file, which docker save does not write"},
  };
  for (const auto& [bytes, want] : cases) {
    const std::string wanted = want;
    CAPTURE(wanted);
    const Scratch scratch;
    put_file(scratch.path + "/box.tar", bytes);
    const Result<Imported> imported =
        import_from(scratch, "docker-archive:" + scratch.path + "/box.tar");
    REQUIRE(!imported);
    CAPTURE(imported.error().text);
    CHECK(imported.error().text.find(wanted) != std::string::npos);
    CHECK(std::filesystem::is_empty(scratch.path + "/images/layers"));
  }
  const Scratch scratch;
  const Result<Imported> none = import_from(scratch, "docker-archive:/not/there");
  REQUIRE(!none);
  CHECK(none.error().code == Errc::not_found);
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
