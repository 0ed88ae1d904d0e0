#include "host/ranks/rsh_agent.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace muster::launch {
namespace {

// As Open MPI 4.1.4 wrote them, for login shells bash, sh and (with --prefix) both.
constexpr const char* daemon_words =
    "-mca orte_leave_session_attached \"1\" -mca ess \"env\" -mca ess_base_vpid 1 "
    "-mca orte_node_regex \"vm,algo-[1:1-3]@0(4)\" "
    "-mca orte_hnp_uri \"720240640.0;tcp://192.0.2.2:44573;tcp6://[fd00::2]:49055\" "
    "-mca plm \"rsh\" -mca pmix \"^s1,s2,cray,isolated\"";
constexpr const char* prefix_words =
    "PATH=/opt/ompi/bin:$PATH ; export PATH ; "
    "LD_LIBRARY_PATH=/opt/ompi/lib:${LD_LIBRARY_PATH:-} ; export LD_LIBRARY_PATH ; "
    "DYLD_LIBRARY_PATH=/opt/ompi/lib:${DYLD_LIBRARY_PATH:-} ; export DYLD_LIBRARY_PATH ;  "
    " /opt/ompi/bin/orted ";

const Args daemon_argv = {"orted",
                          "-mca",
                          "orte_leave_session_attached",
                          "1",
                          "-mca",
                          "ess",
                          "env",
                          "-mca",
                          "ess_base_vpid",
                          "1",
                          "-mca",
                          "orte_node_regex",
                          "vm,algo-[1:1-3]@0(4)",
                          "-mca",
                          "orte_hnp_uri",
                          "720240640.0;tcp://192.0.2.2:44573;tcp6://[fd00::2]:49055",
                          "-mca",
                          "plm",
                          "rsh",
                          "-mca",
                          "pmix",
                          "^s1,s2,cray,isolated"};

TEST_CASE("agent call: mpirun's text becomes the daemon's argv") {
  const std::string words = daemon_words;
  Args absolute = daemon_argv;
  absolute[0] = "/opt/ompi/bin/orted";
  struct {
    const char* name;
    std::string text;
    Args want;
  } const cases[] = {
      {"bash", " orted " + words, daemon_argv},
      {"no space before", "orted " + words, daemon_argv},
      {"sh and ksh", "( test ! -r ./.profile || . ./.profile;  orted " + words + " )", daemon_argv},
      {"prefix", "          " + std::string(prefix_words) + words, absolute},
      {"prefix for sh",
       "( test ! -r ./.profile || . ./.profile;     " + std::string(prefix_words) + words + " )",
       absolute},
      {"a whole path", "/usr/bin/orted -mca ess \"env\"", {"/usr/bin/orted", "-mca", "ess", "env"}},
      {"signs of a shell within quotes",
       "orted -mca foo \"a b$c`d`;$(e)|&'\\ (f)\" -mca g \"\"",
       {"orted", "-mca", "foo", "a b$c`d`;$(e)|&'\\ (f)", "-mca", "g", ""}},
      {"no arguments", "orted", {"orted"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<AgentCall> got = parse_agent_call(c.text);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(got->argv == c.want);
  }
}

TEST_CASE("agent call: --prefix and OPAL_PREFIX change the daemon's paths, before what is there") {
  const std::string text = "   OPAL_PREFIX=/opt/ompi ; export OPAL_PREFIX;    " +
                           std::string(prefix_words) + daemon_words;
  const Result<Command> command =
      agent_command(text, {{"PATH", "/usr/bin:/bin"}, {"HOME", "/root"}, {"SLURM_JOBID", "7"}});
  REQUIRE(command);
  CHECK(command->argv[0] == "/opt/ompi/bin/orted");
  Env env = command->env;
  CHECK(env.erase("HWLOC_COMPONENTS") + env.erase("HWLOC_PLUGINS_PATH") == 2);
  CHECK(env == Env{{"PATH", "/opt/ompi/bin:/usr/bin:/bin"},
                   {"LD_LIBRARY_PATH", "/opt/ompi/lib:"},
                   {"DYLD_LIBRARY_PATH", "/opt/ompi/lib:"},
                   {"OPAL_PREFIX", "/opt/ompi"},
                   {"PMIX_MCA_gds", "hash"},
                   {"HOME", "/root"}});
}

TEST_CASE("agent call: anything else is denied, and nothing of it is kept") {
  struct {
    const char* name;
    std::string text;
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"empty", "", "contains no program"},
      {"spaces", "   ", "contains no program"},
      {"a proxy that is none", "/x/hydra_pmi_proxy2 -a", "only orted"},
      {"its folder", "/x/prted/", "only orted"},
      {"another program", "rm -rf /", "only orted"},
      {"a name that ends alike", "notorted", "only orted"},
      {"a relative path", "bin/orted", "only orted"},
      {"a path with ..", "/usr/../tmp/orted", "only orted"},
      {"a shell", "sh -c orted", "only orted"},
      {"wrapped", "valgrind orted", "only orted"},
      {"probe of the shell", "echo $SHELL", "character"},
      {"second command", "orted ; rm x", "character"},
      {"without a space", "orted;rm x", "character"},
      {"in the background", "orted & rm x", "character"},
      {"piped", "orted | sh", "character"},
      {"substitution", "orted $(id)", "character"},
      {"backticks", "orted `id`", "character"},
      {"variable", "orted $HOME", "character"},
      {"redirected", "orted > /etc/passwd", "character"},
      {"glob", "orted *", "character"},
      {"backslash", "orted a\\ b", "character"},
      {"single quotes", "orted 'a'", "character"},
      {"newline", "orted\nrm x", "character"},
      {"tab", "orted\tx", "character"},
      {"open quote", "orted -mca a \"b", "unclosed"},
      {"quote within a word", "orted a\"b\"", "character"},
      {"word after a quote", "orted \"a\"b", "character"},
      {"parenthesis alone", "( orted )", "character"},
      {"open parenthesis", "( test ! -r ./.profile || . ./.profile; orted -mca a b", "unclosed"},
      {"after the parenthesis", "( test ! -r ./.profile || . ./.profile; orted ) ; id",
       "character"},
      {"another profile", "( test ! -r ./.bashrc || . ./.bashrc; orted )", "character"},
      {"variable not of --prefix", "LD_PRELOAD=/tmp/x.so ; export LD_PRELOAD ; orted", "character"},
      {"exported another", "PATH=/a ; export HOME ; orted", "value of PATH"},
      {"not exported", "PATH=/a ; orted", "value of PATH"},
      {"path with a command", "PATH=/a:$(id) ; export PATH ; orted", "value of PATH"},
      {"path of another variable", "PATH=/a:$HOME ; export PATH ; orted", "value of PATH"},
      {"space in --prefix", "PATH=/my ompi/bin:$PATH ; export PATH ; orted", "value of PATH"},
      {"csh with --prefix", " set path = ( /opt/ompi/bin $path ) ; orted", "character"},
      {"leaves its session", "orted --daemonize -mca ess \"env\"", "--daemonize"},
      {"NUL", std::string("orted \0x", 8), "NUL"},
      {"too long", "orted " + std::string(200 * 1024, 'a'), "128 KiB"},
      {"not ASCII", "orted \xc3\xa9", "character"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<AgentCall> got = parse_agent_call(c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::denied);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
    CHECK(got.error().text.size() < 200);
    CHECK(agent_command(c.text, {}).error().code == Errc::denied);
  }
}

TEST_CASE("agent call: Open MPI 5's is understood, whose assignments have no spaces") {
  const Result<AgentCall> got = parse_agent_call(
      "PRTE_PREFIX=/o;export PRTE_PREFIX;PMIX_PREFIX=/o;export PMIX_PREFIX;"
      "LD_LIBRARY_PATH=/o/lib:/o/lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;"
      "DYLD_LIBRARY_PATH=/o/lib:/o/lib:$DYLD_LIBRARY_PATH;export DYLD_LIBRARY_PATH;/o/bin/prted "
      "--leave-session-attached --allow-run-as-root --prtemca ess \"env\" --prtemca ess_base_vpid "
      "1 "
      "--prtemca prte_hnp_uri "
      "\"prterun-a-9@0.0;tcp://10.0.0.1:42537:24;tcp6://[fd00::2]:41203:64\"");
  REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
  CHECK(got->environment ==
        std::vector<AgentCall::Change>{{"PRTE_PREFIX", "/o", false},
                                       {"PMIX_PREFIX", "/o", false},
                                       {"LD_LIBRARY_PATH", "/o/lib:/o/lib:", true},
                                       {"DYLD_LIBRARY_PATH", "/o/lib:/o/lib:", true}});
  REQUIRE(got->argv.size() == 12);
  CHECK(got->argv[0] == "/o/bin/prted");
  CHECK(got->argv[11] == "prterun-a-9@0.0;tcp://10.0.0.1:42537:24;tcp6://[fd00::2]:41203:64");
}

TEST_CASE("agent call: hydra's proxies are understood") {
  const Result<AgentCall> mpich = parse_agent_call(
      "\"/m/bin/hydra_pmi_proxy\" --control-port 10.0.0.1:37437 --rmk user --launcher ssh "
      "--launcher-exec /usr/local/bin/sm --demux poll --pgid 0 --usize -1 --proxy-id 1");
  REQUIRE_MESSAGE(mpich, (mpich ? "" : mpich.error().text));
  CHECK(mpich->argv[0] == "/m/bin/hydra_pmi_proxy");
  CHECK(mpich->argv[2] == "10.0.0.1:37437");
  const Result<AgentCall> intel = parse_agent_call(
      "/i/bin//hydra_bstrap_proxy --upstream-host algo-1 --upstream-port 46119 --base-path /i/bin/ "
      "--tree-width 2 /i/bin//hydra_pmi_proxy --usize -1 --auto-cleanup 0 --abort-signal 9");
  REQUIRE_MESSAGE(intel, (intel ? "" : intel.error().text));
  CHECK(intel->argv[0] == "/i/bin//hydra_bstrap_proxy");
}

TEST_CASE("agent: each host's daemon gets its own network interface") {
  const std::string orted =
      " orted -mca oob_tcp_if_include \"eth0\" -mca btl_tcp_if_include \"eth0\"";
  struct {
    std::string text;
    Env env;
    Args want;
  } const cases[] = {
      {orted,
       {{"OMPI_MCA_oob_tcp_if_include", "ens5"}, {"OMPI_MCA_btl_tcp_if_include", "ens5"}},
       {"orted", "-mca", "oob_tcp_if_include", "ens5", "-mca", "btl_tcp_if_include", "ens5"}},
      // The user's own option: the plan has no variable then.
      {orted,
       {{"OMPI_MCA_oob_tcp_if_include", "ens5"}},
       {"orted", "-mca", "oob_tcp_if_include", "ens5", "-mca", "btl_tcp_if_include", "eth0"}},
      {"prted --prtemca prte_if_include \"eth0\"",
       {{"PRTE_MCA_prte_if_include", "ens5"}},
       {"prted", "--prtemca", "prte_if_include", "ens5"}},
      {"hydra_pmi_proxy --iface eth0 --rmk user",
       {{"HYDRA_IFACE", "ens5"}},
       {"hydra_pmi_proxy", "--iface", "ens5", "--rmk", "user"}},
      {"hydra_pmi_proxy --iface", {{"HYDRA_IFACE", "ens5"}}, {"hydra_pmi_proxy", "--iface"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Command> got = agent_command(c.text, c.env);
    REQUIRE(got);
    CHECK(got->argv == c.want);
  }
}

TEST_CASE("agent request: hydra's options for ssh stand before the host") {
  struct {
    Args words;
    const char* host;  ///< nullptr: refused.
    const char* text;
  } const cases[] = {
      {{"algo-2", " orted", "-mca", "a", "\"b\""}, "algo-2", " orted -mca a \"b\""},
      {{"-x", "algo-2", "hydra_pmi_proxy"}, "algo-2", "hydra_pmi_proxy"},
      {{"-q", "-x", "algo-2", "hydra_bstrap_proxy", "-x"}, "algo-2", "hydra_bstrap_proxy -x"},
      {{}, nullptr, ""},
      {{"algo-2"}, nullptr, ""},
      {{"-x", "-q"}, nullptr, ""},
      {{"-oProxyCommand=id", "algo-2", "orted"}, nullptr, ""},
  };
  for (const auto& c : cases) {
    CAPTURE(join(c.words, " "));
    const Result<AgentRequest> got = agent_request(c.words);
    CHECK(got.has_value() == (c.host != nullptr));
    if (!got || c.host == nullptr) continue;
    CHECK(got->host == c.host);
    CHECK(got->text == c.text);
  }
}

TEST_CASE("agent: mpirun's warning that the agent has a group already is left out, alone") {
  const std::string warning =
      "[algo-1:00023] plm:rsh: Warning: setpgid(24,24) failed in parent with "
      "errno=Permission denied(13)\n";
  const std::string newer = "[algo-1:00023] plm:ssh: Warning: setpgid(1,1) failed in parent\n";
  const std::string other = "[algo-1:00023] plm:rsh: Error: setpgid(0,0) failed in child\n";
  CHECK(without_group_warning(warning).empty());
  CHECK(without_group_warning("a\n" + warning + newer + other + "b\n") == "a\n" + other + "b\n");
  CHECK(without_group_warning("says [x] plm:rsh: Warning: setpgid(1\n").starts_with("says"));
  CHECK(without_group_warning("").empty());
}

}  // namespace
}  // namespace muster::launch
