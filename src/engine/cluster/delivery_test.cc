#include "engine/cluster/delivery.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "os/packing/unpack.h"

namespace muster::cluster {
namespace {

struct Folder {
  Folder() : path(*make_private_folder("/tmp", "muster-delivery-")) {}
  ~Folder() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

job::Spec demo() {
  job::Spec spec;
  spec.name = "demo";
  spec.network = job::Network::nat;
  return spec;
}

TEST_CASE("delivery: a job's folders are brought, and its spec names them as nodes see them") {
  job::Spec spec = demo();
  spec.source_folder = "/home/me/code";
  spec.input = {{.name = "train", .folder = "/data/train"}, {.name = "test"}};
  spec.input[1].s3.url = "s3://b/test";
  spec.s3.credentials_file = "/state/keys/demo";
  spec.s3.results_credentials_file = "/state/keys/demo.results";
  spec.output_folder = "/home/me/out";
  const Result<Delivery> delivery = plan_delivery(spec, "/tmp/muster-1");
  REQUIRE(delivery);
  CHECK(delivery->folders == std::vector<Brought>{{"/home/me/code", "source"},
                                                  {"/data/train", "channel-train"},
                                                  {"/state/keys/demo", "credentials"}});
  CHECK(delivery->spec.source_folder == "/tmp/muster-1/source");
  CHECK(delivery->spec.input[0].folder == "/tmp/muster-1/channel-train");
  CHECK(delivery->spec.input[1].folder.empty());
  CHECK(delivery->spec.s3.credentials_file == "/tmp/muster-1/credentials");
  CHECK(delivery->spec.s3.results_credentials_file.empty());
  CHECK(delivery->spec.output_folder.empty());
}

TEST_CASE("delivery: files in a folder that nodes share stay there, also checkpoints") {
  job::Spec spec = demo();
  spec.source_folder = "/home/me/code";
  spec.input = {{.name = "train", .folder = "/shared/data/train"}};
  spec.checkpoint_folder = "/shared/run-1";
  CHECK(!plan_delivery(spec, "/tmp/x"));
  const Result<Delivery> delivery = plan_delivery(spec, "/tmp/x", {}, "/shared");
  REQUIRE(delivery);
  CHECK(delivery->folders == std::vector<Brought>{{"/home/me/code", "source"}});
  CHECK(delivery->spec.input[0].folder == "/shared/data/train");
  CHECK(delivery->spec.checkpoint_folder == "/shared/run-1");
}

TEST_CASE("delivery: features that a cluster's hosts lack are refused by name") {
  struct {
    void (*ask)(job::Spec&);
    const char* what;
  } const cases[] = {
      {[](job::Spec& spec) { spec.network = job::Network::none; }, "EnableNetworkIsolation"},
      {[](job::Spec& spec) { spec.vpc.emplace(); }, "VpcConfig"},
      {[](job::Spec& spec) { spec.encrypted = true; }, "encrypted traffic"},
      {[](job::Spec& spec) { spec.image.emplace(); }, "an image"},
      {[](job::Spec& spec) { spec.bound.push_back({.outside = "/a"}); }, "--bind"},
      {[](job::Spec& spec) { spec.checkpoint_folder = "/a"; }, "checkpoints in a folder"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    job::Spec spec = demo();
    c.ask(spec);
    const Result<Delivery> delivery = plan_delivery(spec, "/tmp/x");
    REQUIRE(!delivery);
    CHECK(delivery.error().code == Errc::unsupported);
    CHECK(delivery.error().text.find(c.what) != std::string::npos);
  }
}

TEST_CASE("delivery: several hosts have the site's preflight, or the job's own") {
  job::Spec spec = demo();
  spec.instance_count = 2;
  CHECK(plan_delivery(spec, "/tmp/x")->spec.environment.at("MUSTER_PREFLIGHT") == "light");
  const slurm::Site site{
      .preflight = {{"MUSTER_PREFLIGHT", "off"}, {"MUSTER_PREFLIGHT_DISK_GIB", "50"}}};
  Env given = plan_delivery(spec, "/tmp/x", site)->spec.environment;
  CHECK(given.at("MUSTER_PREFLIGHT") == "off");
  CHECK(given.at("MUSTER_PREFLIGHT_DISK_GIB") == "50");
  spec.environment["MUSTER_PREFLIGHT"] = "full";
  given = plan_delivery(spec, "/tmp/x", site)->spec.environment;
  CHECK(given.at("MUSTER_PREFLIGHT") == "full");
  spec = demo();
  spec.instance_count = 1;
  CHECK(!plan_delivery(spec, "/tmp/x")->spec.environment.contains("MUSTER_PREFLIGHT"));
}

TEST_CASE("delivery: containers may have an image, whose lease is of the submit host") {
  job::Spec spec = demo();
  spec.image = job::Image{.name = "box", .layers = {"/store/layers/0/root"}, .lease = "/lease"};
  CHECK(!plan_delivery(spec, "/tmp/x"));
  const slurm::Site containers{.hosts = slurm::Hosts::container};
  const Result<Delivery> delivery = plan_delivery(spec, "/tmp/x", containers);
  REQUIRE(delivery);
  CHECK(delivery->spec.image->lease.empty());
  spec.network = job::Network::none;
  CHECK(!plan_delivery(spec, "/tmp/x", containers));
}

TEST_CASE("delivery: the archive holds folders and files below their names, and nothing is left") {
  const Folder folder;
  REQUIRE(make_folders(folder.path + "/code/deep"));
  REQUIRE(write_file(folder.path + "/code/deep/train.py", "print()"));
  REQUIRE(write_file(folder.path + "/secret", "key", 0600));
  const std::string archive = folder.path + "/archive";
  const auto link = [&](const char* target, const char* name) {
    REQUIRE(::symlink(target, (folder.path + "/code/" + name).c_str()) == 0);
  };
  link("train.py", "deep/inside");
  link("/etc/passwd", "deep/absolute");
  link("../../secret", "deep/outside");
  const Result<std::vector<std::string>> left_out = make_archive(
      {{folder.path + "/code", "source"}, {folder.path + "/secret", "credentials"}}, archive);
  REQUIRE(left_out);
  CHECK(*left_out == std::vector<std::string>{folder.path + "/code/deep/absolute -> /etc/passwd",
                                              folder.path + "/code/deep/outside -> ../../secret"});
  const std::string out = folder.path + "/out";
  REQUIRE(make_folders(out));
  REQUIRE(packing::unpack(archive, out, {}, "archive"));
  CHECK(read_file(out + "/source/deep/train.py").value_or("") == "print()");
  CHECK(read_file(out + "/credentials").value_or("") == "key");
  CHECK(!make_archive({{folder.path + "/none", "source"}}, archive + "2"));
}

TEST_CASE("delivery: links of root lead to a folder or a file, those of other users do not" *
          doctest::skip(::geteuid() != 0)) {
  const Folder folder;
  REQUIRE(make_folders(folder.path + "/precious"));
  REQUIRE(write_file(folder.path + "/precious/secret", "key"));
  const std::string link = folder.path + "/link";
  REQUIRE(::symlink("precious", link.c_str()) == 0);
  const std::string archive = folder.path + "/archive";
  REQUIRE(make_archive({{link, "source"}, {link + "/secret", "credentials"}}, archive));
  CHECK(read_file(archive)->find("key") != std::string::npos);
  REQUIRE(::lchown(link.c_str(), 4321, 4321) == 0);
  for (const Brought& brought :
       {Brought{link, "source"}, Brought{link + "/secret", "credentials"}}) {
    const Result<std::vector<std::string>> refused = make_archive({brought}, archive + "2");
    REQUIRE(!refused);
    CHECK(refused.error().text.starts_with(link + ": this symbolic link belongs to user 4321"));
    CHECK(::access((archive + "2").c_str(), F_OK) != 0);
  }
}

TEST_CASE("delivery: however fast a folder or its parent is swapped, the archive has no other's" *
          doctest::skip(::geteuid() != 0)) {
  const Folder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.path + "/" + name;
    REQUIRE(make_folders(path.substr(0, path.rfind('/'))));
    REQUIRE(write_file(path, text));
  };
  const auto link = [&](const std::string& target, const std::string& name) {
    const std::string path = folder.path + "/" + name;
    REQUIRE(::symlink((folder.path + "/" + target).c_str(), path.c_str()) == 0);
    REQUIRE(::lchown(path.c_str(), 4321, 4321) == 0);
  };
  for (int number = 0; number < 20; ++number) {
    const std::string name = "code/inner/" + std::to_string(number);
    put("home/" + name, "good");
    put("precious/" + name, "evil");
  }
  link("precious/code", "home/other");
  link("precious/code/inner", "home/code/other");
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    const auto swap = [&](const std::string& a, const std::string& b) {
      static_cast<void>(::renameat2(AT_FDCWD, (folder.path + a).c_str(), AT_FDCWD,
                                    (folder.path + b).c_str(), RENAME_EXCHANGE));
    };
    while (!over) {
      swap("/home/code", "/home/other");
      swap("/home/code", "/home/other");
      swap("/home/code/inner", "/home/code/other");
      swap("/home/code/inner", "/home/code/other");
    }
  });
  const std::string archive = folder.path + "/archive";
  for (int round = 0; round < 500; ++round) {
    const bool made = make_archive({{folder.path + "/home/code", "source"}}, archive).has_value();
    const std::string text = made ? *read_file(archive) : "";
    CHECK(text.find("evil") == std::string::npos);
    ::unlink(archive.c_str());
  }
  over = true;
  swapper.join();
}

}  // namespace
}  // namespace muster::cluster
