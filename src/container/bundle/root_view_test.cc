#include "container/bundle/root_view.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

using Paths = std::vector<std::string>;

TEST_CASE("root view: programs and what the job names, and nothing around them") {
  const Paths homes{"/root", "/home/me", "/opt/service"};
  struct {
    const char* name;
    Paths wanted;
    RootView want;
  } const cases[] = {
      {"programs",
       {"/usr", "/opt", "/lib64"},
       {{"/lib64", "/opt", "/usr"}, {}, {}, {"/opt/service"}}},
      {"an interpreter in a home",
       {"/root/.pyenv/versions/3.11"},
       {{"/root/.pyenv/versions/3.11"}, {}, {}, {}}},
      {"one inside of another", {"/usr", "/usr/local/bin"}, {{"/usr"}, {}, {}, {}}},
      {"a home that lies among programs stays for its interpreter",
       {"/opt", "/opt/service/venv"},
       {{"/opt"}, {}, {}, {}}},
      {"a disk of its own among programs",
       {"/opt", "/opt/disk/venv", "/opt/disk/venv/lib"},
       {{"/opt", "/opt/disk/venv"}, {}, {}, {"/opt/service"}}},
      {"where a host has its own",
       {"/tmp/venv", "/dev/shm/x"},
       {{}, {}, {"/dev/shm/x", "/tmp/venv"}, {}}},
      {"a home itself", {"/home/me", "/root"}, {}},
      {"what holds homes", {"/home", "/"}, {}},
      {"the machine's own", {"/etc", "/var", "/var/lib", "/tmp", "/run", "/srv"}, {}},
      {"the kernel's", {"/proc/1/root", "/sys/kernel", "/dev/disk"}, {}},
      {"muster's own, in a project folder",
       {"/data/project"},
       {{"/data/project"}, {}, {}, {"/data/project/server"}}},
      {"inside of muster's own", {"/data/project/server/machine", "/tmp/state/x"}, {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(root_view(c.wanted, {}, homes, {"/data/project/server", "/tmp/state"},
                    {"/", "/opt/disk"}) == c.want);
  }
}

TEST_CASE("root view: programs in PATH are read-only, next to the required trees") {
  const RootView view =
      root_view({"/usr", "/venv"}, {"/usr/bin", "/venv/bin", "/sw/mpi/bin", "/tmp/bin", "/root"},
                {"/root"}, {}, {"/"});
  CHECK(view == RootView{{"/usr", "/venv"}, {"/sw/mpi/bin"}, {"/tmp/bin"}, {}});
}

TEST_CASE("root view: of /etc what programs need, nothing that may hold a secret") {
  for (const char* name : {"ld.so.cache", "ssl/certs", "python3.11", "openmpi", "localtime"}) {
    CAPTURE(name);
    CHECK(is_shown_in_etc(name));
  }
  for (const char* name :
       {"shadow",         "ssh",         "ssl",        "ssl/private", "sudoers",
        "pip.conf",       "environment", "kubernetes", "wireguard",   "letsencrypt",
        "NetworkManager", "krb5.keytab", "docker",     "apt",         "passwd",
        "netplan",        "hosts",       "fstab",      "machine-id",  "pki/tls/private",
        "muster",         "wgetrc"}) {
    CAPTURE(name);
    CHECK(!is_shown_in_etc(name));
  }
  CHECK(is_partly_shown_in_etc("ssl"));
  CHECK(is_partly_shown_in_etc("pki/tls"));
  CHECK(!is_partly_shown_in_etc("ssh"));
}

TEST_CASE("root view: accounts of the system are shown, people's are not") {
  const char* const passwd =
      "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/bin/false\n"
      "me:x:1000:1000:Me:/home/me:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\ntorn:x";
  CHECK(system_accounts(passwd) ==
        "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/bin/false\n"
        "nobody:x:65534:65534::/nonexistent:/bin/false\n");
  CHECK(homes_in(passwd) == Paths{"/root", "/home/me"});
}

TEST_CASE("root view: a folder of PATH brings the libraries next to it, except in a home") {
  const Paths homes{"/home/me"};
  CHECK(outermost(program_places("/sw/openmpi/bin", homes)) ==
        Paths{"/sw/openmpi/bin", "/sw/openmpi/etc", "/sw/openmpi/include", "/sw/openmpi/lib",
              "/sw/openmpi/lib64", "/sw/openmpi/libexec", "/sw/openmpi/sbin", "/sw/openmpi/share"});
  CHECK(program_places("/home/me/.local/bin", homes) == Paths{"/home/me/.local/bin"});
  CHECK(program_places("/data/tools", homes) == Paths{"/data/tools"});
  CHECK(program_places("/bin", homes) == Paths{"/bin"});
}

TEST_CASE("root view: muster's folders are found inside of what a job is given") {
  const Paths folders{"/data/p/server", "/var/lib/muster"};
  CHECK(inside(folders, "/data/p", "/opt/ml/code") == Paths{"/opt/ml/code/server"});
  CHECK(inside(folders, "/data/p/server/machine", "/opt/ml/code") == Paths{"/opt/ml/code"});
  CHECK(inside(folders, "/data/p/server", "/opt/ml/code") == Paths{"/opt/ml/code"});
  CHECK(inside(folders, "/data/pp", "/opt/ml/code").empty());
}

}  // namespace
}  // namespace muster::container
