#include "container/host_network/slirp.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "container/host_network/gateway.h"
#include "container/host_network/outside.h"
#include "container/tool.h"
#include "net/addresses/interfaces.h"
#include "os/supervise/spawn.h"

namespace muster::container {
namespace {

/// The subnet of slirp4netns; reserved for benchmarks (RFC 2544), so few sites use it.
constexpr const char* slirp_subnet = "198.18.0.0/24";
constexpr int ready_number = 3;
constexpr int exit_number = 4;
constexpr int namespace_number = 5;
constexpr int ready_ms = 10'000;
constexpr std::size_t complaint_bytes_max = 4096;

/// True if a byte arrived; false at the end of the file or at the time limit.
bool is_ready(const Fd& from) {
  pollfd ready{from.get(), POLLIN, 0};
  int polled = 0;
  do polled = ::poll(&ready, 1, ready_ms);
  while (polled < 0 && errno == EINTR);
  char word = 0;
  return polled == 1 && ::read(from.get(), &word, 1) == 1;
}

std::string first_line(const Fd& complaints) {
  std::string said(complaint_bytes_max, '\0');
  const ssize_t count = ::pread(complaints.get(), said.data(), said.size(), 0);
  said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return to_utf8(said.substr(0, said.find('\n')));
}

}  // namespace

std::string slirp_rules(const std::vector<std::string>& machine_addresses) {
  std::string closed = std::string(forbidden_outside) + ", " + slirp_subnet;
  for (const std::string& address : machine_addresses)
    if (!address.starts_with("127.")) closed += ", " + address;
  const std::string out = std::string("\"") + inner_gateway + "\"";
  return "table inet slirp {\n"
         "  set closed { type ipv4_addr; flags interval; auto-merge; elements = { " +
         closed +
         " }; }\n"
         "  chain passing {\n"
         "    type filter hook forward priority -10; policy accept;\n"
         "    ct state established,related accept\n"
         "    iifname " +
         out +
         " drop\n"
         "    oifname " +
         out +
         " meta nfproto != ipv4 drop\n"
         "    oifname " +
         out +
         " ip daddr @closed drop\n"
         "    oifname " +
         out + " ct count over " + std::to_string(outside_connections_max) +
         " drop\n"
         "  }\n"
         "  chain leaving {\n"
         "    type nat hook postrouting priority 100; policy accept;\n"
         "    oifname " +
         out +
         " masquerade\n"
         "  }\n"
         "}\n";
}

Result<std::vector<std::string>> machine_addresses() {
  std::vector<std::string> found;
  for (const InterfaceAddress& each : TRY(interface_addresses()))
    if (each.is_v4) found.push_back(each.address);
  return found;
}

Result<Fd> start_slirp(const Fd& inner, const Env& env) {
  const Result<std::string> program = find_tool("slirp4netns", env);
  if (!program)
    return fail(Errc::not_found, "slirp4netns is not installed (Debian package: slirp4netns)");
  Pipe ready = TRY(make_pipe());
  Pipe life = TRY(make_pipe());
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!null || !complaints) return fail_errno("cannot open a file for the output of slirp4netns");
  const supervise::Stdio stdio{null.get(),
                               null.get(),
                               complaints.get(),
                               {{ready_number, ready.write.get()},
                                {exit_number, life.read.get()},
                                {namespace_number, inner.get()}}};
  const Command command{
      .argv = {*program, "--configure", "--disable-host-loopback", "--disable-dns", "--mtu=65520",
               std::string("--cidr=") + slirp_subnet, "--ready-fd=" + std::to_string(ready_number),
               "--exit-fd=" + std::to_string(exit_number), "--netns-type=path",
               "/proc/self/fd/" + std::to_string(namespace_number), inner_gateway},
      .env = {{"PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"}},
      .cwd = "/"};
  TRY(supervise::spawn(command, stdio, {.own_session = true}));
  ready.write.reset();
  life.read.reset();
  if (is_ready(ready.read)) return std::move(life.write);
  const std::string said = first_line(complaints);
  return fail(Errc::system, "slirp4netns: " + (said.empty() ? std::string("did not start") : said));
}

}  // namespace muster::container
