// What a host of a container image sees and may do.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "machine/steward/test_job.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

constexpr const char* passwd =
    "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n";

/// The entry point: what it finds, one thing a line, in a shell's own words alone.
constexpr const char* script = R"(#!/bin/sh
echo "args: $*"
echo "folder: $PWD, home: $HOME, path: $PATH, flag: $FLAG"
while read -r name value rest; do
  case $name in Uid:|CapEff:|CapBnd:|NoNewPrivs:) echo "$name $value";; esac
done </proc/self/status
for path in /usr/bin/env /etc/ssl /var/lib /lower /gone /over/lower /over/upper /own-device; do
  test -e $path && echo "sees $path"
done
read -r line </opt/ml/input/data/train/file; echo "input: $line"
read -r line </run/muster/job.key; echo "key: $line"
read -r line </opt/ml/code/own && echo "code: $line"
line=none; read -r line 2>/dev/null </opt/ml/code/script.py; echo "staged: $line"
read -r line </evil 2>/dev/null && echo "evil: $line"
echo x 2>/dev/null >/own-device && echo "device works"
echo weights >/opt/ml/model/weights && echo "model"
echo x 2>/dev/null >/run/muster/bin/sm && echo "muster is writable"
echo x 2>/dev/null >/lower && echo "root is writable"
exit 0
)";

/// An image as layers on the disk: what this test program and a shell need of the machine, and over
/// that what images are made of.
class TestImage {
 public:
  explicit TestImage(const TestJob& job) : folder_(job.submitter() + "/image") {
    copy("/bin/sh");
    copy(loader);
    for (const std::string& library : libraries_of_shell()) copy(library);
    // Where this program is linked statically it has none.
    const auto copy_library = [](dl_phdr_info* info, std::size_t, void* self) {
      if (info->dlpi_name[0] == '/') static_cast<TestImage*>(self)->copy(info->dlpi_name);
      return 0;
    };
    ::dl_iterate_phdr(copy_library, this);
    REQUIRE(make_folders(layer(1) + "/etc"));
    REQUIRE(write_file(layer(1) + "/etc/passwd", passwd));
    REQUIRE(make_folders(layer(1) + "/opt/ml/code"));
    REQUIRE(write_file(layer(1) + "/opt/ml/code/own", "the image's\n"));
    for (const char* name : {"/lower", "/gone"}) REQUIRE(write_file(layer(1) + name, name));
    REQUIRE(make_folders(layer(1) + "/over"));
    REQUIRE(write_file(layer(1) + "/over/lower", "x"));
    REQUIRE(make_folders(layer(2) + "/over"));
    REQUIRE(write_file(layer(2) + "/over/upper", "x"));
    REQUIRE(::mknod((layer(2) + "/gone").c_str(), S_IFCHR | 0600, 0) == 0);
    REQUIRE(::mknod((layer(2) + "/own-device").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0);
    fs::create_symlink("/../../../../etc/hostname", layer(2) + "/evil");
    REQUIRE(write_file(layer(2) + "/entry", script, 0755));
  }

  job::Image image() const {
    return {.name = "test",
            .digest = "sha256:1",
            .layers = {layer(1), layer(2)},
            .entrypoint = {"/entry", "-x"},
            .environment = {{"PATH", "/bin"}, {"FLAG", "image's"}},
            .folder = "/over",
            .user = ""};
  }
  std::string layer(int number) const { return folder_ + "/" + std::to_string(number); }

 private:
  static constexpr const char* loader = "/lib64/ld-linux-x86-64.so.2";

  /// What the loader says that /bin/sh is linked with: "libc.so.6 => /lib/…/libc.so.6 (0x…)".
  Names libraries_of_shell() const {
    const std::string listing = folder_ + "-libraries";
    const Fd out(::open(listing.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    Command command;
    command.argv = {loader, "--list", "/bin/sh"};
    supervise::Stdio stdio;
    stdio.out = out.get();
    const Result<pid_t> asked = supervise::spawn(command, stdio, {});
    REQUIRE(asked);
    int status = -1;
    REQUIRE(::waitpid(*asked, &status, 0) == *asked);
    REQUIRE(status == 0);
    Names found;
    for (const std::string& line : split(*read_file(listing), '\n'))
      for (const std::string& word : split(line, ' '))
        if (word.starts_with('/')) found.push_back(word);
    return found;
  }

  void copy(const std::string& path) {
    const std::string to = layer(1) + path;
    REQUIRE(make_folders(to.substr(0, to.rfind('/'))));
    fs::copy_file(path, to, fs::copy_options::skip_existing);
  }
  std::string folder_;
};

TEST_CASE("steward: a host of an image sees that, the job's files, and nothing of the machine") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  const TestImage image(job);
  job.spec().image = image.image();
  job.spec().input = {{"train", job.submitter() + "/data"}};
  CHECK(job.run("algo-1") == 0);
  INFO(job.end("algo-1").outcome.text << "\n" << job.lines("algo-1", -1));
  REQUIRE(job.end("algo-1").outcome == job::Outcome::exited(0));
  CHECK(split(job.lines("algo-1", -1), '\n') ==
        Names{"args: -x train",
              "folder: /over, home: /root, path: /bin:/run/muster/bin, flag: image's", "Uid: 0",
              "CapEff: 00000000000404fb", "CapBnd: 00000000000404fb", "NoNewPrivs: 1",
              "sees /lower", "sees /over/lower", "sees /over/upper", "sees /own-device",
              "input: input", "key: secret", "code: the image's", "staged: none", "evil: algo-1",
              "model", "root is writable", ""});
  CHECK(*read_file(job.folder("algo-1") + "/result/model/weights") == "weights\n");
  CHECK(*read_file(image.layer(1) + "/lower") == "/lower");  // Layers are never written to.
  CHECK(job.left() == none);
  CHECK(!job.folders_left("algo-1"));
}

TEST_CASE("steward: an image's USER runs without capabilities, and may write what it must") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  const TestImage image(job);
  job.spec().image = image.image();
  job.spec().image->user = "app";
  job.spec().image->folder = "";
  job.spec().environment["FLAG"] = "job's";
  job.spec().source_folder = job.submitter() + "/code";
  job.spec().arguments = {"a b"};
  CHECK(job.run("algo-1") == 0);
  const std::string lines = job.lines("algo-1", -1);
  for (const std::string line :
       {"args: -x a b\n", "folder: /, home: /home/app, path: /bin:/run/muster/bin, flag: job's\n",
        "staged: code\n", "Uid: 1000\n", "CapEff: 0000000000000000\n", "key: secret\n", "model\n"})
    CHECK_MESSAGE(lines.find(line) != std::string::npos, line << "\n" << lines);
  CHECK(lines.find("writable") == std::string::npos);
  CHECK(*read_file(job.folder("algo-1") + "/result/model/weights") == "weights\n");
}

TEST_CASE("steward: an image that cannot run ends its host with the reason") {
  SKIP_UNLESS_HOSTS_RUN();
  struct {
    const char* name;
    job::Image (*change)(job::Image image);
    const char* want;
  } const cases[] = {
      {"a user that is none",
       [](job::Image image) {
         image.user = "nobody";
         return image;
       },
       "names the user \"nobody\""},
      {"a layer that is gone",
       [](job::Image image) {
         image.layers.push_back(image.layers[0] + "-gone");
         return image;
       },
       "-gone"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    TestJob job(1);
    const TestImage image(job);
    job.spec().image = c.change(image.image());
    CHECK(job.run("algo-1") == 0);
    const job::Outcome outcome = job.end("algo-1").outcome;
    CHECK(outcome.kind == job::Outcome::Kind::failed);
    CHECK(outcome.text.find(c.want) != std::string::npos);
    CHECK(job.left() == none);
  }
}

}  // namespace
}  // namespace muster::steward
