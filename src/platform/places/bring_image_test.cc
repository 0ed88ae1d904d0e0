#include "platform/places/bring_image.h"

#include <doctest/doctest.h>

#include <csignal>

namespace muster::places {
namespace {

const ImagePlace place{"/data/sm",
                       {{"PATH", "/bin"},
                        {"HOME", "/root"},
                        {"AWS_SECRET_ACCESS_KEY", "hush"},
                        {"MUSTER_STATE", "/state"}}};

TEST_CASE("bring image: a pull gets no logins and only public addresses") {
  const Command command = pull_command(place, {.name = "docker.io/team/box:v1"});
  CHECK(command.argv ==
        Args{"/data/sm", "image", "pull", "docker.io/team/box:v1", "--json", "--public"});
  CHECK(command.env ==
        Env{{"PATH", "/bin"}, {"MUSTER_STATE", "/state"}, {"AWS_EC2_METADATA_DISABLED", "true"}});
}

TEST_CASE("bring image: a pull is given what the config names") {
  const job::ImageWish wish{
      .name = "reg.lab/box:v1", .anywhere = true, .policy = "/etc/p.json", .logins = "/etc/logins"};
  const Command command = pull_command(place, wish);
  CHECK(command.argv ==
        Args{"/data/sm", "image", "pull", "reg.lab/box:v1", "--json", "--policy", "/etc/p.json"});
  CHECK(command.env.at("REGISTRY_AUTH_FILE") == "/etc/logins");
  CHECK(command.env.at("HOME") == "/root");  // Where credential helpers keep theirs.
}

TEST_CASE("bring image: an image whose tag was already resolved is pulled by digest") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const Command command = pull_command(place, {.name = "reg.lab:5000/box:v1", .digest = digest});
  CHECK(command.argv[3] == "reg.lab:5000/box@" + digest);
}

TEST_CASE("bring image: the error of a failed pull is its last line") {
  const job::Outcome unusable = job::Outcome::exited(2);
  const Error missing = pull_failure(unusable,
                                     "sm image pull: warning: again\n"
                                     "sm image pull: reg.lab/box:v1: no such image (sm explain "
                                     "image)\n");
  CHECK(missing.text == "the image cannot be pulled: reg.lab/box:v1: no such image");
  CHECK(missing.code == Errc::invalid_input);
  CHECK(pull_failure(unusable, "").text == "the image cannot be pulled: exit code 2");
}

TEST_CASE("bring image: a registry or a machine that fails is not the fault of the job's image") {
  CHECK(pull_failure(job::Outcome::exited(3), "the registry returned 503").code == Errc::closed);
  CHECK(pull_failure(job::Outcome::signaled(SIGKILL), "").code == Errc::closed);
}

}  // namespace
}  // namespace muster::places
