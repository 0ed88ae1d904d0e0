#include "container/bundle/bundle.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "container/bundle/machine_mounts.h"
#include "container/bundle/rootfs.h"
#include "container/bundle/runtime.h"
#include "container/bundle/seccomp.h"
#include "container/cgroup.h"
#include "container/host_network/network.h"
#include "job/host_settings.h"

namespace muster::container {
namespace {

job::HostSpec two_hosts() {
  job::HostSpec spec;
  spec.spec.name = "demo";
  spec.spec.hyperparameters = {{"epochs", "2"}};
  spec.spec.input = {{"train", "/data"}, {"csv", ""}};
  spec.spec.input[1].s3 = {.url = "s3://b/k", .sharded = true};
  spec.spec.input[1].content_type = "text/csv";
  spec.spec.environment = {{"FLAG", "a b"}, {"MUSTER_STEWARD_FD", "9"}};
  spec.spec.python = "/venv/bin/python3";
  spec.spec.path = "/venv/bin:/usr/bin";
  spec.spec.grace = std::chrono::milliseconds(1500);
  spec.host = "algo-2";
  spec.hosts = {{"algo-1", "10.177.0.1"}, {"algo-2", "10.177.0.2"}};
  spec.state_folder = "/state";
  spec.host_folder = "/state/jobs/demo/algo-2";
  spec.key_file = "/state/jobs/demo/key";
  return spec;
}

Facts facts() {
  Facts facts;
  facts.program = "/opt/sm";
  facts.network_namespace = "/proc/7/fd/5";
  facts.binds = {"/tmp/venv"};
  facts.masks = {"/data/server"};
  facts.staged = {"/input/data/train"};
  facts.open_files_max = 20000;
  facts.limits = {.processes = 300, .tmp_bytes = 5000, .run_bytes = 6000, .shm_bytes = 4096000};
  return facts;
}

Json config() {
  return *parse_json(bundle_config(two_hosts(), facts()));
}

/// What the bundle of `spec` shows at a path of the host's; empty for nothing.
std::string source_of(const job::HostSpec& spec, const std::string& target) {
  for (const Bind& bind : binds(spec, facts()))
    if (bind.target == target) return bind.source;
  return {};
}

Json mount_at(const Json& config, const std::string& destination) {
  for (const Json& mount : config["mounts"])
    if (mount["destination"] == destination) return mount;
  return nullptr;
}

bool has_item(const Json& list, const Json& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool has(const Json& list, const char* item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// What the profile does with a call of no arguments that matter: "SCMP_ACT_ALLOW", "EPERM" or,
/// by default, "ENOSYS"; "asks" if it depends on arguments.
std::string ruling(const Json& seccomp, const char* name) {
  for (const Json& rule : seccomp["syscalls"]) {
    if (!has(rule["names"], name)) continue;
    if (rule.contains("args")) return "asks";
    return rule["action"] == "SCMP_ACT_ALLOW" ? "allow" : "EPERM";
  }
  return "ENOSYS";
}

TEST_CASE("bundle: the host's own namespaces, name, root and control group") {
  const Json json = config();
  CHECK(json["hostname"] == "algo-2");
  CHECK(json["root"]["path"] == host_root());
  const std::string group = json["linux"]["cgroupsPath"].get<std::string>();
  CHECK(group.starts_with("/muster/demo."));
  CHECK(group.ends_with("/algo-2"));
  Json want = Json::array({{{"type", "pid"}},
                           {{"type", "ipc"}},
                           {{"type", "uts"}},
                           {{"type", "mount"}},
                           {{"type", "cgroup"}},
                           {{"type", "network"}, {"path", "/proc/7/fd/5"}}});
  CHECK(json["linux"]["namespaces"] == want);
  CHECK(json["process"]["terminal"] == false);
  CHECK(json["process"]["noNewPrivileges"] == true);
  CHECK(json["process"]["args"] ==
        Json({"/usr/local/bin/sm", "init", "--lifeline", "4", "--", "/usr/local/bin/train"}));
  CHECK(!json["linux"]["resources"].contains("memory"));
  job::HostSpec limited = two_hosts();
  limited.spec.memory_bytes = 1 << 30;
  limited.spec.cpu_millis = 1500;
  CHECK((*parse_json(bundle_config(limited, facts())))["linux"]["resources"]["cpu"] ==
        Json{{"quota", 150000}, {"period", 100000}});
  CHECK(host_environment(limited)["MUSTER_NUM_CPUS"] == "2");
  CHECK((*parse_json(bundle_config(limited, facts())))["linux"]["resources"]["memory"]["limit"] ==
        1 << 30);
}

TEST_CASE("bundle: a limited host's processors, and the threads of programs that count them") {
  struct Case {
    const char* what;
    std::int64_t millis;
    const char* cpus;  ///< Processors of its own.
    const char* processes;
    const char* given;  ///< By the job.
    const char* want;   ///< Empty: not set.
  };
  const Case cases[] = {
      {"no limit", 0, "", "4", "", ""},
      {"by time", 1500, "", "", "", "2"},
      {"by time, three processes", 4000, "", "3", "", "1"},
      {"by time, quoted as the SDK does", 4000, "", "\"2\"", "", "2"},
      {"more processes than processors", 1000, "", "8", "", "1"},
      {"its own, which a program sees", 2000, "0,1", "", "", ""},
      {"its own, for two processes", 4000, "0,1,2,3", "2", "", "2"},
      {"the job knows better", 1500, "", "", "7", "7"},
      {"more than the machine has", 90000, "", "", "", "4"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    job::HostSpec spec = two_hosts();
    spec.spec.cpu_millis = c.millis;
    if (*c.processes != 0)
      spec.spec.hyperparameters["sagemaker_mpi_num_of_processes_per_host"] = c.processes;
    if (*c.given != 0) spec.spec.environment["OMP_NUM_THREADS"] = c.given;
    Facts limited = facts();
    limited.cpus = c.cpus;
    limited.processors = 4;
    const Json json = *parse_json(bundle_config(spec, limited));
    std::string threads;
    for (const std::string variable : json["process"]["env"])
      if (variable.starts_with("OMP_NUM_THREADS=")) threads = variable.substr(16);
    CHECK(threads == c.want);
    const Json cpu = json["linux"]["resources"].value("cpu", Json::object());
    CHECK(cpu.contains("quota") == (c.millis > 0 && *c.cpus == 0));
    CHECK(cpu.value("cpus", "") == c.cpus);
  }
}

TEST_CASE("bundle: no privilege reaches beyond the container") {
  const Json json = config();
  for (const char* set : {"bounding", "effective", "permitted"}) {
    const Json& held = json["process"]["capabilities"][set];
    CHECK(has(held, "CAP_CHOWN"));
    for (const char* refused :
         {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_PTRACE", "CAP_MKNOD", "CAP_SYS_MODULE",
          "CAP_NET_RAW", "CAP_SYS_RESOURCE", "CAP_SYS_CHROOT"})
      CHECK(!has(held, refused));
  }
  CHECK(!json["process"]["capabilities"].contains("ambient"));
}

TEST_CASE("bundle: a host in the machine's network sees it and has no right over it") {
  job::HostSpec spec = two_hosts();
  spec.spec.network = job::Network::host;
  const Json json = *parse_json(bundle_config(spec, facts()));
  for (const Json& each : json["linux"]["namespaces"]) CHECK(each["type"] != "network");
  CHECK(!has(json["process"]["capabilities"]["bounding"], "CAP_NET_BIND_SERVICE"));
  CHECK(has(config()["process"]["capabilities"]["bounding"], "CAP_NET_BIND_SERVICE"));
  CHECK(mount_at(json, "/sys")["type"] == "bind");
  for (const char* option : {"ro", "nosuid", "nodev", "noexec"})
    CHECK(has(mount_at(json, "/sys")["options"], option));
  CHECK(host_environment(spec)["DMLC_INTERFACE"] == "lo");
}

TEST_CASE("bundle: pip reads the job's own configuration, unless the user names another") {
  job::HostSpec spec = two_hosts();
  CHECK(source_of(spec, "/run/muster/pip.conf").empty());
  CHECK(!host_environment(spec).contains("PIP_CONFIG_FILE"));
  spec.spec.pip_conf = "/etc/mirror.conf";
  CHECK(source_of(spec, "/run/muster/pip.conf") == host_pip_conf(spec));
  CHECK(host_environment(spec)["PIP_CONFIG_FILE"] == "/run/muster/pip.conf");
  CHECK(has(mount_at(*parse_json(bundle_config(spec, facts())), "/run/muster/pip.conf")["options"],
            "ro"));
  spec.spec.environment["PIP_CONFIG_FILE"] = "/opt/ml/code/pip.conf";
  CHECK(host_environment(spec)["PIP_CONFIG_FILE"] == "/opt/ml/code/pip.conf");
}

TEST_CASE("bundle: system calls") {
  const Json seccomp = config()["linux"]["seccomp"];
  CHECK(seccomp["architectures"] == Json({"SCMP_ARCH_X86_64"}));
  CHECK(seccomp["defaultErrnoRet"] == 38);
  struct {
    const char* name;
    const char* want;
  } const cases[] = {{"openat", "allow"},
                     {"process_vm_readv", "allow"},
                     {"ptrace", "allow"},
                     {"futex", "allow"},
                     {"execve", "allow"},
                     {"mount", "EPERM"},
                     {"keyctl", "EPERM"},
                     {"bpf", "EPERM"},
                     {"setns", "EPERM"},
                     {"kexec_load", "EPERM"},
                     {"init_module", "EPERM"},
                     {"pivot_root", "EPERM"},
                     {"open_by_handle_at", "EPERM"},
                     {"perf_event_open", "EPERM"},
                     {"io_uring_setup", "EPERM"},
                     {"clone3", "ENOSYS"},
                     {"clone", "asks"},
                     {"unshare", "EPERM"},
                     {"personality", "asks"},
                     {"a_call_of_tomorrow", "ENOSYS"}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(ruling(seccomp, c.name) == c.want);
  }
  for (const Json& rule : seccomp["syscalls"])
    if (has(rule["names"], "clone") && rule["action"] == "SCMP_ACT_ALLOW") {
      CHECK(rule["args"][0]["op"] == "SCMP_CMP_MASKED_EQ");
      CHECK(rule["args"][0]["value"] == 0x7E020000);
      CHECK(rule["args"][0]["valueTwo"] == 0);
    }
}

TEST_CASE("bundle: the host's own folders, and what it gets of the machine's") {
  const Json json = config();
  CHECK(has(mount_at(json, "/dev/shm")["options"], "size=4096000"));
  CHECK(mount_at(json, "/tmp")["type"] == "tmpfs");
  CHECK(mount_at(json, "/run")["type"] == "tmpfs");
  CHECK(has(mount_at(json, "/tmp")["options"], "size=5000"));
  CHECK(has(mount_at(json, "/run")["options"], "size=6000"));
  CHECK(has(mount_at(json, "/dev/shm")["options"], "size=4096000"));
  CHECK(json["linux"]["resources"]["pids"]["limit"] == 300);
  CHECK(json["process"]["oomScoreAdj"] == 500);
  CHECK(source_of(two_hosts(), "/opt/ml") == "/state/jobs/demo/algo-2/disk/ml");
  CHECK(source_of(two_hosts(), "/opt/ml/input/data/train") ==
        "/state/jobs/demo/algo-2/disk/ml/input/data/train");
  CHECK(has(mount_at(json, "/opt/ml")["options"], "rw"));
  for (const char* path : {"/usr/local/bin/sm", "/usr/local/bin/train", "/tmp/venv", "/etc/hosts",
                           "/run/muster/job.key", "/run/muster/python.zip"}) {
    CAPTURE(path);
    CHECK(mount_at(json, path)["type"] == "bind");
    CHECK(has(mount_at(json, path)["options"], "ro"));
  }
  for (const char* path : {"/tmp", "/run", "/dev/shm"})
    for (const char* flag : {"nosuid", "nodev"}) {
      CAPTURE(path);
      CHECK(has(mount_at(json, path)["options"], flag));
    }
  CHECK(source_of(two_hosts(), "/usr/local/bin/train") == "/opt/sm");
  CHECK(source_of(two_hosts(), "/run/muster/job.key") == "/state/jobs/demo/key");
}

TEST_CASE("bundle: a mount inside another comes after it") {
  const Json json = config();
  std::vector<std::string> seen;
  for (const Json& mount : json["mounts"]) {
    const std::string path = mount["destination"];
    for (const std::string& earlier : seen) CHECK(earlier.find(path + "/") != 0);
    seen.push_back(path);
  }
}

TEST_CASE("bundle: each bind has the path at which the steward mounts it, in order") {
  const Json json = config();
  std::size_t number = 0;
  for (const Bind& bind : binds(two_hosts(), facts())) {
    const Json mount = mount_at(json, bind.target);
    CHECK(mount["source"] == shown_place(number++));
    CHECK(has(mount["options"], "nosuid"));
    CHECK(has(mount["options"], "nodev"));
  }
  CHECK(has(json["linux"]["maskedPaths"], "/data/server"));
}

TEST_CASE("bundle: bound paths come last, with their submounts") {
  job::HostSpec spec = two_hosts();
  spec.spec.bound = {{"/mnt/a", "/data"}, {"/home/a", "/home/a", true, 1000, 1000}};
  const auto options = [&](const char* target) {
    const Json json = *parse_json(bundle_config(spec, facts()));
    for (const Json& mount : json["mounts"])
      if (mount["destination"] == target) return mount["options"];
    return Json();
  };
  CHECK(options("/data") == Json{"rbind", "rprivate", "ro", "nosuid", "nodev"});
  CHECK(options("/home/a") == Json{"rbind", "rprivate", "rw", "nosuid", "nodev"});
  CHECK(options("/opt/ml") == Json{"bind", "rprivate", "rw", "nosuid", "nodev"});
  CHECK(binds(spec, facts()).back().source == "/home/a");
}

TEST_CASE("bundle: a host can open its own devices, and nothing more of the machine's") {
  job::HostSpec spec = two_hosts();
  spec.devices = {.gpus = {"nvidia.com/gpu=3"},
                  .nodes = {{"/tmp/gpus/3", "/dev/nvidia3", 195, 3}},
                  .mounts = {{"/usr/lib/libcuda.so.1", "/run/muster/gpu/lib/libcuda.so.1", true},
                             {"/etc/vulkan", "/etc/vulkan"}},
                  .environment = {{"NVIDIA_VISIBLE_DEVICES", "void"}, {"CURRENT_HOST", "x"}}};
  const Json host = *parse_json(bundle_config(spec, facts()));
  CHECK(host["linux"]["resources"]["devices"] == *parse_json(R"([{"allow": false, "access": "rwm"},
          {"allow": true, "type": "c", "major": 195, "minor": 3, "access": "rw"}])"));
  CHECK(source_of(spec, "/dev/nvidia3") == "/tmp/gpus/3");
  CHECK(mount_at(host, "/dev/nvidia3")["options"] ==
        *parse_json(R"(["bind", "rprivate", "ro", "nosuid", "noexec"])"));
  CHECK(has(mount_at(host, "/etc/vulkan")["options"], "nodev"));
  CHECK(has(mount_at(host, "/etc/vulkan")["options"], "ro"));
  CHECK(source_of(spec, "/run/muster/gpu/lib/libcuda.so.1").empty());  // The machine's own shows.
  const Env env = host_environment(spec);
  CHECK(env.at("NVIDIA_VISIBLE_DEVICES") == "void");
  CHECK(env.at("CURRENT_HOST") == "algo-2");
  CHECK(env.at("MUSTER_NUM_GPUS") == "1");
  CHECK(env.count("LD_LIBRARY_PATH") == 0);
  CHECK(host_environment(two_hosts()).count("MUSTER_NUM_GPUS") == 0);
  CHECK(env.count(job::numa_variable) == 0);
  CHECK(host["process"]["rlimits"].size() == 2);
  spec.devices.locks_memory = true;
  const Json locking = *parse_json(bundle_config(spec, facts()));
  CHECK(has_item(locking["process"]["rlimits"],
                 Json{{"type", "RLIMIT_MEMLOCK"}, {"soft", ~0ull}, {"hard", ~0ull}}));
}

TEST_CASE("bundle: an image finds the driver's libraries behind its own") {
  job::HostSpec spec = two_hosts();
  spec.spec.image.emplace();
  spec.spec.image->environment = {{"LD_LIBRARY_PATH", "/own/lib"}};
  CHECK(host_environment(spec).at("LD_LIBRARY_PATH") == "/own/lib");
  spec.devices.mounts = {{"/usr/lib/libcuda.so.1", "/run/muster/gpu/lib/libcuda.so.1", true}};
  CHECK(source_of(spec, "/run/muster/gpu/lib/libcuda.so.1") == "/usr/lib/libcuda.so.1");
  CHECK(host_environment(spec).at("LD_LIBRARY_PATH") == "/own/lib:/run/muster/gpu/lib");
  spec.spec.image->environment.clear();
  CHECK(host_environment(spec).at("LD_LIBRARY_PATH") == "/run/muster/gpu/lib");
}

TEST_CASE("bundle: where hosts write to a folder of the machine no file gets a set-id bit") {
  job::HostSpec spec = two_hosts();
  spec.spec.bound = {{"/mnt/a", "/data"}};
  const auto profile = [&] {
    const Json json = *parse_json(bundle_config(spec, facts()));
    return Json(json["linux"]["seccomp"]);
  };
  CHECK(profile() == seccomp_profile());
  spec.spec.bound.push_back({"/mnt/b", "/out", true, 1000, 1000});
  CHECK(profile() == seccomp_profile(false));
}

TEST_CASE("bundle: root in a host is an unprivileged user on the machine") {
  Facts with = facts();
  with.user_namespace = "/proc/7/fd/6";
  with.ids = ids_from(1879048192);
  const Json json = parse_json(bundle_config(two_hosts(), with))->at("linux");
  CHECK(has_item(json["namespaces"], {{"type", "user"}, {"path", "/proc/7/fd/6"}}));
  const Json ids = Json::array({{{"containerID", 0}, {"hostID", 1879048192}, {"size", 65536}}});
  CHECK(json["uidMappings"] == ids);
  CHECK(json["gidMappings"] == ids);
  CHECK(!config()["linux"].contains("uidMappings"));
}

TEST_CASE("bundle: files that reveal facts about the whole machine to root are hidden") {
  const Json linux = config()["linux"];
  for (const char* path :
       {"/proc/kcore", "/proc/keys", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
        "/proc/slabinfo", "/proc/vmallocinfo", "/proc/kallsyms", "/proc/modules", "/proc/kmsg",
        "/proc/dynamic_debug", "/sys/kernel/debug", "/sys/fs/bpf", "/sys/firmware"}) {
    CAPTURE(path);
    CHECK(has(linux["maskedPaths"], path));
  }
  for (const char* path :
       {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"})
    CHECK(has(linux["readonlyPaths"], path));
}

TEST_CASE("bundle: the environment is the host's, with the user's variables over it") {
  Env env = host_environment(two_hosts());
  CHECK(env["FLAG"] == "a b");
  CHECK(env["MUSTER_STEWARD_FD"] == "3");
  CHECK(env["MUSTER_JOB_KEY_FILE"] == "/run/muster/job.key");
  CHECK(env["MUSTER_STOP_DEADLINE"] == "1.5");
  CHECK(env["MUSTER_LOST_AFTER"] == "60");
  CHECK(env["PATH"] == "/venv/bin:/usr/bin:/usr/local/bin");
  CHECK(env["TRAINING_JOB_NAME"] == "demo");
  CHECK(env["HOSTNAME"] == "algo-2");
  CHECK(env["HOME"] == "/root");
  CHECK(env["OMPI_ALLOW_RUN_AS_ROOT"] == "1");
  CHECK(env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1");
}

TEST_CASE("bundle: only hosts of one machine are waited for when they are silent") {
  for (const bool light : {false, true}) {
    job::HostSpec spec = two_hosts();
    (light ? spec.light : spec.in_step) = true;
    CHECK(!host_environment(spec).contains("MUSTER_LOST_AFTER"));
  }
  job::HostSpec own = two_hosts();
  own.spec.environment["MUSTER_LOST_AFTER"] = "7";
  CHECK(host_environment(own)["MUSTER_LOST_AFTER"] == "7");
}

TEST_CASE("bundle: an entry point of the job's own finds nothing of muster's in its environment") {
  job::HostSpec spec = two_hosts();
  spec.spec.entrypoint = {"/bin/sh", "-c", "env"};
  spec.spec.environment["MUSTER_TRAINING_LOG"] = "1";
  const Json json = *parse_json(bundle_config(spec, facts()));
  for (const std::string variable : json["process"]["env"])
    CHECK_FALSE(variable.starts_with("MUSTER_"));
  CHECK(has(json["process"]["env"], "FLAG=a b"));
  CHECK(source_of(spec, "/run/muster/settings") == bundle_folder(spec) + "/settings");
  const Env told = *job::with_host_settings({}, host_settings(spec));
  CHECK(told.at("MUSTER_JOB_KEY_FILE") == "/run/muster/job.key");
  CHECK(told.at("MUSTER_STEWARD_FD") == "/proc/1/fd/3");
  CHECK(told.at("MUSTER_TRAINING_LOG") == "1");
  CHECK(mount_at(config(), "/run/muster/settings") == nullptr);
}

TEST_CASE("bundle: the files of the job are SageMaker's") {
  const std::map<std::string, std::string> files = config_files(two_hosts());
  CHECK(files.at("resourceconfig.json") ==
        R"({"current_group_name":"homogeneousCluster","current_host":"algo-2",)"
        R"("current_instance_type":"local","hosts":["algo-1","algo-2"],)"
        R"("instance_groups":[{"hosts":["algo-1","algo-2"],)"
        R"("instance_group_name":"homogeneousCluster","instance_type":"local"}],)"
        R"("network_interface_name":"eth0"})");
  CHECK(files.at("hyperparameters.json") == R"({"epochs":"2"})");
  CHECK(*parse_json(files.at("inputdataconfig.json")) ==
        Json{{"train",
              {{"TrainingInputMode", "File"},
               {"S3DistributionType", "FullyReplicated"},
               {"RecordWrapperType", "None"}}},
             {"csv",
              {{"TrainingInputMode", "File"},
               {"S3DistributionType", "ShardedByS3Key"},
               {"RecordWrapperType", "None"},
               {"ContentType", "text/csv"}}}});
  const std::map<std::string, std::string> etc = etc_files(two_hosts());
  CHECK(etc.at("hostname") == "algo-2\n");
  CHECK(etc.at("hosts").find("10.177.0.1 algo-1\n10.177.0.2 algo-2\n") != std::string::npos);
}

TEST_CASE("bundle: a light host has the job's files next to its machine's") {
  job::HostSpec spec = two_hosts();
  spec.light = true;
  spec.rollcall_port = 20001;
  spec.interface = "ib0";
  std::vector<std::string> targets;
  for (const Bind& bind : light_binds(spec, "/opt/sm")) targets.push_back(bind.target);
  CHECK(targets == std::vector<std::string>{"/etc/hosts", "/opt/ml", "/run/muster/bin/sm",
                                            "/run/muster/bin/train", "/run/muster/job.key",
                                            "/run/muster/python.zip"});
  const Command first = first_process(spec, {});
  CHECK(first.argv ==
        Args{"/run/muster/bin/sm", "init", "--lifeline", "4", "--", "/run/muster/bin/train"});
  CHECK(first.env.at("MUSTER_ROLLCALL_PORT") == "20001");
  CHECK(first.env.at("DMLC_INTERFACE") == "ib0");
  CHECK(first.env.at("PATH").starts_with("/run/muster/bin:"));
  CHECK(config_files(spec).at("resourceconfig.json").find("\"ib0\"") != std::string::npos);
  // A name of the machine's stays, but for one of the job's own; S3 is reached without a relay.
  spec.spec.s3.endpoint = "http://s3.example:9000";
  const std::string hosts =
      etc_files(spec, "10.0.0.9 licences\n\n10.9.9.9 algo-1 old\n# words\n").at("hosts");
  CHECK(hosts.ends_with("10.177.0.2 algo-2\n10.0.0.9 licences\n# words\n"));
}

TEST_CASE("bundle: a host in a scheduler's step has its machine's network and a group below") {
  job::HostSpec spec = two_hosts();
  spec.in_step = true;
  spec.interface = "ib0";
  const Json config = *parse_json(bundle_config(spec, {}));
  CHECK(config["linux"]["cgroupsPath"] == step_cgroup_name(spec));
  CHECK(config["linux"]["namespaces"].dump().find("network") == std::string::npos);
  CHECK(config_files(spec).at("resourceconfig.json").find("\"ib0\"") != std::string::npos);
  spec.in_step = false;
  CHECK(parse_json(bundle_config(spec, {}))->at("linux").at("cgroupsPath") == cgroup_path(spec));
}

TEST_CASE("bundle: if a light host has its own entry point, a link leads to its stream") {
  job::HostSpec spec = two_hosts();
  spec.light = true;
  spec.spec.entrypoint = {"/bin/sh"};
  CHECK(host_settings(spec).find("MUSTER_STEWARD_FD=/run/muster/stream") != std::string::npos);
  CHECK(!first_process(spec, {}).env.contains("MUSTER_STEWARD_FD"));
}

TEST_CASE("bundle: a host of a group has its group's type, limits and channels") {
  job::HostSpec spec = two_hosts();
  spec.spec.instance_count = 2;
  spec.spec.groups = {{"cpu", "ml.c5", 1, 0}, {"gpu", "ml.p3", 1, 1 << 30, 0, 1500}};
  spec.spec.input[1].s3.groups = {"cpu"};
  const std::map<std::string, std::string> files = config_files(spec);
  CHECK(*parse_json(files.at("resourceconfig.json")) == *parse_json(R"({
      "current_host": "algo-2", "current_instance_type": "ml.p3", "current_group_name": "gpu",
      "hosts": ["algo-1", "algo-2"], "network_interface_name": "eth0", "instance_groups": [
        {"instance_group_name": "cpu", "instance_type": "ml.c5", "hosts": ["algo-1"]},
        {"instance_group_name": "gpu", "instance_type": "ml.p3", "hosts": ["algo-2"]}]})"));
  const Json input = *parse_json(files.at("inputdataconfig.json"));
  CHECK(input.contains("train"));
  CHECK(!input.contains("csv"));
  const Json config = *parse_json(bundle_config(spec, facts()));
  CHECK(config["linux"]["resources"]["memory"]["limit"] == 1 << 30);
  CHECK(config["linux"]["resources"]["cpu"]["quota"] == 150000);
  CHECK(host_environment(spec)["MUSTER_NUM_CPUS"] == "2");
  spec.host = "algo-1";
  CHECK(parse_json(config_files(spec).at("inputdataconfig.json"))->contains("csv"));
  CHECK(!parse_json(bundle_config(spec, facts()))->at("linux")["resources"].contains("memory"));
}

TEST_CASE("bundle: roots to trust are there, and the user's own win") {
  job::HostSpec spec = two_hosts();
  CHECK(!host_environment(spec).contains("AWS_CA_BUNDLE"));
  spec.spec.s3.ca_file = "/data/ca.pem";
  CHECK(host_environment(spec)["AWS_CA_BUNDLE"] == "/run/muster/ca.pem");
  const Json mount = mount_at(*parse_json(bundle_config(spec, facts())), "/run/muster/ca.pem");
  CHECK(source_of(spec, "/run/muster/ca.pem") == "/data/ca.pem");
  CHECK(has(mount["options"], "ro"));
  spec.spec.environment["AWS_CA_BUNDLE"] = "/mine.pem";
  CHECK(host_environment(spec)["AWS_CA_BUNDLE"] == "/mine.pem");
}

TEST_CASE("network: a host finds its job's S3 by the URL that all use") {
  const auto way = [](const char* endpoint) {
    const job::S3Access access{.endpoint = endpoint};
    return *doorway(access);
  };
  CHECK(!way(""));
  CHECK(way("http://127.0.0.1:7700") == Doorway{"127.0.0.1", 7700, "", "127.0.0.1"});
  CHECK(way("http://localhost:7700") == Doorway{"127.0.0.1", 7700, "", "localhost"});
  CHECK(way("http://10.0.0.5:9000/x") == Doorway{"10.0.0.5", 9000, "", "10.0.0.5"});
  CHECK(way("https://s3.example") == Doorway{"127.0.0.1", 443, "s3.example", "s3.example"});
  CHECK(!way("http://[::1]:7700"));
  CHECK(doorway({.endpoint = "s3.example"}).error().code == Errc::invalid_input);
  job::HostSpec spec = two_hosts();
  spec.spec.s3.endpoint = "https://s3.example";
  CHECK(etc_files(spec).at("hosts").ends_with("algo-2\n127.0.0.1 s3.example\n"));
}

TEST_CASE("machine: mount points are read with their odd characters") {
  const std::vector<std::string> points = mount_points(
      "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
      "23 22 0:4 / /mnt/a\\040b rw - tmpfs x rw\nshort line\n");
  CHECK(points == std::vector<std::string>{"/", "/mnt/a b"});
}

TEST_CASE("machine: mounts inside of a folder") {
  const std::vector<std::string> points = {"/", "/proc", "/home", "/dev/shm"};
  CHECK(has_mounts_inside("/dev", points));
  CHECK(!has_mounts_inside("/home", points));
}

TEST_CASE("runtime: the reason is the last error in runc's log") {
  CHECK(runtime_error("{\"level\":\"info\",\"msg\":\"x\"}\nnot json\n"
                      "{\"level\":\"error\",\"msg\":\"runc run failed: a\\nb\"}\n") ==
        "runc run failed: a b");
  CHECK(runtime_error("").empty());
}

TEST_CASE("cgroup: deaths for want of memory are counted in both versions' files") {
  CHECK(count_in("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill") == 2);
  CHECK(count_in("low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n", "oom_kill") == 1);
  CHECK(count_in("max 7\n", "max") == 7);
  CHECK(count_in("", "oom_kill") == 0);
}

TEST_CASE("bundle: entry point and arguments stand in train's place, checkpoints at their path") {
  job::HostSpec spec = two_hosts();
  const auto args_of = [&] {
    return (*parse_json(bundle_config(spec, facts())))["process"]["args"];
  };
  const Json init{"/usr/local/bin/sm", "init", "--lifeline", "4", "--"};
  spec.spec.arguments = {"-c", "a b"};
  Json want = init;
  for (const char* arg : {"/usr/local/bin/train", "-c", "a b"}) want.push_back(arg);
  CHECK(args_of() == want);
  spec.spec.entrypoint = {"/bin/bash"};
  want = {"/usr/local/bin/sm", "init", "--lifeline", "4", "--everyone", "--",
          "/bin/bash",         "-c",   "a b"};
  CHECK(args_of() == want);
  spec.spec.checkpoint_path = "/data/ck";
  CHECK(mount_at(*parse_json(bundle_config(spec, facts())), "/data/ck") == nullptr);
  spec.spec.checkpoint_url = "s3://b/ck";
  CHECK(source_of(spec, "/data/ck") == "/state/jobs/demo/algo-2/disk/ml/checkpoints");
}

}  // namespace
}  // namespace muster::container
