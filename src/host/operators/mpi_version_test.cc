#include "host/operators/mpi_version.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fd.h"
#include "job/launch/mpi_flavour.h"

using namespace muster;
using namespace muster::operators;

namespace {

/// A folder with an `mpirun` of the given shell text, alone on the PATH with the system's.
struct Machine {
  explicit Machine(const std::string& script) {
    const std::string path = folder + "/mpirun";
    REQUIRE(write_file(path, "#!/bin/sh\n" + script, 0755));
    env = {{"PATH", folder + ":/usr/bin:/bin"}};
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { std::filesystem::remove_all(folder); }

  std::string folder = *make_private_folder("/tmp", "muster-mpirun-");
  Env env;
};

}  // namespace

TEST_CASE("mpi version: the mpirun on the job's PATH is asked, without our descriptors") {
  const Machine machine(
      "[ \"$*\" = --version ] || exit 1\n[ ! -t 0 ] && read line && exit 1\n"
      "echo 'mpirun (Open MPI) 5.0.11'\n");
  const Result<launch::MpiFlavour> got = mpi_version(machine.env);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  CHECK(launch::name_of(*got) == "Open MPI 5");
}

TEST_CASE("mpi version: a batch system's variables for mpirun do not reach it") {
  Machine machine("[ -z \"$SLURM_JOBID$PMI_RANK\" ] && echo 'mpirun (Open MPI) 4.1.4'\n");
  machine.env["SLURM_JOBID"] = "7";
  machine.env["PMI_RANK"] = "7";
  CHECK(mpi_version(machine.env));
}

TEST_CASE("mpi version: no mpirun, and one that says something else, are named") {
  const Result<launch::MpiFlavour> none = mpi_version({{"PATH", "/nowhere"}});
  REQUIRE(!none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().text.find("mpirun") != std::string::npos);
  const Machine other("echo 'LAM 7.1' >&2; exit 3\n");
  const Result<launch::MpiFlavour> unknown = mpi_version(other.env);
  REQUIRE(!unknown);
  CHECK(unknown.error().code == Errc::invalid_input);
  CHECK(unknown.error().text.find("LAM 7.1") != std::string::npos);
}

TEST_CASE("mpi version: an endless answer is cut, and its writer ended") {
  const Machine machine("while :; do echo 'HYDRA build details: Version: 5.0.2'; done\n");
  const Result<launch::MpiFlavour> got = mpi_version(machine.env);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  CHECK(launch::name_of(*got) == "MPICH 5");
}

TEST_CASE("mpi version: a member runs mpirun only if its file does not identify the version") {
  const Machine machine("echo 'mpirun (Open MPI) 5.0.11'\n");
  CHECK(launch::name_of(*mpi_version_of_member(machine.env)) == "Open MPI 5");
  std::filesystem::rename(machine.folder + "/mpirun", machine.folder + "/orterun");
  std::filesystem::create_symlink("orterun", machine.folder + "/mpirun");
  CHECK(launch::name_of(*mpi_version_of_member(machine.env)) == "Open MPI 4");
  CHECK(launch::name_of(*mpi_version(machine.env)) == "Open MPI 5");
  CHECK(mpi_version_of_member({{"PATH", "/nowhere"}}).error().code == Errc::not_found);
}
