#include "container/gateway.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/default_route.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/text.h"
#include "container/link.h"
#include "supervise/spawn.h"

namespace muster::container {
namespace {

constexpr const char* notes_folder = "/run/muster/gateways";
/// The interface that was told to hand packets on, though the machine hands none on otherwise.
constexpr const char* forwarding_note = "/run/muster/forwarding";
constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
constexpr int nft_ms_max = 20'000;
constexpr std::size_t complaint_bytes_max = 4096;

Result<Fd> lock_notes() {
  TRY(make_folders(notes_folder, 0700));
  return wait_for_lock(std::string(notes_folder) + ".lock");
}

std::string note_of(const std::string& bridge) {
  return std::string(notes_folder) + "/" + bridge;
}

std::string setting(const std::string& name) {
  return "/proc/sys/net/ipv4/conf/" + name + "/forwarding";
}

bool is_on(const std::string& name) {
  return trim(read_file(setting(name)).value_or("")) == "1";
}

/// Writes into a file of the kernel's, which must not be replaced.
Result<void> tell_kernel(const std::string& path, const std::string& text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(path);
  return write_all(fd.get(), text);
}

Result<std::string> find_nft(const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search = (path == env.end() ? "" : path->second) + administrators_path;
  Result<std::string> nft = supervise::find_program("nft", {{"PATH", search}}, "/");
  if (!nft) return fail(Errc::not_found, "nft is not installed (Debian: nftables)");
  return nft;
}

/// Waits for the end of a child of ours; kills it when its time is over.
Result<void> ended(pid_t pid, const Fd& complaints) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{pidfd.get(), POLLIN, 0};
  int polled = 0;
  do polled = ::poll(&end, 1, nft_ms_max);
  while (polled < 0 && errno == EINTR);
  if (polled != 1) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (polled != 1) return fail(Errc::timeout, "nft: no answer within 20 s");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said(complaint_bytes_max, '\0');
  const ssize_t count = ::pread(complaints.get(), said.data(), said.size(), 0);
  said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string line = to_utf8(said.substr(0, said.find('\n')));
  return fail(Errc::system, "nft: " + (line.empty() ? "it failed without a word" : line));
}

/// Has nft carry out `text`, whole or not at all.
Result<void> run_nft(const std::string& text, const Env& env) {
  const std::string nft = TRY(find_nft(env));
  const Fd input(::memfd_create("rules", MFD_CLOEXEC));
  const Fd complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!input || !complaints) return fail_errno("memfd");
  TRY(write_all(input.get(), text));
  if (::lseek(input.get(), 0, SEEK_SET) != 0) return fail_errno("memfd");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("/dev/null");
  const supervise::Stdio stdio{input.get(), null.get(), complaints.get(), {}};
  const Command command{
      .argv = {nft, "-f", "-"}, .env = {{"PATH", administrators_path}}, .cwd = {}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {}));
  return ended(pid, complaints);
}

/// Has the machine hand on what comes in by `uplink`, where it does not anyway: answers do.
Result<void> hand_on(const Outside& outside) {
  if (is_on(outside.uplink)) return {};
  TRY(write_file(forwarding_note, outside.uplink + "\n", 0600));
  return tell_kernel(setting(outside.uplink), "1");
}

/// Undoes hand_on() if no gateway is left and nobody has meanwhile made a router of the machine.
Result<void> stop_handing_on() {
  const Result<std::vector<std::string>> left = names_in(notes_folder);
  if (left && !left->empty()) return {};
  const std::string uplink = trim(read_file(forwarding_note).value_or(""));
  if (uplink.empty()) return {};
  ::unlink(forwarding_note);
  if (is_on("all") || ::if_nametoindex(uplink.c_str()) == 0) return {};
  return tell_kernel(setting(uplink), "0");
}

Result<void> make_gateway(const Outside& outside, int inner) {
  TRY(make_cable(outside.gateway, inner_gateway, inner));
  // Only IPv4 is routed; where there is no IPv6 the setting is missing, too.
  const std::string ipv6 = "/proc/sys/net/ipv6/conf/" + outside.gateway + "/disable_ipv6";
  if (::access(ipv6.c_str(), F_OK) == 0) TRY(tell_kernel(ipv6, "1"));
  TRY(tell_kernel(setting(outside.gateway), "1"));
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  TRY(set_address(socket.get(), outside.gateway, outside.outer_address, gateway_prefix_length));
  TRY(set_up(socket.get(), outside.gateway));
  TRY(add_route(socket.get(), outside.subnet_start, 24, outside.inner_address));
  return hand_on(outside);
}

/// With the lock of the notes.
Result<void> take_away(const std::string& bridge, const Env& env) {
  TRY(remove_link(bridge + "-gw"));
  // Deleting what is not there is an error: so it is made first, which is none if it is there.
  TRY(run_nft("add table inet " + bridge + "\ndelete table inet " + bridge + "\n", env));
  ::unlink(note_of(bridge).c_str());
  return stop_handing_on();
}

}  // namespace

Result<Outside> open_gateway(const job::HostSpec& spec, int inner, const Env& env) {
  TRY(find_nft(env));
  const std::string uplink = default_route_interface(TRY(read_file("/proc/net/route")));
  if (uplink.empty()) return fail(Errc::not_found, "the machine has no default route");
  const Fd lock = TRY(lock_notes());
  const bool is_ours = trim(read_file(forwarding_note).value_or("")) == uplink;
  const bool is_router = is_on("all") || (is_on(uplink) && !is_ours);
  const Outside outside = TRY(outside_of(spec, uplink, !is_router));
  TRY(write_file(note_of(spec.bridge), spec.job_folder + "\n", 0600));
  Result<void> made = run_nft(rules(outside), env);
  if (made) made = make_gateway(outside, inner);
  if (made) return outside;
  static_cast<void>(take_away(spec.bridge, env));
  return made.error();
}

Result<void> close_gateway(const std::string& bridge, const Env& env) {
  if (::access(note_of(bridge).c_str(), F_OK) != 0) return {};
  const Fd lock = TRY(lock_notes());
  return take_away(bridge, env);
}

std::vector<std::string> dead_gateways(
    const std::function<bool(const std::string& job_folder)>& is_living) {
  const Result<std::vector<std::string>> noted = names_in(notes_folder);
  if (!noted || noted->empty()) return {};
  const Result<Fd> lock = lock_notes();  // Who makes one has noted it before.
  std::vector<std::string> dead;
  for (const std::string& bridge : *noted) {
    const Result<std::string> folder = read_file(note_of(bridge));
    if (folder && !is_living(trim(*folder))) dead.push_back(bridge);
  }
  return dead;
}

}  // namespace muster::container
