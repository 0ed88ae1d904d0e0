#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view store_note =
    "Images are stored in the state folder (env MUSTER_STATE; default: /var/lib/muster). A layer "
    "is unpacked once, even if several images share it.";
constexpr std::string_view name_note =
    "Short names are expanded as in Docker: box means docker.io/library/box:latest.";

const Flag image_json{"--json", "", "print one JSON object"};
const Flag image_policy{
    "--policy", "FILE",
    "signature policy that images must satisfy: a policy.json in skopeo's format"};
const Operand image_name{"NAME", "image name, as shown by sm image ls", true, "IMAGE"};

std::vector<Exit> image_exits(std::string_view well, std::string_view wrong) {
  return {{"0", well},
          {"2", wrong},
          {"3",
           "this user is not allowed to create namespaces, the disk is full, or the image store "
           "cannot be read or written"}};
}

Page import_page() {
  return {
      .name = "image import",
      .group = Group::here,
      .brief = "import an image from a container engine, a folder or an archive",
      .about =
          "Imports an image so that jobs on this machine can use it. The source is a Docker engine "
          "(docker-daemon:), podman or buildah (containers-storage:), an OCI layout folder as "
          "written by buildah or skopeo (oci:), or an archive from docker save (docker-archive:). "
          "docker-daemon: and containers-storage: require skopeo. Layers that are already stored "
          "are not unpacked again.",
      .operands = {{"SOURCE",
                    "image source: docker-daemon:NAME[:TAG], containers-storage:NAME[:TAG], "
                    "oci:DIR[:TAG] or "
                    "docker-archive:FILE[:NAME], as in skopeo",
                    true, "SOURCE"}},
      .flags = {{"--name", "NAME",
                 "name to use on this machine (default: the name in the source; for a folder, "
                 "localhost/DIR:TAG)"},
                image_policy,
                image_json},
      .examples =
          {{"sm image import docker-daemon:box", "import the image built by docker build -t box ."},
           {"sm image import docker-archive:box.tar",
            "import the archive written by docker save box -o box.tar"},
           {"sm image import oci:layout:v1 --name team/box:v1",
            "import the image that buildah push box oci:layout:v1 wrote, and name it team/box:v1"}},
      .notes = {"An import either succeeds completely or changes nothing. muster verifies the "
                "digest of every layer. If an import is interrupted or fails, the next import "
                "removes its leftovers.",
                "DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH select the Docker engine, as "
                "they do for docker.",
                store_note},
      .exits = image_exits("the image is available",
                           "file not found, or the image is missing, corrupt, for another "
                           "platform, or rejected by the policy"),
  };
}

Page pull_page() {
  return {
      .name = "image pull",
      .group = Group::here,
      .brief = "pull an image from its registry",
      .about =
          "Pulls an image from its registry to this machine. Layers that are already stored "
          "are not downloaded again.",
      .operands = {{"NAME",
                    "image name, as for docker pull (box:v1, quay.io/team/box@sha256:...), or "
                    "docker-daemon:NAME, as for sm image import",
                    true, "IMAGE"}},
      .flags = {{"--platform", "OS/ARCH",
                 "platform to pull if the image supports several platforms (default: this "
                 "machine's platform)"},
                {"--username", "USER", "log in as this user; requires --password-stdin"},
                {"--password-stdin", "", "read the password from standard input"},
                {"--ca-file", "FILE",
                 "trust the CA certificates in FILE (PEM) instead of the system's"},
                {"--plain-http", "", "connect to the registry without TLS"},
                {"--public", "",
                 "connect only to public internet addresses that do not belong to this machine"},
                image_policy,
                image_json},
      .examples = {{"sm image pull debian:12"},
                   {"sm image pull registry.lab:5000/team/box --ca-file lab.pem",
                    "pull from a registry with a private CA"}},
      .notes = {"sm image pull uses the logins saved by docker login and podman login "
                "(~/.docker/config.json, auth.json) and their credential helpers. For ECR, it "
                "uses AWS credentials.",
                "A failed pull leaves existing images unchanged. The next pull skips the layers "
                "that were downloaded completely.",
                store_note},
      .exits = {{"0", "the image is available; standard output shows its digest"},
                {"2",
                 "invalid flag or name, image not found in the registry, login failed, or the "
                 "policy rejected the image"},
                {"3",
                 "this user is not allowed to create namespaces, the registry is unreachable "
                 "or sent data with a wrong digest, or the image cannot be stored"},
                {"128 + N", "signal N ended the command"}}};
}

}  // namespace

std::vector<Page> pages_image() {
  return {
      {.name = "image",
       .group = Group::here,
       .brief = "pull, list and remove images for jobs",
       .about = "Pulls, lists and removes the container images that jobs on this machine can use.",
       .examples = {{"sm image pull debian:12"}, {"sm image ls"}},
       .notes = {store_note},
       .exits = image_exits("success", "usage error")},
      pull_page(),
      import_page(),
      {.name = "image ls",
       .group = Group::here,
       .brief = "list the images on this machine",
       .about = "Lists the images on this machine: name, digest, size on disk and time of last "
                "use. The size of a shared layer counts toward every image that uses it.",
       .flags = {utc_flag, {"--json", "", "print one JSON object per line"}},
       .examples = {{"sm image ls"}},
       .exits = image_exits("success", "usage error")},
      {.name = "image inspect",
       .group = Group::here,
       .brief = "show an image's configuration and layers",
       .about = "Prints one JSON object with the image's digest, its configuration (Entrypoint, "
                "Cmd, Env, WorkingDir, User) and the folders of its layers, lowest layer first.",
       .operands = {{"NAME", "image name or digest, as shown by sm image ls", true, "IMAGE"}},
       .examples = {{"sm image inspect team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("success", "image not found")},
      {.name = "image rm",
       .group = Group::here,
       .brief = "remove an image",
       .about = "Removes an image's name, and the layers that no other image needs. Layers that a "
                "running job uses are kept until the job ends; the next import, rm or prune then "
                "removes them.",
       .operands = {image_name},
       .flags = {image_json},
       .examples = {{"sm image rm team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("the image was removed", "image not found")},
      {.name = "image prune",
       .group = Group::here,
       .brief = "remove unused layers and, on request, unused images",
       .about = "Removes layers that no image needs any more. --all and --size also remove images, "
                "but never an image that a job is using.",
       .flags =
           {{"--all", "", "also remove every image that no job is using"},
            {"--size", "SIZE",
             "also remove images, least recently used first, until the rest fit in SIZE, e.g. 20g"},
            image_json},
       .examples = {{"sm image prune"},
                    {"sm image prune --size 50g",
                     "keep the most recently used images, up to 50 GiB in total"}},
       .exits = image_exits("success", "usage error")},
  };
}

}  // namespace muster::command
