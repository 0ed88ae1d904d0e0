#include "cluster_subject.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"

namespace muster::contract {

/// Nodes have a /tmp of their own, and the machine's /var/tmp.
ClusterSubject::ClusterSubject() : StewardSubject("/var/tmp") {
  const std::filesystem::path sm = std::filesystem::path(*own_program()).replace_filename("sm");
  REQUIRE(::symlink(sm.c_str(), (program() + "-node").c_str()) == 0);
  restart();
}

ClusterSubject::~ClusterSubject() {
  full_disk(false);
  end_jobs();
  engine_.reset();
}

void ClusterSubject::restart() {
  engine_.reset();
  cluster::SlurmEngine::Options options;
  options.state = folder() + "/state";
  options.program = program();
  options.node_program = program();
  options.folder_register = folder() + "/folders";
  options.env = {{"PATH", "/usr/bin:/bin"}};
  engine_ = std::make_unique<cluster::SlurmEngine>(programs(), options);
}

std::string ClusterSubject::file_of(const std::string& bytes) {
  const std::string file = folder() + "/file-" + std::to_string(++files_);
  REQUIRE(write_file(file, bytes));
  return file;
}

void ClusterSubject::append(const std::string& host, const std::string& bytes) {
  order(host, "append " + file_of(bytes));
}

void ClusterSubject::leaves(const std::string& host, const std::string& path,
                            const std::string& text) {
  order(host, "leave " + file_of(text) + " " + path);
}

void ClusterSubject::cut_short(const job::Spec& spec) {
  leave_half_a_start(folder() + "/state/slurm", spec);
}

}  // namespace muster::contract
