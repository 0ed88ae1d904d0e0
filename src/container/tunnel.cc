#include "container/tunnel.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "container/kernel_file.h"
#include "container/link.h"
#include "container/nft.h"
#include "container/segment.h"
#include "container/tool.h"
#include "supervise/spawn.h"

namespace muster::container {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t key_file_bytes_max = 4096;
constexpr std::chrono::milliseconds answer_limit{60000};
constexpr const char* tun_device = "/dev/net/tun";
/// Where wireguard-go looks for its socket's file, by which somebody could end it.
constexpr const char* socket_folder = "/wireguard";
constexpr const char* socket_name = "/wireguard/eth0.sock";

Result<void> run_ip(const std::string& lines, const Env& env) {
  const Result<std::string> ip = find_tool("ip", env);
  if (!ip) return fail(Errc::not_found, "ip is not installed (Debian: iproute2)");
  return run_tool({*ip, "-batch", "-"}, lines);
}

Result<std::string> key_of(const job::HostSpec& spec) {
  const std::string text = TRY(read_file(spec.key_file, key_file_bytes_max));
  std::optional<std::string> key = from_hex(trim(text));
  if (key && key->size() == key_bytes) return *std::move(key);
  return fail(Errc::system, spec.key_file + ": expected a key of 64 hex digits");
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(Errc::system, path + ": too long for a socket's name");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Fd> listen_at(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = TRY(unix_address(path));
  const bool bound = socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                                      sizeof address) == 0;
  if (bound && ::listen(socket.get(), 1) == 0) return socket;
  return fail_errno(path);
}

/// In a mount namespace of the calling process: a folder for the socket that no other process sees,
/// and /dev/net/tun as the host's root's, whom the machine's may not be open to.
Result<Fd> make_place(const IdMap& ids, const std::string& run_folder) {
  const std::string own_tun = run_folder + "/tun";
  struct stat tun {};
  if (::stat(tun_device, &tun) != 0) return fail_errno(tun_device);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("muster", run_folder.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") !=
          0 ||
      ::mkdir((run_folder + socket_folder).c_str(), 0700) != 0 ||
      ::mknod(own_tun.c_str(), S_IFCHR | 0600, tun.st_rdev) != 0 ||
      ::mount(own_tun.c_str(), tun_device, nullptr, MS_BIND, nullptr) != 0)
    return fail_errno(run_folder);
  Fd listener = TRY(listen_at(run_folder + socket_name));
  for (const std::string& path : {run_folder + socket_folder, run_folder + socket_name, own_tun})
    TRY(give(path, ids));
  return listener;
}

Result<void> become_host_root(const IdMap& ids) {
  if (!ids) return {};
  if (::setns(ids.user_namespace, CLONE_NEWUSER) == 0 && ::setresgid(0, 0, 0) == 0 &&
      ::setgroups(0, nullptr) == 0 && ::setresuid(0, 0, 0) == 0)
    return {};
  return fail_errno("the host's user namespace");
}

/// In the child: only returns if it cannot become the program.
Error become(const Command& command, int network, const IdMap& ids, const std::string& run_folder,
             int ready, pid_t parent) {
  if (::setns(network, CLONE_NEWNET) != 0) return fail_errno("entering a network namespace");
  const Fd listener = TRY(make_place(ids, run_folder));
  TRY(become_host_root(ids));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Not before: new credentials take it back.
  if (::getppid() != parent) return fail(Errc::closed, "the steward is gone");
  if (::dup2(listener.get(), 0) < 0 || ::dup2(2, 1) < 0) return fail_errno("descriptors");
  if (::write(ready, "+", 1) != 1) return fail_errno("pipe");
  return supervise::replace_self(command);
}

Result<Fd> connected(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = TRY(unix_address(path));
  if (socket &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return socket;
  return fail_errno(path);
}

/// Sends wireguard-go a request, which it takes when it has made its interface.
Result<void> told(const std::string& path, const std::string& request) {
  const Fd socket = TRY(connected(path));
  TRY(write_all(socket.get(), request));
  pollfd answer{socket.get(), POLLIN, 0};
  int polled = 0;
  do polled = ::poll(&answer, 1, static_cast<int>(answer_limit.count()));
  while (polled < 0 && errno == EINTR);
  if (polled != 1) return fail(Errc::timeout, "wireguard-go does not respond");
  std::string text(256, '\0');
  const ssize_t count = ::read(socket.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (text.starts_with("errno=0\n")) return {};
  return fail(Errc::system, text.empty() ? "wireguard-go ended at its start: see steward.log"
                                         : "wireguard-go: " + to_utf8(trim(text)));
}

Result<pid_t> start_wireguard_go(int network, const IdMap& ids, const std::string& run_folder,
                                 const Env& env) {
  const Command command{
      .argv = {TRY(find_tool("wireguard-go", env)), "-f", "eth0"},
      .env = {{"WG_UAPI_FD", "0"}, {"WG_PROCESS_FOREGROUND", "1"}, {"LOG_LEVEL", "error"}},
      .cwd = "/"};
  Pipe ready = TRY(make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) {
    const Error error = become(command, network, ids, run_folder, ready.write.get(), parent);
    static_cast<void>(write_all(2, "wireguard-go: " + error.text + "\n"));
    ::_exit(127);
  }
  ready.write.reset();
  char byte = 0;
  ssize_t count = 0;
  do count = ::read(ready.read.get(), &byte, 1);
  while (count < 0 && errno == EINTR);
  if (count == 1) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return fail(Errc::system, "wireguard-go could not be started: see steward.log");
}

/// The cable's answers come for an address whose route leads elsewhere.
Result<void> take_from_cable() {
  for (const std::string name : {"all", cable_beside_tunnel})
    TRY(tell_kernel("/proc/sys/net/ipv4/conf/" + name + "/rp_filter", "0"));
  return disable_ipv6(cable_beside_tunnel);
}

}  // namespace

Result<Cipher> find_cipher(const Env& env) {
  TRY(find_nft(env));
  const Result<std::string> ip = find_tool("ip", env);
  if (!ip) return fail(Errc::not_found, "ip is not installed (Debian: iproute2)");
  const bool has_wireguard = run_ip(probe(Cipher::wireguard), env).has_value();
  if (has_wireguard && find_tool("wg", env)) return Cipher::wireguard;
  if (run_ip(probe(Cipher::esp), env)) return Cipher::esp;
  const bool has_program = find_tool("wireguard-go", env).has_value();
  const bool has_tun = ::access(tun_device, R_OK | W_OK) == 0;
  if (has_program && has_tun) return Cipher::wireguard_go;
  std::string why = has_wireguard ? "wg, for the kernel's WireGuard, is not installed (Debian: "
                                    "wireguard-tools)"
                                  : "the kernel has no WireGuard (modprobe wireguard)";
  why += ", the kernel has no ESP (modprobe esp4), and ";
  why += has_program ? "there is no /dev/net/tun for wireguard-go (modprobe tun)"
                     : "wireguard-go is not installed (Debian: wireguard-go)";
  return fail(Errc::not_found, why);
}

Result<Process> run_wireguard_go(const job::HostSpec& spec, int network, const IdMap& ids,
                                 const Env& env) {
  const std::string job_key = TRY(key_of(spec));
  std::error_code code;
  // Through /proc/<pid>/root a link would lead back to our own folders.
  const std::string run_folder = std::filesystem::canonical("/var/run", code);
  if (code) return fail(Errc::system, "/var/run: " + code.message());
  const pid_t pid = TRY(start_wireguard_go(network, ids, run_folder, env));
  Process process = TRY(Process::open(pid));
  const std::string path = "/proc/" + std::to_string(pid) + "/root" + run_folder + socket_name;
  const Result<void> taken = told(path, wireguard_request(spec, job_key));
  if (taken) return process;
  process.signal(SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return taken.error();
}

Result<void> lay_tunnel(const job::HostSpec& spec, Cipher cipher, const Env& env) {
  const std::string job_key = TRY(key_of(spec));
  if (spec.spec.vpc) TRY(run_nft(tunnel_rules(spec), env));
  if (cipher == Cipher::esp) return run_ip(esp_states(spec, job_key), env);
  TRY(take_from_cable());
  TRY(run_ip(cable_links(spec), env));
  if (cipher != Cipher::wireguard) return {};
  TRY(run_ip("link add eth0 type wireguard\n", env));
  const std::string wg = TRY(find_tool("wg", env));
  return run_tool({wg, "setconf", "eth0", "/dev/stdin"}, wireguard_config(spec, job_key));
}

Result<void> link_tunnel(const job::HostSpec& spec, Cipher cipher, bool outside, const Env& env) {
  if (cipher != Cipher::esp) return run_ip(tunnel_links(spec, outside), env);
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  return connect_host(socket.get(), spec, outside);
}

}  // namespace muster::container
