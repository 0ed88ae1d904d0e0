#include "machine/housing/bring.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "container/bundle/bundle.h"
#include "machine/housing/folders.h"
#include "net/loop/wait.h"

namespace muster::steward {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string amount(const s3client::Fetched& fetched, Duration took) {
  const double seconds = std::max(0.001, std::chrono::duration<double>(took).count());
  const double megabytes = static_cast<double>(fetched.bytes) / 1e6;
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%llu %s, %.1f MB in %.1f s (%.0f MB/s)",
                static_cast<unsigned long long>(fetched.files),
                fetched.files == 1 ? "object" : "objects", megabytes, seconds, megabytes / seconds);
  return text.data();
}

/// The hosts that get a channel, in the job's order.
std::vector<std::string> takers(const job::HostSpec& spec, const job::InputChannel& channel) {
  std::vector<std::string> hosts;
  for (const job::HostAddress& host : spec.hosts)
    if (job::has_channel(spec.spec, host.name, channel)) hosts.push_back(host.name);
  return hosts;
}

void share_out(const job::HostSpec& spec, const job::InputChannel& channel,
               s3client::FetchRules& rules) {
  const std::vector<std::string> hosts = takers(spec, channel);
  const auto own = std::find(hosts.begin(), hosts.end(), spec.host);
  rules.shares = hosts.size();
  rules.share = own == hosts.end() ? 0 : static_cast<std::size_t>(own - hosts.begin());
}

struct Way {
  loop::Loop& loop;
  std::shared_ptr<s3client::S3State> s3;
  s3client::FetchStop& stop;
  Tell tell;
};

/// Finds and fetches a channel into the new folder `to`.
loop::Task<Result<void>> fetch(Way way, job::HostSpec spec, job::InputChannel channel,
                               std::string to) {
  Result<s3wire::S3Url> url = s3wire::parse_s3_prefix(channel.s3.url);
  if (!url) co_return url.error();
  s3client::ChannelSource source{*std::move(url), channel.s3.manifest, channel.s3.etag};
  source.rules.gzip = channel.s3.gzip;
  if (channel.s3.sharded) share_out(spec, channel, source.rules);
  const TimePoint begun = Clock::now();
  s3client::FetchOptions options;
  options.stop = &way.stop;
  Result<s3client::Fetched> fetched =
      co_await s3client::fetch_channel(way.s3, std::move(source), to, options);
  if (!fetched) co_return fetched.error();
  way.tell("channel " + channel.name + ": " + amount(*fetched, Clock::now() - begun),
           fetched->bytes);
  if (fetched->files == 0)
    way.tell("channel " + channel.name +
                 ": there are fewer objects than hosts, so there is none for " + spec.host,
             0);
  co_return Result<void>();
}

/// The right to fetch a shared channel: a lock that is released when its holder ends. Waits for the
/// lock, or until the channel exists; then the descriptor is empty. A holder that ends closes its
/// descriptor, and inotify reports that.
loop::Task<Result<Fd>> take_turn(Way way, std::string folder, std::string target) {
  const Fd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify ||
      ::inotify_add_watch(inotify.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
    co_return fail_errno("cannot watch " + folder);
  Fd lock(::open((target + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) co_return fail_errno("cannot lock " + target + ".lock");
  loop::Watch watch(way.loop, inotify.get());
  std::array<char, 4096> events;
  while (!exists(target)) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      if (exists(target)) break;
      co_return lock;
    }
    const bool told = co_await watch.readable();
    if (!told) co_return fail(Errc::closed, "stopped");
    while (::read(inotify.get(), events.data(), events.size()) > 0) continue;
  }
  co_return Fd();
}

loop::Task<Result<void>> fetch_shared(Way way, job::HostSpec spec, job::InputChannel channel,
                                      std::string target) {
  const std::string folder = target.substr(0, target.rfind('/'));
  if (Result<void> made = make_folders(folder, 0700); !made) co_return made.error();
  Result<Fd> turn = co_await take_turn(way, folder, target);
  if (!turn) co_return turn.error();
  if (!*turn) co_return Result<void>();  // Another host's steward downloaded it.
  const std::string partial = target + ".partial";
  Result<void> done = remove_tree(partial);  // The leftovers of a killed steward.
  if (!done) co_return done;
  done = co_await fetch(way, spec, channel, partial);
  if (!done) co_return done;
  if (::rename(partial.c_str(), target.c_str()) != 0)
    co_return fail_errno("cannot create " + target);
  co_return Result<void>();
}

/// All files that an earlier run kept; there may be none.
loop::Task<Result<void>> restore(Way way, job::HostSpec spec) {
  std::string to = container::ml_folder(spec) + "/checkpoints";
  Result<s3wire::S3Url> url = s3wire::parse_s3_prefix(spec.spec.checkpoint_url);
  if (!url) co_return url.error();
  if (!url->key.empty() && !url->key.ends_with('/')) url->key += '/';
  s3client::ChannelSource source{.url = *std::move(url), .may_be_empty = true};
  s3client::FetchOptions options;
  options.stop = &way.stop;
  const TimePoint begun = Clock::now();
  const Result<s3client::Fetched> all =
      co_await s3client::fetch_channel(way.s3, std::move(source), std::move(to), options);
  if (!all) co_return all.error();
  if (all->files > 0) way.tell("checkpoints: " + amount(*all, Clock::now() - begun), all->bytes);
  co_return Result<void>();
}

}  // namespace

bool needs_s3(const job::Spec& spec) {
  return !spec.checkpoint_url.empty() ||
         std::any_of(spec.input.begin(), spec.input.end(),
                     [](const job::InputChannel& channel) { return !channel.s3.url.empty(); });
}

std::string shared_channel(const job::HostSpec& spec, const job::InputChannel& channel) {
  if (channel.s3.url.empty() || channel.s3.sharded || spec.light || spec.in_step) return {};
  if (takers(spec, channel).size() < 2) return {};
  return spec.job_folder + "/input/" + channel.name;
}

loop::Task<Result<void>> bring(loop::Loop& loop, job::HostSpec spec,
                               std::shared_ptr<s3client::S3State> s3, s3client::FetchStop& stop,
                               Tell tell) {
  const Way way{loop, std::move(s3), stop, std::move(tell)};
  for (const job::InputChannel& channel : spec.spec.input) {
    if (channel.s3.url.empty() || !job::has_channel(spec.spec, spec.host, channel)) continue;
    const std::string shared = shared_channel(spec, channel);
    const std::string own = container::ml_folder(spec) + "/input/data/" + channel.name;
    Result<void> done;
    if (shared.empty())
      done = co_await fetch(way, spec, channel, own);
    else
      done = co_await fetch_shared(way, spec, channel, shared);
    if (!done) co_return done.error().in("channel " + channel.name);
  }
  if (spec.spec.checkpoint_url.empty()) co_return Result<void>();
  Result<void> restored = co_await restore(way, spec);
  if (!restored) co_return restored.error().in("checkpoints");
  co_return restored;
}

}  // namespace muster::steward
