#include "machine/steward/card_faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "os/devices/find.h"
#include "os/devices/gpu_figures.h"

namespace muster::steward {
namespace {

constexpr const char* kernel_log = "/dev/kmsg";
constexpr const char* driver_folder = "/proc/driver/nvidia/gpus";
constexpr std::size_t record_bytes_max = 16 << 10;  ///< The kernel's own limit is 8 KiB.
constexpr int records_at_once = 1000;
constexpr std::size_t kept_max = 64;
constexpr std::size_t lines_max = 8;
constexpr std::chrono::seconds explains_for{30};

job::Card card_after(devices::XidBlame blame) {
  if (blame == devices::XidBlame::machine) return job::Card::broken;
  return blame == devices::XidBlame::memory ? job::Card::memory_error : job::Card::working;
}

}  // namespace

std::vector<int> gpu_numbers_of(const job::HostSpec& spec, const Env& env) {
  std::vector<int> numbers;
  for (const job::DeviceNode& node : spec.devices.nodes)
    if (const std::optional<int> number = devices::gpu_number(node.outside))
      numbers.push_back(*number);
  if (!numbers.empty() || !spec.light || spec.devices.gpus.empty()) return numbers;
  const Env::const_iterator given = env.find("SLURM_STEP_GPUS");
  return given == env.end() ? devices::gpu_numbers(join(spec.devices.gpus, ","))
                            : devices::gpu_numbers(given->second);
}

Result<CardFaults> CardFaults::follow(const std::vector<int>& gpus) {
  Fd log(::open(kernel_log, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) return fail_errno(std::string("cannot open ") + kernel_log);
  ::lseek(log.get(), 0, SEEK_END);  // Earlier faults are not the job's.
  std::map<std::string, int> places;
  for (const auto& [place, number] : devices::gpu_places(driver_folder))
    if (std::find(gpus.begin(), gpus.end(), number) != gpus.end())
      places.emplace(place.substr(0, place.rfind('.')), number);
  return CardFaults(std::move(log), std::move(places));
}

CardFaults::CardFaults(Fd log, std::map<std::string, int> places)
    : log_(std::move(log)), places_(std::move(places)) {}

void CardFaults::look(TimePoint now) {
  CHECK_THAT(seen_.empty() || seen_.back().time <= now, "time went back");
  std::array<char, record_bytes_max> buffer;
  for (int i = 0; i < records_at_once; ++i) {
    const ssize_t count = ::read(log_.get(), buffer.data(), buffer.size());
    // EPIPE: the kernel dropped records because its buffer was full; the next read continues after
    // the gap.
    if (count < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (count <= 0) return;
    const std::string_view record(buffer.data(), static_cast<std::size_t>(count));
    const std::optional<devices::Xid> xid = devices::xid_in(record);
    const auto place = xid ? places_.find(xid->bus) : places_.end();
    if (place == places_.end()) continue;
    seen_.push_back({*xid, place->second, now});
    if (seen_.size() > kept_max) seen_.pop_front();
  }
}

CardFaults::Found CardFaults::explaining(TimePoint end) const {
  Found found;
  for (const Seen& seen : seen_) {
    if (seen.time < end - explains_for) continue;
    found.card = std::max(found.card, card_after(devices::blame_of(seen.xid)));
    std::string line = devices::describe(seen.gpu, seen.xid);
    const bool known = std::find(found.lines.begin(), found.lines.end(), line) != found.lines.end();
    if (!known && found.lines.size() < lines_max) found.lines.push_back(std::move(line));
  }
  return found;
}

}  // namespace muster::steward
