// The web page's view of the machine: its resources, the running jobs that use them, and the
// waiting jobs.

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/process/machine_memory.h"
#include "net/loop/other_loop.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/usage_series.h"
#include "server/store/metric_reader.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;
using store::MetricReader;

constexpr std::int64_t block_bytes = 512;  ///< The unit of st_blocks in stat(2).

/// Adds a host's use between its last two samples to `used`.
Result<void> add_use(MetricReader& reader, const std::string& job, const store::HostSpan& host,
                     Json& used) {
  std::optional<store::HostSample> before;
  const UnixMillis end = host.last + UnixMillis(1);
  const auto take = [&](const store::HostSample& now) {
    using cloudwatch::Measure;
    const std::optional<double> busy =
        cloudwatch::value_between(before.value_or(now), now, Measure::processor);
    if (before)
      used["cpu"] = used.value("cpu", std::int64_t{0}) + std::llround(busy.value_or(0) * 1000);
    if (now.time == host.last) used["memory"] = used.value("memory", std::int64_t{0}) + now.memory;
    before = now;
  };
  TRY(reader.usage(job, host.host, host.last, end, take));
  if (!host.has_gpus) return {};
  // The GPUs' samples may be slightly older than the host's.
  std::map<std::int64_t, store::GpuSample> cards;
  TRY(reader.gpus(job, host.host, host.last - UnixMillis(60'000), end,
                  [&cards](const store::GpuSample& sample) { cards[sample.gpu] = sample; }));
  for (const auto& [number, sample] : cards)
    used["gpus"].push_back({number, host.host, sample.percent, sample.memory});
  return {};
}

/// {"cpu", "memory"} of all hosts, as jobs::Amounts; "gpus": [number, host, percent, bytes] of each
/// GPU. Omits unknown values.
Result<Json> use_of(MetricReader& reader, const std::string& job) {
  Json used = Json::object();
  for (const store::HostSpan& host : TRY(reader.hosts(job))) TRY(add_use(reader, job, host, used));
  return used;
}

/// The bytes of the machine's disk that the volumes of the job's hosts take
/// (docs/protocols/job-folder.md). None: they have no volumes.
std::optional<std::int64_t> volume_bytes(const WebLog& log) {
  std::optional<std::int64_t> bytes;
  for (const cloudwatch::MergedLog::Host& host : log.hosts) {
    struct stat image {};
    const std::string folder = host.journal.substr(0, host.journal.rfind('/'));
    if (::stat((folder + "/disk.img").c_str(), &image) == 0)
      bytes = bytes.value_or(0) + image.st_blocks * block_bytes;
  }
  return bytes;
}

/// The machine's resources, and those that no program uses, as jobs::Amounts.
void measure_machine(Json& view) {
  view["machine"] = {{"cpu", 1000 * std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))}};
  const Result<MachineMemory> memory = machine_memory();
  if (!memory) return;
  view["machine"]["memory"] = memory->bytes;
  view["available"]["memory"] = memory->available_bytes;
}

void measure_disk(const std::string& store, Json& view) {
  struct statvfs disk {};
  if (::statvfs(store.c_str(), &disk) == 0)
    view["disk"] = {{"free", std::uint64_t{disk.f_bavail} * disk.f_frsize},
                    {"total", std::uint64_t{disk.f_blocks} * disk.f_frsize}};
}

}  // namespace

/// As WebState::machine. Each run has "used", as use_of(), and "disk", the bytes of its volumes, if
/// these are known. Jobs of this machine: "machine" and "available", as measure_machine(). Jobs of
/// a cluster: "nodes", as WebState::nodes. {"disk": {"free", "total"}}: bytes where the data folder
/// is, free for the server itself.
Task<Result<Json, aws::Refusal>> WebServer::machine(Call& call) {
  using Seen = std::pair<Json, std::vector<WebLog>>;
  std::function<Task<Seen>()> look = [this]() -> Task<Seen> {
    Seen seen{options_.state.machine(), {}};
    for (const Json& run : seen.first.at("runs"))
      seen.second.push_back(
          options_.state.log(run.at("job").get<std::string>()).value_or(WebLog{}));
    Json nodes = co_await options_.state.nodes();
    if (!nodes.is_null()) seen.first["nodes"] = std::move(nodes);
    co_return seen;
  };
  auto [view, logs] = co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(look));
  const auto measure = [this, &view = view, &logs = logs]() -> Result<void> {
    measure_disk(options_.store, view);
    if (!view.at("elsewhere").get<bool>()) measure_machine(view);
    MetricReader reader = TRY(MetricReader::open(options_.store));
    for (std::size_t i = 0; i < logs.size(); ++i) {
      Json& run = view["runs"][i];
      if (Result<Json> used = use_of(reader, run.at("job").get<std::string>()); used)
        run["used"] = *std::move(used);
      if (const std::optional<std::int64_t> bytes = volume_bytes(logs[i])) run["disk"] = *bytes;
    }
    return {};
  };
  const Result<void> measured =
      co_await in_turn(metric_reads_, call.exchange, call.visit.key, measure);
  if (!measured) co_return unread(measured.error());
  co_return std::move(view);
}

}  // namespace muster::server
