#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "job/image.h"
#include "job/image_wish.h"
#include "machine/slurm_cluster.h"

namespace muster::machine {

// Pure: images that a program of a cluster's nodes opens there, with logins of its own
// (docs/decisions/0062-image-tools.md).

/// As the program `tool` is given it: a path of the nodes and "docker://…" as they stand, any other
/// name as that of a registry's image, made whole as Docker does. Error: `invalid_input`.
Result<job::Image> image_for_tool(const std::string& tool, const std::string& name);

/// The program that opens images of hosts of this type; "" where muster does.
std::string image_tool(const std::optional<SlurmCluster>& cluster, const std::string& type);

/// The image that a server's job wants; none where it is to be brought here first. Error:
/// `invalid_input`, for what the wish asks and nobody would keep on the nodes.
Result<std::optional<job::Image>> image_on_nodes(const std::optional<SlurmCluster>& cluster,
                                                 const std::string& type,
                                                 const job::ImageWish& wish);

}  // namespace muster::machine
