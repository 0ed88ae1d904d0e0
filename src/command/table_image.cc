#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view store_note =
    "Images are kept below the state folder (MUSTER_STATE, by default /var/lib/muster), each layer "
    "unpacked once, however many images have it.";
constexpr std::string_view name_note =
    "Short names are made whole as Docker does: box is docker.io/library/box:latest.";

const Flag image_json{"--json", "", "print one JSON object"};
const Flag image_policy{"--policy", "FILE",
                        "a policy.json, as skopeo reads it: who must have signed the image"};
const Operand image_name{"NAME", "the image, as sm image ls shows it", true, "IMAGE"};

std::vector<Exit> image_exits(std::string_view well, std::string_view wrong) {
  return {{"0", well},
          {"2", wrong},
          {"3",
           "this user may make no namespaces, the disk is full, or the images cannot be read or "
           "written"}};
}

Page import_page() {
  return {
      .name = "image import",
      .group = Group::here,
      .brief = "take an image from a folder or an archive",
      .about =
          "Unpacks an image for jobs on this machine: from a Docker engine (docker-daemon:) or "
          "from "
          "podman and buildah (containers-storage:), which takes skopeo; from an OCI layout folder "
          "(as buildah and skopeo write it) or an archive of docker save. Layers that are there "
          "already are not unpacked again.",
      .operands = {{"SOURCE",
                    "docker-daemon:NAME[:TAG], containers-storage:NAME[:TAG], oci:DIR[:TAG] or "
                    "docker-archive:FILE[:NAME], as skopeo names them",
                    true, "SOURCE"}},
      .flags = {{"--name", "NAME",
                 "what it is called here (default: its name in the archive or engine; of a folder, "
                 "localhost/DIR:TAG)"},
                image_policy,
                image_json},
      .examples = {{"sm image import docker-daemon:box", "what docker build -t box . made"},
                   {"sm image import docker-archive:box.tar",
                    "what docker save box -o box.tar wrote"},
                   {"sm image import oci:layout:v1 --name team/box:v1",
                    "what buildah push box oci:layout:v1 wrote, under another name"}},
      .notes =
          {"It is there whole or not at all: every layer is checked by its digests, and an "
           "import that is stopped or fails leaves nothing that the next one does not tidy up.",
           "DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH name the engine, as for docker.",
           store_note},
      .exits = image_exits("the image is there",
                           "what was given is wrong: no such file, no image in it, a damaged one, "
                           "one for another kind of machine, one that the policy refuses"),
  };
}

Page pull_page() {
  return {
      .name = "image pull",
      .group = Group::here,
      .brief = "bring an image from its registry",
      .about =
          "Brings an image from its registry to this machine. Layers that are there already "
          "are not brought again.",
      .operands = {{"NAME",
                    "as docker pull takes it: box:v1, quay.io/team/box@sha256:...; or "
                    "docker-daemon:NAME, as sm image import takes it",
                    true, "IMAGE"}},
      .flags = {{"--platform", "OS/ARCH", "of an image for several (default: this machine's)"},
                {"--username", "USER", "log in so; with --password-stdin"},
                {"--password-stdin", "", "read the password from standard input"},
                {"--ca-file", "FILE", "trust these certificates (PEM), not the system's"},
                {"--plain-http", "", "speak to the registry without TLS"},
                {"--public", "",
                 "only from addresses on the internet: none of this machine, its networks or its "
                 "cloud"},
                image_policy,
                image_json},
      .examples = {{"sm image pull debian:12"},
                   {"sm image pull registry.lab:5000/team/box --ca-file lab.pem",
                    "from a registry with a CA of its own"}},
      .notes = {"Logins are those of docker login and podman login (~/.docker/config.json, "
                "auth.json) with their credential helpers; ECR's come from AWS's credentials.",
                "A pull that fails changes no image; what came whole of it is not brought again.",
                store_note},
      .exits = {{"0", "the image is there; standard output names its digest"},
                {"2",
                 "what was given is wrong: a flag, a name, an image that the registry does not "
                 "have, a login that does not do, an image that the policy refuses"},
                {"3",
                 "this user may make no namespaces, the registry cannot be reached or sent what "
                 "its digests do not "
                 "say, or the image cannot be kept"},
                {"128 + N", "signal N ended it"}}};
}

}  // namespace

std::vector<Page> pages_image() {
  return {
      {.name = "image",
       .group = Group::here,
       .brief = "bring, list and remove images for jobs",
       .about = "Brings, lists and removes container images that jobs on this machine run in.",
       .examples = {{"sm image pull debian:12"}, {"sm image ls"}},
       .notes = {store_note},
       .exits = image_exits("done", "what was given is wrong")},
      pull_page(),
      import_page(),
      {.name = "image ls",
       .group = Group::here,
       .brief = "list the images that are there",
       .about = "Lists the images on this machine: name, digest, size on the disk (layers that "
                "images share count in each), last use.",
       .flags = {{"--json", "", "one JSON object a line"}},
       .examples = {{"sm image ls"}},
       .exits = image_exits("listed", "what was given is wrong")},
      {.name = "image inspect",
       .group = Group::here,
       .brief = "tell what an image runs, and its layers",
       .about = "Prints one JSON object: the image's digest, what it runs (Entrypoint, Cmd, Env, "
                "WorkingDir, User) and the folders of its layers, the lowest first.",
       .operands = {{"NAME", "the image, by name or digest, as sm image ls shows it", true,
                     "IMAGE"}},
       .examples = {{"sm image inspect team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("told", "what was given is wrong: an image that is not there")},
      {.name = "image rm",
       .group = Group::here,
       .brief = "remove an image",
       .about = "Removes an image's name, and what no other image needs. What a job runs goes when "
                "it has ended, by the next import, rm or prune.",
       .operands = {image_name},
       .flags = {image_json},
       .examples = {{"sm image rm team/box:v1"}},
       .notes = {name_note},
       .exits = image_exits("removed", "what was given is wrong: an image that is not there")},
      {.name = "image prune",
       .group = Group::here,
       .brief = "remove what no image needs, or images by size",
       .about =
           "Removes layers that no image needs any more. With --all or --size also images, never "
           "one that a job runs.",
       .flags = {{"--all", "", "every image that no job runs"},
                 {"--size", "SIZE",
                  "images, the least recently used first, until the rest takes at most so much, as "
                  "20g"},
                 image_json},
       .examples = {{"sm image prune"},
                    {"sm image prune --size 50g", "keep what was used last, up to 50 GiB"}},
       .exits = image_exits("done", "what was given is wrong")},
  };
}

}  // namespace muster::command
