#include "image/kept/engine_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/variables.h"
#include "image/layers/child.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

constexpr auto tick = std::chrono::milliseconds(200);
constexpr std::size_t said_bytes_max = 16u << 10;  ///< The end of what skopeo writes.
constexpr const char* default_engine = "unix:///var/run/docker.sock";

/// What `docker` would ask.
std::string engine_of(const Env& env) {
  const std::string host = value_of(env, "DOCKER_HOST");
  return host.empty() ? default_engine : host;
}

/// The text of the last msg="…" of log lines; without one the last line.
std::string last_message(std::string_view said) {
  constexpr std::string_view start = "msg=\"";
  const std::size_t at = said.rfind(start);
  std::string text;
  if (at == std::string_view::npos) {
    while (said.ends_with('\n')) said.remove_suffix(1);
    return std::string(said.substr(said.rfind('\n') + 1));
  }
  for (std::size_t i = at + start.size(); i < said.size() && said[i] != '"'; ++i) {
    if (said[i] == '\\' && i + 1 < said.size()) ++i;
    text += said[i];
  }
  return text;
}

std::string list_command(const Reference& from) {
  return from.transport == Reference::Transport::docker_daemon ? "docker images" : "podman images";
}

/// Files of a folder that has no others.
std::uint64_t bytes_in(const std::string& folder) {
  const Result<std::vector<std::string>> names = names_in(folder);
  std::uint64_t bytes = 0;
  if (!names) return bytes;
  for (const std::string& name : *names) {
    struct stat status {};
    if (::lstat((folder + "/" + name).c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

/// Whether a copy goes on, judged at each tick.
class Watchdog {
 public:
  Watchdog(const std::string& folder, const CopyOptions& options)
      : folder_(folder), options_(options), moved_(Clock::now()) {}
  Result<void> check(bool said) {
    const std::uint64_t bytes = bytes_in(folder_ + "/image") + bytes_in(folder_ + "/tmp");
    const TimePoint now = Clock::now();
    if (bytes != bytes_ || said) moved_ = now;
    bytes_ = bytes;
    if (options_.on_progress) options_.on_progress(bytes);
    if (bytes / 2 > options_.bytes_max)
      return fail(Errc::protocol, "the image exceeds the size limit");
    if (now - moved_ > options_.idle_max)
      return fail(Errc::timeout, "the engine stopped sending data");
    return {};
  }

 private:
  const std::string& folder_;
  const CopyOptions& options_;
  TimePoint moved_;
  std::uint64_t bytes_ = 0;
};

/// Whether `fd` is readable within a tick.
Result<bool> wait_a_tick(int fd) {
  pollfd watched{fd, POLLIN, 0};
  const int count = ::poll(&watched, 1, static_cast<int>(tick.count()));
  if (count < 0 && errno != EINTR) return fail_errno("cannot wait for the engine");
  return count > 0;
}

/// What the program wrote, once it has ended.
Result<std::string> read_to_end(const Child& program, int out, Watchdog& watchdog) {
  std::string said;
  std::array<char, 4096> piece{};
  while (true) {
    const bool readable = TRY(wait_a_tick(out));
    TRY(watchdog.check(readable));
    if (!readable) continue;
    const ssize_t count = ::read(out, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read from the engine");
    if (count == 0) break;
    said.append(piece.data(), static_cast<std::size_t>(count));
    if (said.size() > said_bytes_max) said.erase(0, said.size() - said_bytes_max);
  }
  while (!TRY(wait_a_tick(program.pidfd().get()))) TRY(watchdog.check(false));
  return said;
}

}  // namespace

Result<Command> copy_command(const Reference& from, const std::string& folder, const Env& env) {
  Command command{{"skopeo", "--tmpdir", folder + "/tmp", "copy"}, env, "/"};
  if (from.transport == Reference::Transport::docker_daemon) {
    std::string host = engine_of(env);
    constexpr std::string_view tcp = "tcp://";
    const bool tls = !value_of(env, "DOCKER_TLS_VERIFY").empty();
    if (host.starts_with("ssh://"))
      return fail(Errc::unsupported,
                  "DOCKER_HOST=" + packing::shown(host) +
                      ": engines over ssh are not supported; run docker save NAME "
                      "-o FILE, then sm image import docker-archive:FILE");
    // To skopeo tcp:// is TLS.
    if (host.starts_with(tcp) && !tls) host.replace(0, tcp.size(), "http://");
    command.argv.insert(command.argv.end(), {"--src-daemon-host", host});
    const std::string certificates = value_of(env, "DOCKER_CERT_PATH");
    if (tls && !certificates.empty())
      command.argv.insert(command.argv.end(), {"--src-cert-dir", certificates});
  }
  command.argv.insert(command.argv.end(), {to_text(from), "dir:" + folder + "/image"});
  return command;
}

Error copy_error(const Reference& from, const Env& env, std::string_view said) {
  const std::string message = last_message(said);
  const auto has = [&](std::string_view words) { return message.find(words) != std::string::npos; };
  if (has("Cannot connect to the Docker daemon") ||
      has("permission denied while trying to connect"))
    return fail(Errc::system,
                "no Docker engine responds at " + packing::shown(engine_of(env)) +
                    "; start the engine, or set DOCKER_HOST to another engine (with sudo: "
                    "--preserve-env=DOCKER_HOST)");
  if (has("reference does not exist") || has("No such image") ||
      has("does not resolve to an image ID"))
    return fail(Errc::not_found,
                "image not found; " + list_command(from) + " lists the existing images");
  return fail(Errc::system, "skopeo: " + (message.empty() ? "it failed without an error message"
                                                          : packing::shown(message)));
}

Result<void> copy_from_engine(const Reference& from, const std::string& folder,
                              const CopyOptions& options) {
  const Command command = TRY(copy_command(from, folder, options.env));
  TRY(make_folders(folder + "/tmp", 0700));
  Pipe out = TRY(make_pipe());
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return fail_errno("cannot open /dev/null");
  supervise::Stdio stdio;
  stdio.in = nothing.get();
  stdio.out = out.write.get();
  stdio.err = out.write.get();
  Result<Child> program = Child::start(command, stdio);
  if (!program && program.error().code == Errc::not_found)
    return fail(Errc::not_found,
                "skopeo is not installed, but muster requires it to copy images from engines: run "
                "apt install skopeo; or run docker save NAME -o FILE, then sm image import "
                "docker-archive:FILE");
  if (!program) return program.error();
  out.write.reset();
  Watchdog watchdog(folder, options);
  const std::string said = TRY(read_to_end(*program, out.read.get(), watchdog));
  static_cast<void>(program->reap());
  // skopeo writes it last; the blobs are checked by their digests.
  if (::access((folder + "/image/manifest.json").c_str(), F_OK) != 0)
    return copy_error(from, options.env, said);
  return {};
}

}  // namespace muster::image
