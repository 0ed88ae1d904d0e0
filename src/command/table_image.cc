#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view store_note =
    "Images are stored below the state folder (MUSTER_STATE, by default /var/lib/muster). A layer "
    "is unpacked once, even if several images share it.";
constexpr std::string_view name_note =
    "Short names are expanded as in Docker: box means docker.io/library/box:latest.";

const Flag image_json{"--json", "", "print one JSON object"};
const Flag image_policy{"--policy", "FILE",
                        "a policy.json in skopeo's format: which signatures images need"};
const Operand image_name{"NAME", "the image, as shown by sm image ls", true, "IMAGE"};

std::vector<Exit> image_exits(std::string_view well, std::string_view wrong) {
  return {{"0", well},
          {"2", wrong},
          {"3",
           "this user may not create namespaces, the disk is full, or the images cannot be read or "
           "written"}};
}

Page import_page() {
  return {
      .name = "image import",
      .group = Group::here,
      .brief = "import an image from an engine, a folder or an archive",
      .about =
          "Unpacks an image for jobs on this machine. Sources are a Docker engine "
          "(docker-daemon:), podman and buildah (containers-storage:, requires skopeo), an OCI "
          "layout folder as written by buildah or skopeo, or an archive of docker save. Existing "
          "layers are not unpacked again.",
      .operands = {{"SOURCE",
                    "docker-daemon:NAME[:TAG], containers-storage:NAME[:TAG], oci:DIR[:TAG] or "
                    "docker-archive:FILE[:NAME], as in skopeo",
                    true, "SOURCE"}},
      .flags = {{"--name", "NAME",
                 "name on this machine (default: its name in the source; for a folder, "
                 "localhost/DIR:TAG)"},
                image_policy,
                image_json},
      .examples = {{"sm image import docker-daemon:box",
                    "import the result of docker build -t box ."},
                   {"sm image import docker-archive:box.tar",
                    "import the result of docker save box -o box.tar"},
                   {"sm image import oci:layout:v1 --name team/box:v1",
                    "import the result of buildah push box oci:layout:v1 under another name"}},
      .notes =
          {"An import is all or nothing: the digests of every layer are checked, and the next "
           "import removes anything that a stopped or failed import left.",
           "DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH select the engine, as for docker.",
           store_note},
      .exits = image_exits("the image is available",
                           "file not found, or its image is missing, corrupt, for another "
                           "platform, or rejected by the policy"),
  };
}

Page pull_page() {
  return {.name = "image pull",
          .group = Group::here,
          .brief = "pull an image from its registry",
          .about =
              "Pulls an image from its registry to this machine. Existing layers are not "
              "downloaded again.",
          .operands = {{"NAME",
                        "as for docker pull: box:v1, quay.io/team/box@sha256:...; or "
                        "docker-daemon:NAME, as for sm image import",
                        true, "IMAGE"}},
          .flags = {{"--platform", "OS/ARCH",
                     "platform to pull of a multi-platform image (default: this machine's)"},
                    {"--username", "USER", "log in as this user; requires --password-stdin"},
                    {"--password-stdin", "", "read the password from standard input"},
                    {"--ca-file", "FILE", "trust these certificates (PEM) instead of the system's"},
                    {"--plain-http", "", "connect to the registry without TLS"},
                    {"--public", "",
                     "connect only to public internet addresses, not to this machine, its networks "
                     "or its cloud"},
                    image_policy,
                    image_json},
          .examples = {{"sm image pull debian:12"},
                       {"sm image pull registry.lab:5000/team/box --ca-file lab.pem",
                        "from a registry with a private CA"}},
          .notes =
              {"It uses the logins of docker login and podman login (~/.docker/config.json, "
               "auth.json) and their credential helpers. For ECR it uses AWS credentials.",
               "A failed pull changes no image. Layers that it completed are not downloaded again.",
               store_note},
          .exits = {{"0", "the image is available; standard output shows its digest"},
                    {"2",
                     "invalid flag or name, image not found in the registry, login failed, or the "
                     "policy rejects the image"},
                    {"3",
                     "this user may not create namespaces, the registry is unreachable or sent "
                     "data with a wrong digest, or the image cannot be stored"},
                    {"128 + N", "the command was ended by signal N"}}};
}

}  // namespace

std::vector<Page> pages_image() {
  return {
      {.name = "image",
       .group = Group::here,
       .brief = "pull, list and remove images for jobs",
       .about = "Pulls, lists and removes the container images in which jobs on this machine run.",
       .examples = {{"sm image pull debian:12"}, {"sm image ls"}},
       .notes = {store_note},
       .exits = image_exits("success", "usage error")},
      pull_page(),
      import_page(),
      {.name = "image ls",
       .group = Group::here,
       .brief = "list the images on this machine",
       .about = "Lists the images on this machine: name, digest, size on disk (shared layers count "
                "in each image) and last use.",
       .flags = {utc_flag, {"--json", "", "print one JSON object per line"}},
       .examples = {{"sm image ls"}},
       .exits = image_exits("success", "usage error")},
      {.name = "image inspect",
       .group = Group::here,
       .brief = "show an image's configuration and layers",
       .about = "Prints one JSON object: the image's digest, its configuration (Entrypoint, Cmd, "
                "Env, WorkingDir, User) and the folders of its layers, lowest first.",
       .operands = {{"NAME", "the image's name or digest, as shown by sm image ls", true, "IMAGE"}},
       .examples = {{"sm image inspect team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("success", "image not found")},
      {.name = "image rm",
       .group = Group::here,
       .brief = "remove an image",
       .about = "Removes an image's name, and the layers that no other image needs. If a job still "
                "uses the image, the first import, rm or prune after the job removes the layers.",
       .operands = {image_name},
       .flags = {image_json},
       .examples = {{"sm image rm team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("removed", "image not found")},
      {.name = "image prune",
       .group = Group::here,
       .brief = "remove unused layers, or images by size",
       .about = "Removes layers that no image needs any more. With --all or --size it also removes "
                "images, but never one that a job is using.",
       .flags = {{"--all", "", "also remove every image that no job is using"},
                 {"--size", "SIZE",
                  "also remove images, least recently used first, until the rest fits in SIZE, "
                  "e.g. 20g"},
                 image_json},
       .examples = {{"sm image prune"},
                    {"sm image prune --size 50g",
                     "keep the most recently used images, up to 50 GiB"}},
       .exits = image_exits("success", "usage error")},
  };
}

}  // namespace muster::command
