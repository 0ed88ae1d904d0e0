#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::image {

/// Where an image comes from and what it is called there.
struct Reference {
  enum class Transport {
    registry,            ///< Pulled over the network.
    docker_archive,      ///< A file that `docker save` wrote.
    oci,                 ///< A folder in the OCI image layout.
    docker_daemon,       ///< The images of a Docker engine.
    containers_storage,  ///< What podman and buildah keep here.
  };
  Transport transport = Transport::registry;
  std::string path;        ///< The archive or folder.
  std::string registry;    ///< "docker.io", "127.0.0.1:5000", "[::1]:5000".
  std::string repository;  ///< "library/busybox".
  std::string tag;         ///< "latest"; in an archive or folder empty where nothing was said.
  std::string digest;      ///< "sha256:" and 64 hex digits; empty: whatever the tag means now.

  bool operator==(const Reference&) const = default;
};

/// A name as people type it, short names made whole as Docker does: "busybox" is
/// docker.io/library/busybox:latest. Also "docker://NAME", "docker-daemon:NAME[:TAG]",
/// "containers-storage:NAME[:TAG]", "docker-archive:FILE[:NAME]", "oci:FOLDER[:TAG]" (skopeo's
/// words; a path with a colon cannot be said). With a digest a tag says nothing and is dropped.
/// Pure.
/// Error: `invalid_input`, saying what was expected.
/// Source: github.com/distribution/reference, reference.go and normalize.go.
Result<Reference> reference_from(std::string_view text);

/// The whole name: "docker.io/library/busybox:latest", "oci:/images/box:v1". reference_from() reads
/// it back as what it was: a registry that is called docker-daemon:5000 has "docker://" before it.
std::string to_text(const Reference& reference);

/// True for what a Docker engine, podman or buildah keeps, for which skopeo is asked.
bool is_of_engine(const Reference& reference);

/// True for "sha256:" and 64 lower-case hex digits, the one algorithm that is taken.
bool is_digest(std::string_view text);

}  // namespace muster::image
