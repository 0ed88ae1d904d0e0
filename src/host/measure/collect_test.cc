#include "host/measure/collect.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::preflight {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/preflight-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { static_cast<void>(remove_tree(path)); }
  void file(const std::string& name, const std::string& text = "", unsigned mode = 0644) const {
    const std::string whole = path + "/" + name;
    REQUIRE(make_folders(whole.substr(0, whole.rfind('/'))));
    REQUIRE(write_file(whole, text, mode));
  }
  std::string path;
};

TEST_CASE("versions are read from names and small files") {
  CHECK(version_in_pyvenv("home = /usr/bin\nversion = 3.11.7\n") == "3.11.7");
  CHECK(version_in_pyvenv("version_info = 3.9.2.final.0\n") == "3.9.2");
  CHECK(version_in_pyvenv("no such line\n=\n").empty());
  CHECK(
      nvidia_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug\n") ==
      "535.104.05");
  CHECK(nvidia_version_in("").empty());
  std::map<std::string, std::string> packages = {{"numpy", "1.0"}};
  add_packages({"torch-2.2.1+cu121.dist-info", "numpy-1.24.2-py3.11.egg-info", "README",
                "mpi4py-3.1.4-py3.11.egg-info", "mxnet.dist-info", "tensorflow-.dist-info",
                "evil-1.dist-info", "Horovod-0.28.1.dist-info"},
               packages);
  CHECK(packages == std::map<std::string, std::string>{{"numpy", "1.0"},
                                                       {"torch", "2.2.1+cu121"},
                                                       {"mpi4py", "3.1.4"},
                                                       {"horovod", "0.28.1"}});
}

TEST_CASE("the interpreter's packages and the MPI library are those that PATH finds") {
  const Folder folder;
  folder.file("venv/bin/python3", "", 0755);
  folder.file("venv/pyvenv.cfg", "version = 3.11.7\n");
  folder.file("venv/lib/python3.11/site-packages/torch-2.1.0.dist-info/METADATA");
  folder.file("mpi/bin/mpirun", "", 0755);
  folder.file("mpi/lib/libmpi.so.40");
  folder.file("mpi/lib/libmpi.so.40.30.4");
  Collecting asked;
  asked.env = {{"PATH", folder.path + "/venv/bin:" + folder.path + "/mpi/bin"}};
  asked.folder = folder.path + "/not/there";
  asked.gpus = 2;
  const HostFacts facts = collect(asked);
  CHECK(facts.python == "3.11.7");
  CHECK(facts.packages.at("torch") == "2.1.0");
  CHECK(facts.mpi == "libmpi.so.40.30.4");
  CHECK(facts.gpus.size() == 2);
  CHECK(facts.disk_bytes > facts.disk_free_bytes);
  CHECK(facts.disk_free_bytes > 0);
  CHECK(facts.memory_bytes > facts.memory_free_bytes);
  CHECK(facts.memory_free_bytes > 0);
  CHECK_FALSE(facts.node.empty());
  CHECK_FALSE(facts.kernel.empty());
  CHECK(facts.muster == MUSTER_VERSION);
  CHECK(facts.build.size() == 40);
}

TEST_CASE("the driver's tool is asked about the GPUs' health where it may be") {
  const Folder folder;
  std::string text = *read_file(MUSTER_SOURCE_DIR "/tests/data/nvidia_smi_h100.txt");
  const std::string action = "GPU Recovery Action                                : ";
  text.replace(text.find(action) + action.size(), 4, "Reset");
  folder.file("said", text);
  folder.file("nvidia-smi", "#!/bin/sh\nexec cat " + folder.path + "/said\n", 0755);
  Collecting asked;
  asked.env = {{"PATH", folder.path + ":/usr/bin:/bin"}};
  asked.gpus = 1;
  CHECK(collect(asked).gpu_troubles.empty());
  asked.asks_driver = true;
  const std::vector<std::string> troubles = collect(asked).gpu_troubles;
  // On a busy machine the answer may come too late, and then nothing is said.
  if (!troubles.empty()) CHECK(troubles == std::vector<std::string>{"GPU 0 needs recovery: Reset"});
  asked.gpus = 0;
  CHECK(collect(asked).gpu_troubles.empty());
}

TEST_CASE("names are looked up, and what is not there stays empty") {
  Collecting asked;
  asked.names = {"localhost", "10.1.2.3"};
  const HostFacts facts = collect(asked);
  CHECK_FALSE(facts.names.at("localhost").empty());
  CHECK(facts.names.at("10.1.2.3") == std::vector<std::string>{"10.1.2.3"});
  CHECK(facts.python.empty());
  CHECK(facts.mpi.empty());
}

}  // namespace
}  // namespace muster::preflight
