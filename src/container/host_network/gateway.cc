#include "container/host_network/gateway.h"

#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "container/host_network/link.h"
#include "container/host_network/nft.h"
#include "container/kernel_file.h"
#include "net/addresses/default_route.h"

namespace muster::container {
namespace {

constexpr const char* notes_folder = "/run/muster/gateways";
/// The interface on which muster enabled forwarding, on a machine that otherwise does not forward
/// packets.
constexpr const char* forwarding_note = "/run/muster/forwarding";

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

/// Makes the machine forward packets that arrive on `uplink`, unless it already does, because
/// replies arrive there.
Result<void> hand_on(const Outside& outside) {
  if (is_on(outside.uplink)) return {};
  TRY(write_file(forwarding_note, outside.uplink + "\n", 0600));
  return tell_kernel(setting(outside.uplink), "1");
}

/// Undoes hand_on() if no gateway is left and the machine was not made a router in the meantime.
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
  // Only IPv4 is routed.
  TRY(disable_ipv6(outside.gateway));
  TRY(tell_kernel(setting(outside.gateway), "1"));
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot open a socket");
  TRY(set_address(socket.get(), outside.gateway, outside.outer_address, gateway_prefix_length));
  TRY(set_up(socket.get(), outside.gateway));
  TRY(add_route(socket.get(), outside.subnet_start, 24, outside.inner_address));
  return hand_on(outside);
}

/// The caller holds the lock of the notes.
Result<void> take_away(const std::string& bridge, const Env& env) {
  TRY(remove_link(bridge + "-gw"));
  // Deleting a missing table is an error, so it is created first, which is not an error if it
  // exists.
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
  const Result<Fd> lock = lock_notes();  // A gateway is recorded before it is created.
  std::vector<std::string> dead;
  for (const std::string& bridge : *noted) {
    const Result<std::string> folder = read_file(note_of(bridge));
    if (folder && !is_living(trim(*folder))) dead.push_back(bridge);
  }
  return dead;
}

}  // namespace muster::container
