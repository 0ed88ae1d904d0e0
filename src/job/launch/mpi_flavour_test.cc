#include "job/launch/mpi_flavour.h"

#include <doctest/doctest.h>

namespace muster::launch {
namespace {

TEST_CASE("mpi flavour: the output of mpirun --version identifies it") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {
      {"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
       "Open MPI 4"},
      {"mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/\n", "Open MPI 5"},
      {"mpirun (Open MPI) 6.0.0a1\n", "Open MPI 6"},
      {"HYDRA build details:\n    Version:                                 5.0.2\n"
       "    Release Date:                            Fri Sep 25 20:45:26 UTC 2026\n",
       "MPICH 5"},
      {"HYDRA build details:\n    Version:    3.3.2\n", "MPICH 3"},
      {"Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240701 (id: 179630a)\n"
       "Copyright 2003-2024, Intel Corporation.\n",
       "Intel MPI 2021"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<MpiFlavour> got = mpi_flavour_from(c.text);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(name_of(*got) == c.want);
  }
}

TEST_CASE("mpi flavour: an unknown one is named by its own first line") {
  struct {
    std::string text;
    const char* part;
  } const cases[] = {
      {"", "printed nothing"},
      {"\n\n", "printed nothing"},
      {"mpirun (Open MPI) 3.1.3\n", "\"mpirun (Open MPI) 3.1.3\""},
      {"mpirun (Open MPI)\n", "Open MPI"},
      {"mpirun (Open MPI) 99999999999999999999\n", "Open MPI"},
      {"HYDRA build details:\n", "HYDRA"},
      {"LAM 7.1.4\nmore\n", "printed \"LAM 7.1.4\"; expected Open MPI 4 or later"},
      {"\xff\x01", "expected"},
      {std::string(100000, 'x'), "expected"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text.substr(0, 50));
    const Result<MpiFlavour> got = mpi_flavour_from(c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
    CHECK(got.error().text.find('\n') == std::string::npos);
    CHECK(got.error().text.size() < 300);
  }
}

TEST_CASE("mpi flavour: launchers' variables for ranks are known, and users' are not") {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_FD", "PMI_RANK", "PRTE_LAUNCHED",
        "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "I_MPI_PIN_INFO", "HYDI_CONTROL_FD", "OPAL_PREFIX"})
    CHECK_MESSAGE(told_to_ranks(name), name);
  for (const char* name :
       {"PATH", "LD_LIBRARY_PATH", "SM_HOSTS", "MPI_HOME", "FI_PROVIDER", "NCCL_DEBUG", "",
        "OMPI_MCA_btl_tcp_if_include", "PRTE_MCA_prte_if_include"})
    CHECK_MESSAGE(!told_to_ranks(name), name);
}

TEST_CASE("mpi flavour: an ssh session gets this host's MCA parameters, each as one plain word") {
  const Env launcher = {{"OMPI_MCA_oob_tcp_if_include", "ens5"},
                        {"OMPI_MCA_btl_tcp_if_include", "ens5,ib0"},
                        {"PRTE_MCA_prte_if_include", "10.0.0.0/16"},
                        {"PMIX_MCA_gds", "hash"},
                        {"OMPI_MCA_two", "a b"},
                        {"OMPI_MCA_quoted", "\"a\""},
                        {"OMPI_MCA_line", "a\nPermitRootLogin yes"},
                        {"OMPI_MCA_comment", "a#b"},
                        {"OMPI_MCA_no word", "a"},
                        {"HYDRA_IFACE", "ens5"},
                        {"AWS_SECRET_ACCESS_KEY", "secret"},
                        {"PATH", "/usr/bin"}};
  CHECK(ssh_session_variables(launcher) == Env{{"OMPI_MCA_oob_tcp_if_include", "ens5"},
                                               {"OMPI_MCA_btl_tcp_if_include", "ens5,ib0"},
                                               {"PRTE_MCA_prte_if_include", "10.0.0.0/16"},
                                               {"PMIX_MCA_gds", "hash"}});
}

}  // namespace
}  // namespace muster::launch
