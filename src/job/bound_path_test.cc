#include "job/bound_path.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

std::string why(const Result<void>& result) {
  if (result) return {};
  CHECK(result.error().code == Errc::invalid_input);
  return result.error().text;
}

TEST_CASE("bound path: in hosts nothing covers what every host has") {
  for (const char* path :
       {"/data", "/mnt/a b", "/opt/data", "/opt/mlflow", "/home/a/x", "/tmp/x", "/usr/share/x",
        "/usr/local/share/x", "/usr/local/lib/x", "/library", "/opt/lib", "/home/a/bin",
        "/etc/krb5.conf", "/devices", "/root", "/a...b"}) {
    CAPTURE(path);
    CHECK(why(check_inside(std::string(path))) == "");
  }
  struct {
    const char* path;
    const char* want;
  } const cases[] = {
      {"", "must begin with /"},
      {"data", "must begin with /"},
      {"/", "hosts have their own root"},
      {"/a/../b", "must not contain //, . or .."},
      {"/a/.", "must not contain //, . or .."},
      {"/a//b", "must not contain //, . or .."},
      {"/a/", "must not contain //, . or .."},
      {"/opt/ml", "hosts have /opt/ml of their own"},
      {"/opt/ml/model", "hosts have /opt/ml of their own"},
      {"/opt/ml/input/data/x", "hosts have /opt/ml of their own"},
      {"/opt", "hosts have /opt/ml of their own"},
      {"/proc", "hosts have /proc of their own"},
      {"/proc/sys", "hosts have /proc of their own"},
      {"/sys", "hosts have /sys of their own"},
      {"/dev/shm", "hosts have /dev of their own"},
      {"/run/x", "hosts have /run of their own"},
      {"/run/muster/job.key", "hosts have /run of their own"},
      {"/var", "hosts have /var/run of their own"},
      {"/etc", "hosts have /etc/hosts of their own"},
      {"/etc/hosts", "hosts have /etc/hosts of their own"},
      {"/usr", "hosts have /usr of their own"},
      {"/usr/bin", "hosts have /usr of their own"},
      {"/usr/bin/python3", "hosts have /usr of their own"},
      {"/usr/sbin", "hosts have /usr of their own"},
      {"/usr/lib/x86_64-linux-gnu", "hosts have /usr of their own"},
      {"/usr/lib64", "hosts have /usr of their own"},
      {"/usr/libexec/x", "hosts have /usr of their own"},
      {"/bin", "hosts have /usr of their own"},
      {"/bin/sh", "hosts have /usr of their own"},
      {"/sbin/x", "hosts have /usr of their own"},
      {"/lib/x86_64-linux-gnu/libc.so.6", "hosts have /usr of their own"},
      {"/lib64", "hosts have /usr of their own"},
      {"/usr/local/bin", "hosts have /usr/local/bin/sm of their own"},
      {"/tmp", "hosts have their own"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.path);
    CHECK(why(check_inside(std::string(c.path))).find(c.want) != std::string::npos);
  }
}

TEST_CASE("bound path: no path is inside another one") {
  CHECK(why(check_inside(std::vector<BoundPath>{{"/a", "/data"}, {"/b", "/data2"}})) == "");
  for (const char* other : {"/data", "/data/b"})
    CHECK(why(check_inside(std::vector<BoundPath>{{"/a", "/data"}, {"/b", other}}))
              .find("is inside /data") != std::string::npos);
}

TEST_CASE("bound path: of the machine no more than was meant is shown") {
  Surroundings machine;
  machine.mounts = {{"/", "ext4"},
                    {"/proc", "proc"},
                    {"/srv/data", "ext4"},
                    {"/srv/jail/proc", "proc"},
                    {"/srv/data/inner", "nfs4"}};
  machine.sockets = {"/srv/db/mysql.sock", "/run/docker.sock"};
  machine.private_folders = {"/var/lib/muster", "/srv/state"};
  const auto told = [&](const char* path, bool writable = false) {
    return why(check_outside({path, "/data", writable}, machine));
  };
  for (const char* path : {"/srv/data", "/srv/data/inner", "/home/a", "/srv/db/tables", "/usr",
                           "/procession", "/etc/krb5.conf", "/var/lib", "/srv/statements"}) {
    CAPTURE(path);
    CHECK(told(path) == "");
  }
  struct {
    const char* path;
    const char* want;
  } const cases[] = {
      {"/", "far more than a job needs"},
      {"/etc", "far more than a job needs"},
      {"/proc", "machine's own files"},
      {"/proc/1/root/srv", "machine's own files"},
      {"/sys/fs", "machine's own files"},
      {"/sys/kernel", "machine's own files"},
      {"/dev/shm/x", "machine's own files"},
      {"/run/user/1000", "machine's own files"},
      {"/var/lib/muster", "is inside a folder of muster, /var/lib/muster"},
      {"/srv/state/jobs/x", "is inside a folder of muster, /srv/state"},
      {"/srv/jail", "the kernel's files (proc) are mounted at /srv/jail/proc"},
      {"/srv/db", "listens there, at /srv/db/mysql.sock"},
      {"/srv/db/mysql.sock", "listens there, at /srv/db/mysql.sock"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.path);
    CHECK(told(c.path).find(c.want) != std::string::npos);
  }
  CHECK(told("/var/lib", true).find("contains a folder of muster, /var/lib/muster") !=
        std::string::npos);
}

}  // namespace
}  // namespace muster::job
