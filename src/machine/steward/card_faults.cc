#include "machine/steward/card_faults.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "os/devices/find.h"
#include "os/devices/gpu_figures.h"
#include "os/devices/kernel_log.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

constexpr const char* driver_folder = "/proc/driver/nvidia/gpus";
constexpr std::size_t record_bytes_max = 16 << 10;  ///< The kernel's own limit is 8 KiB.
constexpr std::size_t line_bytes_max = 64 << 10;
constexpr int records_at_once = 1000;
constexpr std::size_t kept_max = 64;
constexpr std::size_t lines_max = 8;
constexpr std::chrono::seconds explains_for{30};

/// The driver's own word (Xid 154) outweighs the messages before it: if a card needs no recovery,
/// it remains usable, whatever happened to it.
job::Card card_after(const devices::Xid& xid, job::Card before) {
  const devices::XidBlame blame = devices::blame_of(xid);
  if (blame == devices::XidBlame::machine) return job::Card::broken;
  if (!xid.action.empty()) return std::min(before, job::Card::memory_error);
  return blame == devices::XidBlame::memory ? std::max(before, job::Card::memory_error) : before;
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

std::map<std::string, int> gpu_places_of(const std::vector<int>& gpus) {
  std::map<std::string, int> places = devices::gpu_places(driver_folder);
  std::erase_if(places, [&gpus](const auto& place) {
    return std::find(gpus.begin(), gpus.end(), place.second) == gpus.end();
  });
  return places;
}

Follower::~Follower() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<CardFaults> CardFaults::follow(const std::vector<int>& gpus, const Env& env,
                                      OwnerOf owner_of) {
  std::map<std::string, int> places;
  for (const auto& [place, number] : gpu_places_of(gpus))
    places.emplace(place.substr(0, place.rfind('.')), number);
  Result<Fd> log = devices::open_kernel_log();
  if (log) {
    ::lseek(log->get(), 0, SEEK_END);  // Earlier faults are not the job's.
    return CardFaults(*std::move(log), std::move(places), std::move(owner_of));
  }
  const Error why = log.error();
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Result<Pipe> out = make_pipe();
  if (!null || !out || !devices::may_read_journal()) return why;
  ::fcntl(out->read.get(), F_SETFL, O_NONBLOCK);
  const Command command{
      .argv = {"journalctl", "-k", "-f", "-n", "0", "-o", "json"}, .env = env, .cwd = "/"};
  const supervise::Stdio stdio{null.get(), out->write.get(), null.get(), {}};
  const Result<pid_t> pid = supervise::spawn(command, stdio, {.death_signal = SIGKILL});
  if (!pid) return why;
  CardFaults faults(std::move(out->read), std::move(places), std::move(owner_of), Form::journal);
  faults.follower_.emplace(*pid);
  return faults;
}

CardFaults::CardFaults(Fd log, std::map<std::string, int> places, OwnerOf owner_of, Form form)
    : log_(std::move(log)),
      form_(form),
      places_(std::move(places)),
      owner_of_(std::move(owner_of)) {}

void CardFaults::look(TimePoint now) {
  CHECK_THAT(seen_.empty() || seen_.back().time <= now, "time went back");
  for (int i = 0; i < records_at_once; ++i)
    if (!read_once(now)) return;
}

bool CardFaults::read_once(TimePoint now) {
  std::array<char, record_bytes_max> buffer;
  const ssize_t count = ::read(log_.get(), buffer.data(), buffer.size());
  // EPIPE: the kernel dropped records because its buffer was full; the next read continues after
  // the gap.
  if (count < 0 && (errno == EPIPE || errno == EINTR)) return true;
  if (count <= 0) return false;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  if (form_ == Form::records) {
    take(text, now);
    return true;
  }
  for (const char c : text) {
    if (c != '\n' && line_.size() < line_bytes_max) line_ += c;
    if (c != '\n') continue;
    const std::optional<std::string> record = devices::record_in_journal(line_);
    line_.clear();
    if (record) take(*record, now);
  }
  return true;
}

void CardFaults::take(std::string_view record, TimePoint now) {
  const std::optional<devices::Xid> xid = devices::xid_in(record);
  const auto place = xid ? places_.find(xid->bus) : places_.end();
  if (place == places_.end()) return;
  // Asked while the process lives. What the driver requests for a card is no process's.
  const ProcessOwner owner =
      xid->pid > 0 && xid->action.empty() ? owner_of_(xid->pid) : ProcessOwner();
  seen_.push_back({*xid, place->second, owner, now});
  if (seen_.size() > kept_max) seen_.pop_front();
}

bool CardFaults::explains(const Seen& seen, const Failure& failure) {
  const Duration between = seen.time - failure.time;
  if (between > explains_for || between < -explains_for) return false;
  if (seen.owner.kind == ProcessOwner::Kind::outside) return false;
  if (seen.owner.rank >= 0 && failure.rank >= 0) return seen.owner.rank == failure.rank;
  return failure.gpus.empty() || failure.gpus.contains(seen.gpu);
}

CardFaults::Found CardFaults::explaining(const std::vector<Failure>& failures) const {
  Found found;
  std::map<int, job::Card> cards;
  for (const Seen& seen : seen_) {
    if (std::none_of(failures.begin(), failures.end(),
                     [&seen](const Failure& failure) { return explains(seen, failure); }))
      continue;
    job::Card& card = cards[seen.gpu];
    card = card_after(seen.xid, card);
    std::string line = devices::describe(seen.gpu, seen.xid);
    const bool known = std::find(found.lines.begin(), found.lines.end(), line) != found.lines.end();
    if (!known && found.lines.size() < lines_max) found.lines.push_back(std::move(line));
  }
  for (const auto& [gpu, card] : cards) found.card = std::max(found.card, card);
  return found;
}

}  // namespace muster::steward
