#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

constexpr MpiFlavour open_mpi_5 = {MpiFlavour::Kind::open_mpi, 5};
constexpr MpiFlavour mpich = {MpiFlavour::Kind::mpich, 5};
constexpr MpiFlavour intel = {MpiFlavour::Kind::intel_mpi, 2021};

Inputs two_by_three() {
  Inputs inputs;
  inputs.entry_point = "train.py";
  inputs.host = "algo-1";
  inputs.hosts = {"algo-1", "algo-2"};
  inputs.hosts_in_roll_call = 2;
  inputs.runner = Runner::mpi;
  inputs.processes_per_host = 3;
  return inputs;
}

Options under(const MpiFlavour& flavour, Transport transport = Transport::sessions) {
  Options options;
  options.mpi = flavour;
  options.transport = transport;
  options.sm = "/bin/sm";
  options.agent = "/bin/sm";
  options.code_dir = "/code";
  options.env = {{"PATH", "/usr/bin"}, {"HYDRA_HOST_FILE", "/x"}, {"PRTE_MCA_plm_ssh_agent", "x"}};
  return options;
}

HostPlan plan_of(const Inputs& inputs, const Options& options) {
  const Result<HostPlan> got = plan(inputs, options);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  REQUIRE(got->launcher_command);
  return *got;
}

std::string line_of(const Inputs& inputs, const Options& options) {
  return join(plan_of(inputs, options).launcher_command->argv, " ");
}

TEST_CASE("mpi: under MPICH the line is hydra's, and no variable of the leader is passed on") {
  CHECK(line_of(two_by_three(), under(mpich)) ==
        "mpirun -hosts algo-1:3,algo-2:3 -n 6 -launcher ssh -launcher-exec /bin/sm "
        "-disable-auto-cleanup -iface eth0 -genvnone /bin/sm rank");
}

TEST_CASE("mpi: under Intel MPI hosts are counted by -ppn, and all daemons are the leader's own") {
  CHECK(line_of(two_by_three(), under(intel)) ==
        "mpirun -hosts algo-1,algo-2 -n 6 -ppn 3 -bootstrap ssh -bootstrap-exec /bin/sm "
        "-branch-count 2 -disable-auto-cleanup -iface eth0 -genvnone /bin/sm rank");
  Inputs inputs = two_by_three();
  inputs.custom_options = "-perhost 1";
  CHECK(line_of(inputs, under(intel)).find("-ppn") == std::string::npos);
}

TEST_CASE("mpi: under hydra exported variables and custom options stand before the program") {
  Inputs inputs = two_by_three();
  inputs.custom_options = "-x A='b c' -x B -x C -iface ib0 -l";
  const HostPlan got = plan_of(inputs, under(mpich));
  const Args& words = got.launcher_command->argv;
  const Args tail(words.end() - 11, words.end());
  CHECK(tail == Args{"-disable-auto-cleanup", "-genv", "A", "b c", "-genvlist", "B,C", "-iface",
                     "ib0", "-l", "/bin/sm", "rank"});
  CHECK(got.kept_names == Args{"A", "B", "C"});
}

TEST_CASE("mpi: under hydra a host alone needs no interface") {
  Inputs inputs = two_by_three();
  inputs.hosts = {"algo-1"};
  inputs.hosts_in_roll_call = 1;
  const HostPlan got = plan_of(inputs, under(mpich));
  CHECK(join(got.launcher_command->argv, " ").find("-iface") == std::string::npos);
  CHECK(!got.rank.env.contains("FI_TCP_IFACE"));
}

TEST_CASE("mpi: under hydra ranks keep to the job's interface and ports") {
  Options options = under(mpich);
  options.daemon_ports = PortRange{2000, 2009};
  options.message_ports = PortRange{3000, 3009};
  const HostPlan got = plan_of(two_by_three(), options);
  CHECK(got.rank.env.at("FI_TCP_IFACE") == "eth0");
  CHECK(got.rank.env.at("FI_TCP_PORT_LOW_RANGE") == "3000");
  CHECK(got.rank.env.at("FI_TCP_PORT_HIGH_RANGE") == "3009");
  CHECK(got.rank.env.at("UCX_TCP_PORT_RANGE") == "3000-3009");
  CHECK(got.launcher_command->env.at("MPIEXEC_PORT_RANGE") == "2000:2009");
  CHECK(!got.launcher_command->env.contains("HYDRA_HOST_FILE"));
  CHECK(got.ranks_decide == got.ranks_total);
  options.env["FI_TCP_IFACE"] = "ib0";
  CHECK(plan_of(two_by_three(), options).rank.env.at("FI_TCP_IFACE") == "ib0");
  Inputs fabric = two_by_three();
  fabric.instance_type = "ml.p4d.24xlarge";
  CHECK(!plan_of(fabric, under(mpich)).rank.env.contains("FI_TCP_IFACE"));
}

TEST_CASE("mpi: under Open MPI 5 the line has PRRTE's names, and its agent is not on it") {
  const HostPlan got = plan_of(two_by_three(), under(open_mpi_5));
  CHECK(join(got.launcher_command->argv, " ") ==
        "mpirun --host algo-1:3,algo-2:3 --np 6 --allow-run-as-root --prtemca plm ssh "
        "--prtemca plm_ssh_no_tree_spawn 1 --leave-session-attached --mca btl_tcp_if_include eth0 "
        "--prtemca prte_if_include eth0 --bind-to none --map-by slot --mca pml ob1 --mca btl ^ofi "
        "--mca smsc ^cma -x NCCL_DEBUG=INFO -x NCCL_MIN_NRINGS=4 -x NCCL_SOCKET_IFNAME=eth0 "
        "-x PATH /bin/sm rank");
  CHECK(got.launcher_command->env.at("PRTE_MCA_plm_ssh_agent") == "/bin/sm");
  CHECK(got.ranks_decide == 0);
}

TEST_CASE("mpi: Open MPI 5 alone on a host is given no interface of its daemons") {
  Inputs inputs = two_by_three();
  inputs.hosts = {"algo-1"};
  CHECK(line_of(inputs, under(open_mpi_5)).find("prte_if_include") == std::string::npos);
}

TEST_CASE("mpi: over ssh Open MPI's line names no interface, unless the user chose one") {
  for (const MpiFlavour& flavour : {MpiFlavour{}, open_mpi_5}) {
    const bool prrte = flavour.major == open_mpi_5.major;
    CAPTURE(prrte);
    Inputs inputs = two_by_three();
    const HostPlan got = plan_of(inputs, under(flavour, Transport::ssh));
    const std::string line = join(got.launcher_command->argv, " ");
    CAPTURE(line);
    CHECK(line.find("if_include") == std::string::npos);
    CHECK((line.find("plm_rsh_agent /bin/sm") != std::string::npos) == !prrte);
    CHECK(got.launcher_command->env.contains("PRTE_MCA_plm_ssh_agent") == prrte);
    CHECK((line.find("plm_rsh_pass_environ_mca_params 0") != std::string::npos) == !prrte);
    CHECK(got.launcher_command->env.at("OMPI_MCA_btl_tcp_if_include") == "eth0");
    CHECK(!got.launcher_command->env.contains("PRTE_MCA_prte_if_include"));
    if (prrte) CHECK(got.rank.env.at("PRTE_MCA_prte_if_include") == "eth0");
    inputs.custom_options = "-mca oob_tcp_if_include ib0";
    const std::string own = line_of(inputs, under(flavour, Transport::ssh));
    CHECK(own.find(inputs.custom_options) != std::string::npos);
    Options options = under(flavour, Transport::ssh);
    options.env["PRTE_MCA_prte_if_include"] = "ib0";
    CHECK(plan_of(two_by_three(), options).launcher_command->env.at("PRTE_MCA_prte_if_include") ==
          "ib0");
  }
}

TEST_CASE("mpi: a secret that hydra's line carries is not shown") {
  Inputs inputs = two_by_three();
  inputs.custom_options = "-x MY_TOKEN=abc";
  const std::string text = plan_text(plan_of(inputs, under(mpich)));
  CHECK(text.find("abc") == std::string::npos);
  CHECK(text.find("MY_TOKEN '***'") != std::string::npos);
}

}  // namespace
}  // namespace muster::launch
