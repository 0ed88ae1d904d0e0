#include "base/files/mounts.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("mounts: places are decoded, types stand behind the dash") {
  CHECK(mounts_of("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
                  "36 22 0:5 /a /mnt/a\\040b rw shared:1 master:2 - nfs4 host:/x rw\n"
                  "37 22 0:6 / /short rw\n"
                  "no such line\n") ==
        std::vector<MountPoint>{{"/", "ext4"}, {"/mnt/a b", "nfs4"}, {"/short", ""}});
}

TEST_CASE("mounts: sockets have paths, or none") {
  CHECK(sockets_of("Num       RefCount Protocol Flags    Type St Inode Path\n"
                   "0000000000000000: 00000002 00000000 00010000 0001 01 18 /run/a b.sock\n"
                   "0000000000000000: 00000002 00000000 00000000 0002 01 19 @/abstract\n"
                   "0000000000000000: 00000003 00000000 00000000 0001 03 20\n") ==
        std::vector<std::string>{"/run/a b.sock"});
}

}  // namespace
}  // namespace muster
