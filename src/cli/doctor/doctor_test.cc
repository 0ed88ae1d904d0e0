#include "cli/doctor/doctor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::cli {
namespace {

MachineFacts good_machine() {
  return {.root = true,
          .kernel = "6.1.0-18-amd64",
          .runc = "/usr/sbin/runc",
          .python3 = "/usr/bin/python3",
          .mpirun = "/usr/bin/mpirun",
          .mke2fs = "/usr/sbin/mke2fs",
          .py_spy = "/usr/local/bin/py-spy",
          .loop_devices = true,
          .disk_scheduler = "none mq-deadline [bfq]",
          .no_outside = "",
          .file_systems = "nodev\tproc\n\text4\nnodev\toverlay\n",
          .mountinfo = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n",
          .controllers = "cpu memory pids",
          .seccomp_actions = "kill_process errno allow\n",
          .status = "CapPrm:\t0\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n",
          .user_namespaces = true,
          .state_folder = "/var/lib/muster",
          .state_writable = true,
          .disk_free_bytes = std::int64_t{20} << 30,
          .memory_available_bytes = std::int64_t{4} << 30};
}

TEST_CASE("doctor: a good machine is well, also without what only some jobs need") {
  CHECK(is_well(findings(good_machine())));
  MachineFacts facts = good_machine();
  facts.mpirun = facts.python3 = "";
  CHECK(is_well(findings(facts)));
  CHECK(first_lack(facts, false) == "");
  CHECK(first_lack(facts, true) ==
        "mpirun is missing: apt-get install openmpi-bin (see sm doctor)");
}

TEST_CASE("doctor: a sick card is shown, and the machine runs jobs all the same") {
  JobFacts facts{.python = "python3", .modules = Args(), .gpus = 2, .port_trouble = ""};
  const auto text = [&] { return findings_text(findings(facts), false); };
  CHECK(text().find("ok      gpu health   for training on GPUs\n") != std::string::npos);
  facts.health.remarks = {"GPU 1: slowed down: too hot"};
  CHECK(text().find("ok      gpu health   for training on GPUs: GPU 1: slowed down: too hot\n") !=
        std::string::npos);
  facts.health.unfit_lines = {"nvidia.com/gpu=0 needs recovery: Reset"};
  CHECK(text().find("absent  gpu health   for training on GPUs: nvidia.com/gpu=0 needs recovery: "
                    "Reset; GPU 1: slowed down: too hot -> jobs do not get unhealthy GPUs") !=
        std::string::npos);
  CHECK(is_well(findings(facts)));
  facts.health = {.unknown = "nvidia-smi -q: no response"};
  CHECK(text().find(
            "absent  gpu health   for training on GPUs: unknown: nvidia-smi -q: no response") !=
        std::string::npos);
  facts.health = {};
  facts.surroundings.remarks = {"mlx5_1/1 is down (Polling)"};
  CHECK(text().find("ok      gpu health   for training on GPUs: mlx5_1/1 is down (Polling)\n") !=
        std::string::npos);
  CHECK(text().find("ok      gpu errors   for failures that name the GPU\n") != std::string::npos);
  facts.surroundings.kernel_log = "cannot open /dev/kmsg: Permission denied";
  CHECK(text().find("absent  gpu errors   for failures that name the GPU: cannot open /dev/kmsg: "
                    "Permission denied -> reading them requires root") != std::string::npos);
  facts.gpus = 0;
  CHECK(text().find("gpu health") == std::string::npos);
  CHECK(text().find("gpu errors") == std::string::npos);
}

TEST_CASE("doctor: an ordinary user can run jobs, and sees the limits") {
  MachineFacts facts = good_machine();
  facts.rootless_ids = 1;
  facts.mountinfo = "";
  const std::string text = findings_text(findings(facts), false);
  CHECK(is_well(findings(facts)));
  CHECK(first_lack(facts, false) == "");
  for (const char* what : {"limits", "volumes", "disk shares", "oom score", "user ids"}) {
    CAPTURE(what);
    CHECK(text.find("absent  " + std::string(what)) != std::string::npos);
  }
  facts.rootless_ids = 65536;
  CHECK(findings_text(findings(facts), false).find("ok      user ids") != std::string::npos);
}

TEST_CASE("doctor: a machine that refuses an ordinary user says why") {
  MachineFacts facts = good_machine();
  facts.root = false;
  facts.refused = "jobs without root require user namespaces";
  CHECK(!is_well(findings(facts)));
  CHECK(findings_text(findings(facts), false).find(facts.refused) != std::string::npos);
}

TEST_CASE("doctor: py-spy is to be installed for the interpreter that jobs use") {
  MachineFacts facts = good_machine();
  facts.py_spy = "";
  CHECK(findings_text(findings(facts), false).find("python3 -m pip install py-spy") !=
        std::string::npos);
  facts.python_asked = facts.python3 = "/venv/bin/python";
  CHECK(findings_text(findings(facts), false).find("/venv/bin/python -m pip install py-spy") !=
        std::string::npos);
}

TEST_CASE("doctor: missing protections of the machine, and missing resources, are reported") {
  struct {
    const char* what;
    void (*spoil)(MachineFacts&);
  } const cases[] = {
      {"user ids", [](MachineFacts& f) { f.kernel = "5.18.0"; }},
      {"user ids", [](MachineFacts& f) { f.user_namespaces = false; }},
      {"oom score", [](MachineFacts& f) { f.status = "CapEff:\t000001fffeffffff\n"; }},
      {"oom score", [](MachineFacts& f) { f.status = ""; }},
      {"limits", [](MachineFacts& f) { f.controllers = "cpu pids"; }},
      {"outside", [](MachineFacts& f) { f.no_outside = "nft is not installed"; }},
      {"py-spy", [](MachineFacts& f) { f.py_spy = ""; }},
      {"volumes", [](MachineFacts& f) { f.mke2fs = ""; }},
      {"volumes", [](MachineFacts& f) { f.loop_devices = false; }},
      {"volumes", [](MachineFacts& f) { f.file_systems = "nodev\toverlay\n"; }},
      {"disk shares", [](MachineFacts& f) { f.disk_scheduler = "none [mq-deadline] bfq"; }},
      {"disk shares", [](MachineFacts& f) { f.disk_scheduler = ""; }},
      {"disk", [](MachineFacts& f) { f.disk_free_bytes = 1 << 20; }},
      {"memory", [](MachineFacts& f) { f.memory_available_bytes = 1 << 20; }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK(findings_text(findings(good_machine()), false).find("ok      " + std::string(c.what)) !=
          std::string::npos);
    MachineFacts facts = good_machine();
    c.spoil(facts);
    CHECK(is_well(findings(facts)));
    CHECK(findings_text(findings(facts), false).find("absent  " + std::string(c.what)) !=
          std::string::npos);
  }
}

TEST_CASE("doctor: missing things are named with what to do about them") {
  struct {
    const char* what;
    void (*spoil)(MachineFacts&);
    const char* lack;
  } const cases[] = {
      {"root", [](MachineFacts& f) { f.root = false; }, "need root"},
      {"kernel", [](MachineFacts& f) { f.kernel = "5.4.0"; }, "Linux 5.9"},
      {"runc", [](MachineFacts& f) { f.runc = ""; }, "apt-get install runc"},
      {"overlayfs", [](MachineFacts& f) { f.file_systems = "\text4\n"; }, "modprobe overlay"},
      {"cgroups", [](MachineFacts& f) { f.mountinfo = ""; }, "mount -t cgroup2"},
      {"seccomp", [](MachineFacts& f) { f.seccomp_actions = ""; }, "CONFIG_SECCOMP_FILTER"},
      {"state folder", [](MachineFacts& f) { f.state_writable = false; }, "MUSTER_STATE"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    MachineFacts facts = good_machine();
    c.spoil(facts);
    CHECK(!is_well(findings(facts)));
    CHECK(first_lack(facts, false).find(c.lack) != std::string::npos);
    const std::string text = findings_text(findings(facts), false);
    CHECK(text.find("MISSING " + std::string(c.what)) != std::string::npos);
    CHECK(text.find("cannot run jobs yet") != std::string::npos);
    const Json json = *parse_json(findings_json(findings(facts)));
    CHECK(json["good"] == false);
  }
}

TEST_CASE("doctor: without root, root alone is missing") {
  MachineFacts facts = good_machine();
  facts.root = facts.state_writable = false;
  const std::string text = findings_text(findings(facts), false);
  CHECK(text.starts_with("MISSING root"));
  CHECK(text.find("MISSING", 1) == text.find("MISSING above"));
}

TEST_CASE("doctor: the interpreter given by the user replaces python3, and must exist") {
  MachineFacts facts = good_machine();
  facts.python_asked = "/venv/bin/python";
  facts.python3 = "/venv/bin/python";
  CHECK(is_well(findings(facts)));
  CHECK(findings_text(findings(facts), false)
            .find("ok      python       for Python scripts: /venv/bin/python\n") !=
        std::string::npos);
  facts.python3 = "";
  CHECK(!is_well(findings(facts)));
  CHECK(findings_text(findings(facts), false)
            .find("MISSING python       for Python scripts: /venv/bin/python -> program not found; "
                  "choose another program with --python\n") != std::string::npos);
}

TEST_CASE("doctor: the name of an interpreter orders no terminal about") {
  JobFacts facts;
  facts.python = "/venv/\x1b[2Jpython\n";
  facts.modules = Args{"torch"};
  const std::vector<Finding> found = findings(facts);
  const std::string text = findings_text(found, false, "it");
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == std::ssize(found) + 1);
}

TEST_CASE("doctor: the report has one line per thing") {
  const std::string text = findings_text(findings(good_machine()), false);
  CHECK(
      text.starts_with("ok      root         to create containers\n"
                       "ok      runc         to run containers: /usr/sbin/runc\n"));
  CHECK(text.find("ok      disk         for the state folder: 20.0 GiB free\n") !=
        std::string::npos);
  CHECK(text.ends_with("This machine can run jobs.\n"));
}

TEST_CASE("doctor: packages that only some jobs need are named with the user's interpreter") {
  const JobFacts facts{.python = "/venv/bin/python",
                       .modules = Args{"torch"},
                       .gpus = 2,
                       .port_trouble = "127.0.0.1:7700: Address already in use"};
  CHECK(is_well(findings(facts)));
  const std::string text = findings_text(findings(facts), false);
  for (const char* line :
       {"ok      torch        for the launcher torch_distributed: in /venv/bin/python\n",
        "absent  mpi4py       for the launcher mpi -> /venv/bin/python -m pip install "
        "mpi4py",
        "ok      gpus         for training on GPUs: 2\n",
        "absent  port         for sm server to listen on: 127.0.0.1:7700: Address already in use "
        "-> "}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
  JobFacts none = facts;
  none.modules.reset();
  none.gpus = 0;
  none.gpu_trouble = "/etc/cdi/a.json: wrong";
  CHECK(findings_text(findings(none), false)
            .find("absent  gpus         for training on GPUs: /etc/cdi/a.json: wrong -> ") !=
        std::string::npos);
  none.neurons = 4;
  CHECK(findings_text(findings(none), false).find("absent  torch") != std::string::npos);
  CHECK(findings_text(findings(none), false).find("4 Neuron cores") != std::string::npos);
}

}  // namespace
}  // namespace muster::cli
