#include "job/launch/mpirun_options.h"

#include <doctest/doctest.h>

#include <set>

#include "base/text.h"
#include "job/launch/mpirun_options_table.h"

namespace muster::launch {
namespace {

TEST_CASE("custom options: words split as in a shell, and nothing is expanded") {
  struct {
    const char* text;
    Args want;
  } const cases[] = {
      {"", {}},
      {" \t\n ", {}},
      {"-x  A=b\t-v\n", {"-x", "A=b", "-v"}},
      {"-x 'A=b c'", {"-x", "A=b c"}},
      {"-x A=\"b c\"", {"-x", "A=b c"}},
      {"-x A=b\\ c", {"-x", "A=b c"}},
      {"''", {""}},
      {"a''b\"c\"'d'", {"abcd"}},
      {"\"a\\\"b\\\\c\\d\"", {"a\"b\\c\\d"}},
      {"'a\\'", {"a\\"}},
      {"$HOME `id` $(id) ~ * ;", {"$HOME", "`id`", "$(id)", "~", "*", ";"}},
      {"a\\", {"a\\"}},
      {"\xff", {"\xff"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Args> got = split_quoted(c.text);
    REQUIRE(got);
    CHECK(*got == c.want);
  }
  CHECK(split_quoted("'a").error().code == Errc::invalid_input);
  CHECK(split_quoted("a \"b\\").error().code == Errc::invalid_input);
}

TEST_CASE("custom options: those of Open MPI pass as they are given") {
  struct {
    const char* text;
    Args want;
  } const cases[] = {
      {"", {}},
      {"-verbose", {"-verbose"}},
      {"--verbose -q", {"--verbose", "-q"}},
      {"-mca btl self,tcp --mca pml cm", {"-mca", "btl", "self,tcp", "--mca", "pml", "cm"}},
      {"-mca btl tcp -mca btl tcp", {"-mca", "btl", "tcp"}},
      {"-gmca a b", {"-gmca", "a", "b"}},
      {"-x A -x B=c=d", {"-x", "A", "-x", "B=c=d"}},
      {"-X TF_LOG_LEVEL=10", {"-x", "TF_LOG_LEVEL=10"}},
      {"--x A", {"--x", "A"}},
      {"-bind-to core -map-by ppr:2:node", {"-bind-to", "core", "-map-by", "ppr:2:node"}},
      {"-N 2", {"-N", "2"}},
      {"--timeout 30 -report-bindings", {"--timeout", "30", "-report-bindings"}},
      {"-byslot --allow-run-as-root -leave-session-attached", {}},
      {"-mca orte_leave_session_attached 1", {}},
      {"-mca plm_base_verbose 5", {"-mca", "plm_base_verbose", "5"}},
      {"--NCCL_DEBUG=INFO", {}},
      {"--NCCL_DEBUG WARN -v", {"-v"}},
      {"-stdin -np", {"-stdin", "-np"}},
      {"-x A=:", {"-x", "A=:"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<CustomOptions> got = parse_custom_options(c.text);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(got->words == c.want);
  }
}

TEST_CASE("custom options: their effects on the plan are parsed") {
  CHECK(parse_custom_options("--NCCL_DEBUG=WARN")->nccl_debug == "WARN");
  CHECK(parse_custom_options("--NCCL_DEBUG WARN")->nccl_debug == "WARN");
  CHECK(parse_custom_options("--NCCL_DEBUG=")->nccl_debug == "");
  CHECK(!parse_custom_options("-v")->nccl_debug);
  CHECK(parse_custom_options("-v")->verbose);
  CHECK(parse_custom_options("-bind-to-core")->binds);
  CHECK(parse_custom_options("-mca hwloc_base_binding_policy core")->binds);
  CHECK(parse_custom_options("-map-by node")->mapping == Mapping::by_node);
  CHECK(parse_custom_options("-bynode")->mapping == Mapping::by_node);
  CHECK(parse_custom_options("-map-by slot:PE=2")->mapping == Mapping::by_slot);
  CHECK(parse_custom_options("-rf file")->mapping == Mapping::other);
  CHECK(!parse_custom_options("-byslot")->mapping);
  CHECK(parse_custom_options("-oversubscribe")->oversubscribes);
  CHECK(parse_custom_options("-map-by node:oversubscribe")->oversubscribes);
  CHECK(!parse_custom_options("-map-by node:NOOVERSUBSCRIBE")->oversubscribes);
  CHECK(parse_custom_options("-x A=b")->exported.at("A") == "b");
  CHECK(!parse_custom_options("-x A")->exported.at("A"));
}

TEST_CASE("custom options: a bad one is named, with the reason") {
  struct {
    const char* text;
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"foo", "\"foo\" is not a valid option"},
      {"-verbose foo", "\"foo\" is not a valid option"},
      {":", "\":\" is not a valid option"},
      {"-v : -np 1 /bin/sh", "\":\" is not a valid option"},
      {"-", "\"-\" is not a valid option"},
      {"--", "\"--\""},
      {"-- sh", "\"--\""},
      {"-np 4", "\"-np\""},
      {"--np 4", "\"--np\""},
      {"-n 4", "number of ranks"},
      {"--n 4", "number of ranks"},
      {"-c 4", "number of ranks"},
      {"-host a", "muster sets the job's hosts"},
      {"--host a", "muster sets the job's hosts"},
      {"-H a", "muster sets the job's hosts"},
      {"--hostfile f", "muster sets the job's hosts"},
      {"-machinefile f", "muster sets the job's hosts"},
      {"--default-hostfile f", "muster sets the job's hosts"},
      {"--app f", "that each rank runs"},
      {"-launch-agent x", "muster starts the daemons"},
      {"-mca plm_rsh_agent ssh", "plm_rsh_agent"},
      {"--mca plm slurm", "-mca plm"},
      {"-gmca plm_rsh_no_tree_spawn 0", "plm_rsh_no_tree_spawn"},
      {"-mca orte_launch_agent x", "orte_launch_agent"},
      {"-mca orte_leave_session_attached 0", "orte_leave_session_attached"},
      {"-mca orte_fork_agent /bin/x", "orte_fork_agent"},
      {"-mca ras simulator", "-mca ras"},
      {"-mca mca_base_env_list A", "use -x"},
      {"-mca btl tcp -mca btl self", "given twice"},
      {"-mca btl", "requires 2 values"},
      {"-mca", "requires 2 values"},
      {"-mca 'a b' c", "not a valid MCA parameter name"},
      {"-mca a 'x\"y'", "cannot pass on"},
      {"-x", "requires 1 value"},
      {"-x =b", "requires NAME"},
      {"-x MUSTER_SOCKET=/x", "reserved for muster"},
      {"--bind-to=none", "a separate word"},
      {"-qv", "not a valid option of Open MPI"},
      {"--nonsense", "not a valid option of Open MPI"},
      {"--NCCL_DEBUG", "requires 1 value"},
      {"--NCCL_DEBUGGER x", "not a valid option"},
      {"--help", "without running its program"},
      {"-V", "without running its program"},
      {"-do-not-launch", "without running its program"},
      {"-wdir /tmp", "code folder"},
      {"-xterm 0", "that each rank runs"},
      {"-x 'A", "unclosed"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<CustomOptions> got = parse_custom_options(c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
    CHECK(got.error().text.starts_with("sagemaker_mpi_custom_mpi_options: "));
    CHECK(got.error().text.find('\n') == std::string::npos);
  }
  CHECK(!parse_custom_options(std::string_view("-x\0A", 4)));
}

constexpr MpiFlavour open_mpi_5 = {MpiFlavour::Kind::open_mpi, 5};
constexpr MpiFlavour mpich = {MpiFlavour::Kind::mpich, 5};
constexpr MpiFlavour intel = {MpiFlavour::Kind::intel_mpi, 2021};

TEST_CASE("custom options: Open MPI 5 has its own, and gets long names behind two dashes") {
  struct {
    const char* text;
    Args want;
  } const cases[] = {
      {"-verbose -v", {"--verbose", "-v"}},
      {"-mca btl tcp --prtemca a b -x A=b",
       {"--mca", "btl", "tcp", "--prtemca", "a", "b", "-x", "A=b"}},
      {"-N 2 -bind-to core", {"-N", "2", "--bind-to", "core"}},
      {"--output tag --rtos ABORT", {"--output", "tag", "--rtos", "ABORT"}},
      {"--leave-session-attached -allow-run-as-root", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<CustomOptions> got = parse_custom_options(c.text, open_mpi_5);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(got->words == c.want);
  }
  CHECK(parse_custom_options("--map-by node", open_mpi_5)->mapping == Mapping::by_node);
}

TEST_CASE("custom options: hydra's pass, and variables are exported in its own way") {
  const Result<CustomOptions> got = parse_custom_options(
      "-x A=1 -x B -genv C 'x y' -genvlist D,E -genvnone -l -prepend-pattern %r -oversubscribe "
      "--NCCL_DEBUG=WARN -bind-to core",
      mpich);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  CHECK(got->words == Args{"-l", "-prepend-pattern", "%r", "-bind-to", "core"});
  CHECK(got->exported.at("A") == "1");
  CHECK(!got->exported.at("B"));
  CHECK(got->exported.at("C") == "x y");
  CHECK(!got->exported.at("D"));
  CHECK(!got->exported.at("E"));
  CHECK(got->nccl_debug == "WARN");
  CHECK(got->binds);
  CHECK(got->oversubscribes);
  CHECK(parse_custom_options("-ppn 1", mpich)->mapping == Mapping::other);
  CHECK(parse_custom_options("-perhost 1", intel)->mapping == Mapping::other);
  CHECK(parse_custom_options("-iface ib0", intel)->interface);
}

TEST_CASE("custom options: each flavour refuses what it does not know and what is muster's") {
  struct {
    MpiFlavour flavour;
    const char* text;
    const char* part;
  } const cases[] = {
      {open_mpi_5, "--prtemca plm_ssh_agent ssh", "muster starts the daemons"},
      {open_mpi_5, "-mca prte_launch_agent x", "muster starts the daemons"},
      {open_mpi_5, "--stop-on-exec", "wait for a debugger"},
      {open_mpi_5, "--fwd-environment", "the variables of its own host"},
      {open_mpi_5, "-np 7", "\"-np\" cannot be set by a job"},
      {open_mpi_5, "-rf file", "not a valid option of Open MPI 5's mpirun"},
      {{}, "--prtemca a b", "not a valid option of Open MPI 4's mpirun"},
      {mpich, "-mca btl tcp", "not a valid option of MPICH 5's mpirun"},
      {mpich, "-launcher-exec x", "muster starts the daemons"},
      {mpich, "-hosts a", "muster sets the job's hosts"},
      {mpich, "-n 4", "number of ranks"},
      {mpich, "-np 7", "\"-np\" cannot be set by a job"},
      {mpich, "-genvall", "the variables of its own host"},
      {mpich, "-wdir /x", "code folder"},
      {mpich, "-info", "without running its program"},
      {mpich, "-genv MUSTER_SOCKET x", "reserved for muster"},
      {mpich, "-genv A", "requires 2 values"},
      {mpich, "-x A,B", "does not support ','"},
      {mpich, "-genvlist A,,B", "requires NAME"},
      {mpich, "-branch-count 3", "not a valid option of MPICH 5's mpirun"},
      {intel, "-branch-count 3", "muster starts the daemons"},
      {intel, "-gtool x:1", "that each rank runs"},
      {intel, "-bootstrap slurm", "muster starts the daemons"},
      {intel, "-gnp 3", "number of ranks"},
      {intel, "-np 7", "\"-np\" cannot be set by a job"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<CustomOptions> got = parse_custom_options(c.text, c.flavour);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
}

}  // namespace
TEST_CASE("mpirun options: help names each option once, as supported or refused") {
  const MpiFlavour flavours[] = {{MpiFlavour::Kind::open_mpi, 4},
                                 {MpiFlavour::Kind::open_mpi, 5},
                                 {MpiFlavour::Kind::mpich, 4},
                                 {MpiFlavour::Kind::intel_mpi, 2021}};
  for (const MpiFlavour& flavour : flavours) {
    const std::string text = mpirun_options_help(flavour);
    const std::size_t middle = text.find("rejected:\n");
    REQUIRE(middle != std::string::npos);
    std::set<std::string> seen;
    for (const bool refused : {false, true}) {
      for (const std::string& word :
           split_words(refused ? text.substr(middle) : text.substr(0, middle))) {
        if (!word.starts_with('-')) continue;
        const MpirunOption* option = find_mpirun_option(flavour, word.substr(1));
        REQUIRE(option != nullptr);
        CHECK((option->kind == MpirunOption::Kind::refused) == refused);
        CHECK(seen.insert(word).second);
      }
    }
    CHECK(seen.size() > 60);
  }
}

}  // namespace muster::launch
