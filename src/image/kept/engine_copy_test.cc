#include "image/kept/engine_copy.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files/folder.h"
#include "base/text.h"
#include "image/kept/import.h"
#include "image/kept/testing.h"

namespace muster::image {
namespace {

using packing::put_file;
using packing::Scratch;
using packing::Tar;

TEST_CASE("engine copy: skopeo gets the same engine as docker") {
  struct {
    const char* name;
    Env env;
    std::string want;
  } const cases[] = {
      {"the machine's", {}, "--src-daemon-host unix:///var/run/docker.sock "},
      {"another socket",
       {{"DOCKER_HOST", "unix:///a b.sock"}},
       "--src-daemon-host unix:///a b.sock "},
      {"another machine's",
       {{"DOCKER_HOST", "tcp://lab:2375"}},
       "--src-daemon-host http://lab:2375 "},
      {"by TLS",
       {{"DOCKER_HOST", "tcp://lab:2376"}, {"DOCKER_TLS_VERIFY", "1"}, {"DOCKER_CERT_PATH", "/c"}},
       "--src-daemon-host tcp://lab:2376 --src-cert-dir /c "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<Command> command = copy_command(*reference_from("docker-daemon:box"), "/f", c.env);
    REQUIRE(command);
    CHECK(join(command->argv, " ") == "skopeo --tmpdir /f/tmp copy " + c.want +
                                          "docker-daemon:docker.io/library/box:latest "
                                          "dir:/f/image");
    CHECK(command->env == c.env);
  }
  const Result<Command> podman = copy_command(*reference_from("containers-storage:localhost/b:1"),
                                              "/f", {{"DOCKER_HOST", "tcp://lab:1"}});
  CHECK(join(podman->argv, " ") ==
        "skopeo --tmpdir /f/tmp copy containers-storage:localhost/b:1 dir:/f/image");
  const Result<Command> ssh =
      copy_command(*reference_from("docker-daemon:box"), "/f", {{"DOCKER_HOST", "ssh://me@lab"}});
  REQUIRE(!ssh);
  CHECK(ssh.error().code == Errc::unsupported);
  CHECK(ssh.error().text.find("docker save NAME -o FILE") != std::string::npos);
}

TEST_CASE("engine copy: why it failed, and what to do") {
  const std::string start = "time=\"2026-01-01T00:00:00Z\" level=fatal msg=\"";
  struct {
    std::string said;
    Errc code;
    const char* want;
  } const cases[] = {
      {start +
           "initializing source docker-daemon:box:latest: loading image from docker engine: "
           "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?\"\n",
       Errc::system,
       "no Docker engine responds at 'unix:///x'; start the engine, or set DOCKER_HOST"},
      {start + "Error response from daemon: reference does not exist\"\n", Errc::not_found,
       "image not found; docker images lists"},
      {start + "writing blob: write /f: no space left on device\"", Errc::system,
       "skopeo: 'writing blob: write /f: no space left on device'"},
      {"Getting image\n" + start + "a \\\"b\\\" c\\x1b[2J\"\n", Errc::system, "skopeo: 'a \"b\" c"},
      {"skopeo: no such option\nusage\n", Errc::system, "skopeo: 'usage'"},
      {"\xff\x1b[2J\n", Errc::system, "skopeo: '\\xff\\x1b[2J'"},
      {"", Errc::system, "it failed without an error message"},
      {start, Errc::system, "it failed without an error message"},
      {start + "\\", Errc::system, "skopeo: '\\"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Error error =
        copy_error(*reference_from("docker-daemon:box"), {{"DOCKER_HOST", "unix:///x"}}, c.said);
    CHECK(error.code == c.code);
    CHECK_MESSAGE(error.text.find(c.want) != std::string::npos, error.text);
    CHECK(error.text.find('\n') == std::string::npos);
    CHECK(error.text.find('\x1b') == std::string::npos);
  }
}

/// A program used in place of skopeo.
Env with_skopeo(const Scratch& scratch, const std::string& script) {
  const std::string path = scratch.path + "/bin/skopeo";
  put_file(path, "#!/bin/sh\n" + script);
  ::chmod(path.c_str(), 0755);
  return {{"PATH", scratch.path + "/bin:/usr/bin:/bin"}};
}

Result<Imported> import_with(const Scratch& scratch, const CopyOptions& copy) {
  Result<Store> store = Store::open(scratch.path + "/images");
  REQUIRE(store);
  Result<Imported> imported =
      import_image(*store, {*reference_from("docker-daemon:box:v1")}, "", {}, copy);
  CHECK(std::filesystem::is_empty(scratch.path + "/images/layers") == !imported);
  return imported;
}

TEST_SUITE_BEGIN("engine copy" * doctest::skip(::geteuid() != 0));

TEST_CASE("engine copy: an image that skopeo copied is imported under the engine's name") {
  const Scratch scratch;
  const TestImage image({Tar().file("a", "1"), Tar().file("b", "2")});
  const auto put = [&](const std::string& name, const std::string& bytes) {
    put_file(scratch.path + "/image/" + name, bytes);
  };
  for (const std::string& layer : image.layers) put(digest_of(layer).substr(7), layer);
  put(digest_of(image.config).substr(7), image.config);
  put("manifest.json", image.manifest);
  CopyOptions copy;
  // The last argument is dir:FOLDER.
  copy.env = with_skopeo(scratch, "for last; do :; done; cp -r " + scratch.path +
                                      "/image \"${last#dir:}\"; echo Copying");
  std::uint64_t most = 0;
  copy.on_progress = [&](std::uint64_t bytes) { most = std::max(most, bytes); };
  const Result<Imported> imported = import_with(scratch, copy);
  REQUIRE(imported);
  CHECK(imported->name == "docker.io/library/box:v1");
  CHECK(imported->image.digest == digest_of(image.manifest));
  CHECK(*read_file(imported->image.layers[1] + "/b") == "2");
  CHECK(most > 0);
  const Result<std::vector<std::string>> names = names_in(scratch.path + "/images/layers");
  CHECK(std::none_of(names->begin(), names->end(),
                     [](const std::string& name) { return name.starts_with('.'); }));

  put(digest_of(image.layers[0]).substr(7), image.layers[0] + "x");
  const Scratch other;
  const Result<Imported> damaged = import_with(other, copy);
  REQUIRE(!damaged);
  CHECK(damaged.error().text.find("docker-daemon:docker.io/library/box:v1: ") == 0);
  CHECK_MESSAGE(damaged.error().text.find("does not match its digest") != std::string::npos,
                damaged.error().text);
}

TEST_CASE("engine copy: a program that is missing, fails, hangs or floods ends with one line") {
  struct {
    const char* name;
    const char* script;
    Errc code;
    const char* want;
  } const cases[] = {
      {"missing", nullptr, Errc::not_found, "apt install skopeo"},
      {"fails", "echo 'level=fatal msg=\"no luck\"' >&2; exit 1", Errc::system, "'no luck'"},
      {"killed", "kill -9 $$", Errc::system, "without an error message"},
      {"brings nothing", "exit 0", Errc::system, "without an error message"},
      {"hangs", "exec sleep 600", Errc::timeout, "the engine stopped sending data"},
      {"hangs with its output closed", "exec >&- 2>&-; sleep 600", Errc::timeout,
       "stopped sending"},
      {"leaves a process", "sleep 600 & exit 1", Errc::timeout, "stopped sending"},
      {"floods",
       "for last; do :; done; mkdir ${last#dir:}; head -c 4000000 /dev/zero >${last#dir:}/x; sleep "
       "600",
       Errc::protocol, "exceeds the size limit"},
      {"talks", "yes | head -c 1000000; echo the end; exit 1", Errc::system, "'the end'"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Scratch scratch;
    CopyOptions copy;
    copy.env = {{"PATH", "/nowhere"}};
    if (c.script != nullptr) copy.env = with_skopeo(scratch, c.script);
    copy.idle_max = std::chrono::milliseconds(500);
    copy.bytes_max = 1 << 20;
    const Result<Imported> imported = import_with(scratch, copy);
    REQUIRE(!imported);
    CHECK(imported.error().code == c.code);
    CHECK_MESSAGE(imported.error().text.find(c.want) != std::string::npos, imported.error().text);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
