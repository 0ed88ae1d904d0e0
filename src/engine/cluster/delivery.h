#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "engine/slurm/submission.h"
#include "job/spec.h"

namespace muster::cluster {

/// Paths of a job's files on its nodes: in slurm::place_of(), which other users cannot write to.
struct NodePlaces {
  std::string archive;  ///< What the job's spec names, as tar.
  std::string folder;   ///< Made by `sm node`.
  std::string layer;    ///< Layers of its image, each with its number behind this.
};
NodePlaces places_of(const slurm::Submission& submission);

/// A folder or a small file of the submitter that is copied to the nodes, and its name in the
/// archive.
struct Brought {
  std::string from;
  std::string name;

  bool operator==(const Brought&) const = default;
};

/// What must be copied to a job's nodes, and the job as they see it: its folders lie below
/// `folder`, and nothing of the submitter's own (output folder, image state) is in it. Pure.
struct Delivery {
  std::vector<Brought> folders;
  job::Spec spec;
};
/// `site`: the kind of hosts, and their preflight unless the job sets it. `shared`: a folder that
/// the nodes share, so files in it are not copied; empty: none. Error: `unsupported`, naming what
/// hosts on a cluster cannot have.
Result<Delivery> plan_delivery(const job::Spec& spec, const std::string& folder,
                               const slurm::Site& site = {}, const std::string& shared = {});

/// Makes the archive `to` of the folders, mode 0600. Follows links to a folder as walk_given()
/// does, and none in it. Returns the links that are left out because they lead out of their folder,
/// to files that the nodes do not have. Blocks. Error: with the path.
Result<std::vector<std::string>> make_archive(const std::vector<Brought>& folders,
                                              const std::string& to);

}  // namespace muster::cluster
