#include "server/jobs/training_image.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs {
namespace {

JobConfig config_of(const char* json) {
  return *job_config_from(Json::parse(json));
}

TEST_CASE("training image: the config decides which images run, and from which registries") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  struct {
    const char* name;
    const char* config;
    std::string asked;
    const char*
        want;  ///< "python NAME", "image NAME", "image NAME anywhere", or a refusal's words.
  } const cases[] = {
      {"this machine", R"({"registries": ["*"]})", "host", "python python3"},
      {"names of this machine come first",
       R"({"registries": ["*"], "images": {"team/box": {"python": "/p"}}})", "team/box",
       "python /p"},
      {"nothing is listed", "{}", "team/box", "lists no others"},
      {"any", R"({"registries": ["*"]})", "team/box", "image docker.io/team/box:latest"},
      {"a folder of one registry", R"({"registries": ["reg.lab:5000/team/*"]})",
       "reg.lab:5000/team/box:v2", "image reg.lab:5000/team/box:v2 anywhere"},
      {"another folder", R"({"registries": ["reg.lab:5000/team/*"]})", "reg.lab:5000/teams/box",
       "`jobs.registries` of its config lists"},
      {"another registry", R"({"registries": ["reg.lab/team/*"]})", "reg.lab.evil/team/box",
       "`jobs.registries` of its config lists"},
      {"a repository means all its tags", R"({"registries": ["reg.lab/box"]})", "reg.lab/box:v9",
       "image reg.lab/box:v9 anywhere"},
      {"one tag", R"({"registries": ["reg.lab/box:v1"]})", "reg.lab/box:v2",
       "`jobs.registries` of its config lists"},
      {"the registry of a pattern with * is not named", R"({"registries": ["*.lab/box"]})",
       "reg.lab/box:v1", "image reg.lab/box:v1"},
      {"by one of two patterns it is", R"({"registries": ["*", "reg.lab/*"]})", "reg.lab/box:v1",
       "image reg.lab/box:v1 anywhere"},
      {"short names are Docker's", R"({"registries": ["docker.io/library/*"]})", "busybox",
       "image docker.io/library/busybox:latest anywhere"},
      {"a digest", R"({"registries": ["docker.io/team/box"]})", "team/box@" + digest,
       "image docker.io/team/box@sha256:"},
      {"no name", R"({"registries": ["*"]})", "Not A Name", "expected"},
      {"a file of the server", R"({"registries": ["*"]})", "oci:/etc",
       "expected the name of an image in a registry"},
      {"an engine's image", R"({"registries": ["*"]})", "docker-daemon:box",
       "TrainingImage docker-daemon:box: is in a Docker engine on the server's machine"},
      {"an engine's image without any list", "{}", "docker-daemon:5000/box:v1",
       "which jobs cannot use; push it to this server"},
      {"podman's", R"({"registries": ["*/*"]})", "containers-storage:localhost/box",
       "a Docker engine on the server's machine"},
      {"a registry that is called as an engine", R"({"registries": ["docker-daemon:5000/*"]})",
       "docker://docker-daemon:5000/box:v1", "image docker://docker-daemon:5000/box:v1 anywhere"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<TrainingImage, aws::Refusal> meant =
        training_image(c.asked, "", config_of(c.config));
    std::string got = meant ? "python " + meant->python : meant.error().message;
    if (meant && meant->image)
      got = "image " + meant->image->name + (meant->image->anywhere ? " anywhere" : "");
    CHECK_MESSAGE(got.find(c.want) != std::string::npos, got);
    const bool exact = std::string(c.want).starts_with("image docker.io/team/box@");
    if (meant && !exact) CHECK(got == c.want);
  }
}

TEST_CASE("training image: an image pushed to this server may be named without being listed") {
  JobConfig config = config_of(R"({"pull": "never", "image_policy": "/p.json",
                                     "images": {"*/mine": {"python": "/p"}}})");
  config.own_images = {"123456789012", "eu-west-1", {"127.0.0.1:7700"}};
  for (const char* asked : {"123456789012.dkr.ecr.eu-west-1.amazonaws.com/lab:v1",
                            "127.0.0.1:7700/lab:v1", "registry.muster.internal/lab:v1"}) {
    CAPTURE(asked);
    const Result<TrainingImage, aws::Refusal> meant = training_image(asked, "", config);
    REQUIRE((meant && meant->image));
    CHECK(meant->image->name == "registry.muster.internal/lab:v1");
    CHECK(meant->image->pull == job::Pull::missing);  // The packed layers are here.
    CHECK(meant->image->policy == "/p.json");
  }
  CHECK(!training_image("127.0.0.1:7701/lab:v1", "", config));
  CHECK(training_image("127.0.0.1:7700/mine", "", config)->python == "/p");
}

TEST_CASE("training image: a job's key can read only the repository of its own image") {
  JobConfig config = config_of(R"({"images": {"*/mine": {"python": "/p"}}, "registries": ["*"]})");
  config.own_images = {"123456789012", "eu-west-1", {"127.0.0.1:7700"}};
  const std::string digest = "@sha256:" + std::string(64, 'a');
  CHECK(own_repository("127.0.0.1:7700/team/lab:v1", config) == "team/lab");
  CHECK(own_repository("127.0.0.1:7700/team/lab" + digest, config) == "team/lab");
  CHECK(own_repository("123456789012.dkr.ecr.eu-west-1.amazonaws.com/lab", config) == "lab");
  for (const char* other :
       {"127.0.0.1:7701/team/lab:v1", "127.0.0.1:7700/mine", "host", "box:v1",
        "docker-daemon:box:v1", "123456789012.dkr.ecr.us-east-1.amazonaws.com/lab"})
    CHECK(own_repository(other, config) == "");
}

TEST_CASE("training image: how it is brought is the config's") {
  const JobConfig config = config_of(
      R"({"registries": ["*"], "pull": "always", "pull_limit": 90, "image_store_gib": 1.5,
          "registry_logins": "/etc/muster/logins.json", "image_policy": "/etc/muster/p.json"})");
  const Result<TrainingImage, aws::Refusal> meant = training_image("a/b", "", config);
  REQUIRE((meant && meant->image));
  CHECK(meant->image->pull == job::Pull::always);
  CHECK(meant->image->pull_limit == std::chrono::seconds(90));
  CHECK(meant->image->kept_bytes_max == std::int64_t{3} << 29);
  CHECK(meant->image->logins == "/etc/muster/logins.json");
  CHECK(meant->image->policy == "/etc/muster/p.json");
}

const std::string team = "arn:aws:lambda:us-east-1:000000000000:function:team";

TEST_CASE("training image: a job's login is the one it names, and for its registries alone") {
  const std::string text = R"({"registries": ["reg.lab/*", "other.lab/*", "open.lab/*"],
      "registry_logins": "/all", "credentials_providers": {
        ")" + team + R"(": {"registries": ["reg.lab"], "logins": "/team"},
        "arn:aws:lambda:us-east-1:000000000000:function:other":
            {"registries": ["other.lab"], "logins": "/other"}}})";
  JobConfig config = config_of(text.c_str());
  config.own_images = {"123456789012", "eu-west-1", {"127.0.0.1:7700"}};
  CHECK(training_image("reg.lab/box", team, config)->image->logins == "/team");
  const job::ImageWish without = *training_image("reg.lab/box", "", config)->image;
  CHECK((without.logins == "/all" && without.private_to_login));
  CHECK(training_image("other.lab/box", "", config)->image->private_to_login);
  CHECK_FALSE(training_image("open.lab/box", "", config)->image->private_to_login);
  const struct {
    const char *image, *arn, *want;
  } refused[] = {
      {"other.lab/box", team.c_str(), "its login is for reg.lab, not for other.lab"},
      {"reg.lab/box", "arn:aws:lambda:us-east-1:000000000000:function:none",
       "none: this server has no login with this name; add \"arn:aws:lambda"},
      {"127.0.0.1:7700/lab:v1", team.c_str(), "needs no login"},
      {"host", team.c_str(), "needs no login"},
      {"elsewhere.lab/box", team.c_str(), "`jobs.registries` of its config lists"},
  };
  for (const auto& c : refused) {
    const Result<TrainingImage, aws::Refusal> meant = training_image(c.image, c.arn, config);
    REQUIRE_FALSE(meant);
    CAPTURE(meant.error().message);
    CHECK(meant.error().message.find(c.want) != std::string::npos);
  }
}

TEST_CASE("training image: an imported image is never requested from this machine's own ports") {
  const JobConfig config = config_of(R"({"registries": ["localhost/*"], "pull": "always"})");
  const Result<TrainingImage, aws::Refusal> meant = training_image("localhost/box", "", config);
  REQUIRE((meant && meant->image));
  CHECK(meant->image->pull == job::Pull::never);
}

}  // namespace
}  // namespace muster::jobs
