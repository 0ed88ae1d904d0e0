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
      {"", "must start with /"},
      {"data", "must start with /"},
      {"/", "hosts have their own root"},
      {"/a/../b", "must not have empty parts, . or .."},
      {"/a/.", "must not have empty parts, . or .."},
      {"/a//b", "must not have empty parts, . or .."},
      {"/a/", "must not have empty parts, . or .."},
      {"/opt/ml", "hosts have their own /opt/ml"},
      {"/opt/ml/model", "hosts have their own /opt/ml"},
      {"/opt/ml/input/data/x", "hosts have their own /opt/ml"},
      {"/opt", "hosts have their own /opt/ml"},
      {"/proc", "hosts have their own /proc"},
      {"/proc/sys", "hosts have their own /proc"},
      {"/sys", "hosts have their own /sys"},
      {"/dev/shm", "hosts have their own /dev"},
      {"/run/x", "hosts have their own /run"},
      {"/run/muster/job.key", "hosts have their own /run"},
      {"/var", "hosts have their own /var/run"},
      {"/etc", "hosts have their own /etc/hosts"},
      {"/etc/hosts", "hosts have their own /etc/hosts"},
      {"/usr", "hosts have their own /usr"},
      {"/usr/bin", "hosts have their own /usr"},
      {"/usr/bin/python3", "hosts have their own /usr"},
      {"/usr/sbin", "hosts have their own /usr"},
      {"/usr/lib/x86_64-linux-gnu", "hosts have their own /usr"},
      {"/usr/lib64", "hosts have their own /usr"},
      {"/usr/libexec/x", "hosts have their own /usr"},
      {"/bin", "hosts have their own /usr"},
      {"/bin/sh", "hosts have their own /usr"},
      {"/sbin/x", "hosts have their own /usr"},
      {"/lib/x86_64-linux-gnu/libc.so.6", "hosts have their own /usr"},
      {"/lib64", "hosts have their own /usr"},
      {"/usr/local/bin", "hosts have their own /usr/local/bin/sm"},
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
      {"/var/lib/muster", "is inside muster's folder /var/lib/muster"},
      {"/srv/state/jobs/x", "is inside muster's folder /srv/state"},
      {"/srv/jail", "because kernel files (proc) are mounted at /srv/jail/proc"},
      {"/srv/db", "listens on /srv/db/mysql.sock"},
      {"/srv/db/mysql.sock", "listens on /srv/db/mysql.sock"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.path);
    CHECK(told(c.path).find(c.want) != std::string::npos);
  }
  CHECK(told("/var/lib", true).find("contains muster's folder /var/lib/muster") !=
        std::string::npos);
}

}  // namespace
}  // namespace muster::job
