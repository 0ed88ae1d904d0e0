#include "container/bundle/seccomp.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/text.h"

namespace muster::container {
namespace {

/// CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET. (CLONE_NEWTIME is for unshare and clone3 only.)
constexpr std::uint64_t namespace_flags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                             0x10000000, 0x20000000, 0x40000000};
/// The kernel uses only the low half of an int argument, but a filter compares the whole argument.
constexpr std::uint64_t int_mask = 0xFFFFFFFF;
/// The mask of a socket's type; the higher bits are flags.
constexpr std::uint64_t type_mask = 0xF;

// Calls by their names, with a space between.
constexpr std::string_view files =
    "access chdir chmod chown chroot close close_range copy_file_range creat dup dup2 dup3 "
    "faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchown fchownat fcntl "
    "fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate "
    "futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init inotify_init1 "
    "inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek "
    "lsetxattr lstat memfd_create mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open "
    "openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead "
    "readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr "
    "splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask "
    "unlink unlinkat utime utimensat utimes vmsplice write writev";

constexpr std::string_view memory =
    "brk get_mempolicy madvise mbind membarrier mincore mlock mlock2 mlockall mmap mprotect mremap "
    "msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease "
    "process_vm_readv process_vm_writev remap_file_pages set_mempolicy shmat shmctl shmdt shmget";

constexpr std::string_view processes =
    "alarm arch_prctl capget capset execve execveat exit exit_group fork get_robust_list "
    "get_thread_area getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid "
    "getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get "
    "ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self modify_ldt "
    "pause pidfd_getfd pidfd_open pidfd_send_signal prctl prlimit64 ptrace restart_syscall rseq "
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp "
    "set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer "
    "setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack "
    "signalfd signalfd4 sysinfo tgkill times tkill uname vfork wait4 waitid";

constexpr std::string_view waiting =
    "clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_ctl_old "
    "epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 futex futex_waitv "
    "getrandom gettimeofday io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit "
    "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv "
    "msgsnd nanosleep poll ppoll pselect6 select semctl semget semop semtimedop time timer_create "
    "timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
    "timerfd_settime";

constexpr std::string_view network =
    "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg "
    "recvmsg sendmmsg sendmsg sendto setsockopt shutdown";

/// Refused with EPERM, which is clearer to users than "not implemented".
constexpr std::string_view refused =
    "acct add_key adjtimex bpf clock_adjtime clock_settime delete_module fanotify_init "
    "finit_module fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register "
    "io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie "
    "migrate_pages mount mount_setattr move_mount move_pages open_by_handle_at open_tree "
    "perf_event_open pivot_root process_madvise quotactl reboot request_key setns setdomainname "
    "sethostname settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup";

void add(Json& names, std::string_view list) {
  for (std::string& name : split(list, ' ')) names.push_back(std::move(name));
}

Json allow(const char* name, Json args) {
  return Json{
      {"names", Json::array({name})}, {"action", "SCMP_ACT_ALLOW"}, {"args", std::move(args)}};
}

Json refuse(const char* name, int code, Json args) {
  return Json{{"names", Json::array({name})},
              {"action", "SCMP_ACT_ERRNO"},
              {"errnoRet", code},
              {"args", std::move(args)}};
}

/// The only comparison that checks exactly the bits that the kernel uses.
Json masked(int index, std::uint64_t mask, std::uint64_t value) {
  return Json{{"index", index}, {"value", mask}, {"valueTwo", value}, {"op", "SCMP_CMP_MASKED_EQ"}};
}

/// Allows processes and threads, but no new namespaces. The kernel uses only the low half of the
/// flags; the rules check each bit separately.
void add_clone(Json& rules) {
  std::uint64_t all = 0;
  for (const std::uint64_t flag : namespace_flags) {
    all |= flag;
    rules.push_back(refuse("clone", EPERM, Json::array({masked(0, flag, flag)})));
  }
  rules.push_back(allow("clone", Json::array({masked(0, all, 0)})));
}

/// Matches every family except `allowed`, which are below 32. Rules are alternatives, and "not
/// equal" also compares the high half. The rules therefore match each bit that no allowed family
/// has, and each number of the other families.
void refuse_other_families(Json& rules, const char* call, const std::set<std::uint64_t>& allowed) {
  constexpr int small_bits = 5;
  for (int bit = small_bits; bit < 32; ++bit) {
    const std::uint64_t only = std::uint64_t{1} << bit;
    rules.push_back(refuse(call, EAFNOSUPPORT, Json::array({masked(0, only, only)})));
  }
  for (std::uint64_t family = 0; family < 1u << small_bits; ++family)
    if (!allowed.contains(family))
      rules.push_back(refuse(call, EAFNOSUPPORT, Json::array({masked(0, int_mask, family)})));
}

/// Refuses all netlink protocols except routing with the error of a kernel that lacks the protocol,
/// because PAM, and thus an image's sshd, treats any other error of the audit protocol as a
/// failure.
void refuse_other_netlink(Json& rules) {
  static_assert(NETLINK_ROUTE == 0);
  for (int bit = 0; bit < 32; ++bit) {
    const std::uint64_t only = std::uint64_t{1} << bit;
    Json args = Json::array({masked(0, int_mask, AF_NETLINK), masked(2, only, only)});
    rules.push_back(refuse("socket", EPROTONOSUPPORT, std::move(args)));
  }
}

/// Families for talking within a machine and over IP, and those parts of netlink that list
/// addresses. A request for an absent family or type would load the kernel's module for it,
/// whichever process asks. SOCK_PACKET also opens AF_PACKET sockets.
void add_sockets(Json& rules) {
  const auto add_types = [&](const char* call, int family, std::initializer_list<int> types) {
    for (const int type : types) {
      Json args = Json::array({masked(0, int_mask, static_cast<std::uint64_t>(family)),
                               masked(1, type_mask, static_cast<std::uint64_t>(type))});
      if (family == AF_NETLINK) args.push_back(masked(2, int_mask, NETLINK_ROUTE));
      rules.push_back(allow(call, std::move(args)));
    }
  };
  for (const char* call : {"socket", "socketpair"})
    add_types(call, AF_UNIX, {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET});
  for (const int family : {AF_INET, AF_INET6})
    add_types("socket", family, {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW});
  add_types("socket", AF_NETLINK, {SOCK_DGRAM, SOCK_RAW});
  refuse_other_netlink(rules);
  refuse_other_families(rules, "socket", {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK});
  refuse_other_families(rules, "socketpair", {AF_UNIX});
}

/// Calls that set a file's mode: the argument with the mode and, for calls that create a file only
/// with certain flags, the argument with the flags.
struct ModeCall {
  const char* name;
  int mode;
  int flags = -1;
};
constexpr ModeCall mode_calls[] = {{"chmod", 1}, {"fchmod", 1},  {"fchmodat", 2}, {"creat", 1},
                                   {"mknod", 1}, {"mknodat", 2}, {"open", 2, 1},  {"openat", 3, 2}};

/// Removes these calls from `allowed`, and allows them only without setuid and setgid bits.
void refuse_set_ids(Json& allowed, Json& rules) {
  constexpr std::uint64_t makes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  const auto take_out = [&allowed](const std::string& name) {
    allowed.erase(std::remove(allowed.begin(), allowed.end(), name), allowed.end());
  };
  for (const char* name : {"openat2", "fchmodat2"}) take_out(name);
  for (const ModeCall& call : mode_calls) {
    take_out(call.name);
    rules.push_back(allow(call.name, Json::array({masked(call.mode, S_ISUID | S_ISGID, 0)})));
    if (call.flags >= 0)  // Without a new file, the kernel ignores the mode.
      rules.push_back(allow(call.name, Json::array({masked(call.flags, makes, 0)})));
    for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}}) {
      if (call.flags < 0) {
        rules.push_back(refuse(call.name, EPERM, Json::array({masked(call.mode, bit, bit)})));
        continue;
      }
      for (const std::uint64_t flag : {std::uint64_t{O_CREAT}, makes & ~std::uint64_t{O_CREAT}})
        rules.push_back(
            refuse(call.name, EPERM,
                   Json::array({masked(call.mode, bit, bit), masked(call.flags, flag, flag)})));
    }
  }
}

}  // namespace

Json seccomp_profile(bool may_set_ids) {
  Json allowed = Json::array();
  add(allowed, files);
  add(allowed, memory);
  add(allowed, processes);
  add(allowed, waiting);
  add(allowed, network);
  Json denied = Json::array();
  add(denied, refused);

  Json rules = Json::array();
  if (!may_set_ids) refuse_set_ids(allowed, rules);
  rules.push_back({{"names", allowed}, {"action", "SCMP_ACT_ALLOW"}});
  rules.push_back({{"names", denied}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", EPERM}});
  add_clone(rules);
  add_sockets(rules);
  for (const std::uint64_t persona : {0x0u, 0x8u, 0x20000u, 0x20008u, 0xFFFFFFFFu, 0x40000u})
    rules.push_back(allow("personality", Json::array({masked(0, int_mask, persona)})));
  return Json{{"defaultAction", "SCMP_ACT_ERRNO"},
              {"defaultErrnoRet", ENOSYS},
              {"architectures", Json::array({"SCMP_ARCH_X86_64"})},
              {"syscalls", rules}};
}

}  // namespace muster::container
