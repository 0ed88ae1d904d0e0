#include "platform/stack_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "job/wire/rank_ranges.h"

namespace muster::platform {
namespace {

constexpr std::size_t names_max = 8;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string frame_text(const job::StackFrame& call) {
  std::string text = call.function;
  if (call.file.empty()) return text;
  text += "  " + base_name(call.file);
  return call.line > 0 ? text + ":" + std::to_string(call.line) : text;
}

const job::ProcessStacks* process_with(const job::HostStacks& host, std::int64_t pid) {
  for (const job::ProcessStacks& each : host.processes)
    if (each.pid == pid && pid != 0) return &each;
  return nullptr;
}

/// A child has its parent's variables, and so its number.
bool is_child(const job::HostStacks& host, const job::ProcessStacks& process) {
  const job::ProcessStacks* parent = process_with(host, process.parent);
  return parent != nullptr && parent->rank == process.rank && parent->task == process.task;
}

bool has_members(const std::vector<job::HostStacks>& hosts) {
  for (const job::HostStacks& host : hosts)
    for (const job::ProcessStacks& process : host.processes)
      if (process.is_member()) return true;
  return false;
}

Stander stander_of(const job::HostStacks& host, const job::ProcessStacks& process) {
  Stander stander;
  stander.rank = process.rank;
  stander.host = host.host;
  stander.task = process.task;
  stander.stopped = process.stopped;
  stander.name = host.processes.size() == 1 ? host.host : host.host + ": " + process.command;
  if (!process.task.empty()) stander.name = process.task + " on " + host.host;
  stander.waits_in = process.waits_in;
  stander.trouble = process.trouble;
  if (is_child(host, process)) stander.kind = Stander::Kind::child;
  return stander;
}

void stand(Stander& stander, const job::ThreadStack& thread) {
  stander.runs = thread.runs;
  // Frames within a waiting call differ from moment to moment, and say nothing.
  const std::size_t waiting = job::calls_that_wait(thread.calls);
  const auto end = thread.calls.rend() - static_cast<std::ptrdiff_t>(waiting > 0 ? waiting - 1 : 0);
  for (auto call = thread.calls.rbegin(); call != end; ++call)
    if (!call->file.starts_with("<frozen ")) stander.calls.push_back(*call);  // Python's own start.
}

void add_process(const job::HostStacks& host, const job::ProcessStacks& process,
                 std::vector<Stander>& all) {
  const auto main = std::find_if(process.threads.begin(), process.threads.end(),
                                 [](const auto& each) { return each.name == "MainThread"; });
  const auto first = main == process.threads.end() ? process.threads.begin() : main;
  Stander stander = stander_of(host, process);
  if (first != process.threads.end()) stand(stander, *first);
  all.push_back(stander);
  for (auto each = process.threads.begin(); each != process.threads.end(); ++each) {
    if (each == first) continue;
    Stander other = stander_of(host, process);
    if (other.kind == Stander::Kind::main_thread) other.kind = Stander::Kind::other_thread;
    stand(other, *each);
    all.push_back(std::move(other));
  }
}

/// Draws groups that share their first `depth` calls, then where they part.
class Drawing {
 public:
  Drawing(const std::vector<Stander>& all, std::set<std::size_t> odd)
      : all_(all), odd_(std::move(odd)) {}

  void draw(const std::vector<StackGroup>& groups, std::size_t depth, const std::string& indent) {
    for (const std::vector<StackGroup>& branch : branches(groups, depth)) {
      std::vector<std::size_t> who;
      for (const StackGroup& each : branch) who.insert(who.end(), each.who.begin(), each.who.end());
      std::sort(who.begin(), who.end());
      text_ += indent + names_of(all_, who) + mark_of(who) + "\n";
      std::size_t at = depth;
      while (shared(branch, at)) text_ += indent + "  " + frame_text(branch[0].calls[at++]) + "\n";
      if (branch.size() > 1) draw(branch, at, indent + "  ");
      if (branch.size() == 1) text_ += indent + "  " + state_of(who) + "\n";
    }
  }
  const std::string& text() const { return text_; }

 private:
  static bool shared(const std::vector<StackGroup>& branch, std::size_t at) {
    for (const StackGroup& each : branch)
      if (each.calls.size() <= at || each.calls[at] != branch[0].calls[at]) return false;
    return true;
  }
  static std::vector<std::vector<StackGroup>> branches(const std::vector<StackGroup>& groups,
                                                       std::size_t depth) {
    std::vector<std::vector<StackGroup>> found;
    for (const StackGroup& each : groups) {
      const auto same = std::find_if(found.begin(), found.end(), [&](const auto& branch) {
        const std::vector<job::StackFrame>& calls = branch[0].calls;
        if (calls.size() <= depth || each.calls.size() <= depth) return calls == each.calls;
        return calls[depth] == each.calls[depth];
      });
      if (same == found.end())
        found.push_back({each});
      else
        same->push_back(each);
    }
    return found;
  }
  std::string mark_of(const std::vector<std::size_t>& who) const {
    const bool is_odd =
        std::all_of(who.begin(), who.end(), [&](std::size_t each) { return odd_.contains(each); });
    return is_odd ? std::string("  <- ") + why_odd(all_[who.front()]) : "";
  }
  /// What those of a group do there, as far as they agree.
  std::string state_of(const std::vector<std::size_t>& who) const {
    const Stander& first = all_[who.front()];
    if (first.calls.empty() && !first.trouble.empty()) return "(" + first.trouble + ")";
    const bool agree = std::all_of(who.begin(), who.end(), [&](std::size_t each) {
      return all_[each].runs == first.runs && all_[each].waits_in == first.waits_in;
    });
    if (!agree) return "(some run, some wait)";
    if (first.stopped) return "(stopped by a signal)";
    if (first.runs) return "(runs)";
    return first.waits_in.empty() ? "(waits)" : "(waits in " + first.waits_in + ")";
  }

  const std::vector<Stander>& all_;
  std::set<std::size_t> odd_;
  std::string text_;
};

/// "0-2,5".
/// Calls that block until a card has done its work. The driver's have versions: "_v2", "_ptsz".
/// Source: the manuals of CUDA's runtime and driver.
bool waits_for_gpu(const job::StackFrame& call) {
  constexpr std::array<std::string_view, 8> names = {
      "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
      "cuStreamSynchronize",   "cuCtxSynchronize",      "cuEventSynchronize",   "cuMemcpyDtoH"};
  if (call.line != 0)  // Python's.
    return call.function == "synchronize" && call.file.find("torch/cuda/") != std::string::npos;
  const std::string name = call.function.substr(0, call.function.find('_'));
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Each host knows its own ranks.
job::FlightReport flights_of(const std::vector<job::HostStacks>& hosts) {
  std::vector<job::Flight> all;
  for (const job::HostStacks& host : hosts)
    all.insert(all.end(), host.flights.begin(), host.flights.end());
  return job::flight_report(all);
}

}  // namespace

std::vector<Stander> standers_of(const std::vector<job::HostStacks>& hosts) {
  const bool members_only = has_members(hosts);
  std::vector<Stander> all;
  for (const job::HostStacks& host : hosts)
    for (const job::ProcessStacks& process : host.processes)
      if (!members_only || process.is_member()) add_process(host, process, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Stander& a, const Stander& b) { return a.rank < b.rank; });
  return all;
}

std::vector<StackGroup> group(const std::vector<Stander>& all, Stander::Kind kind) {
  std::vector<StackGroup> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != kind) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const StackGroup& each) {
      return each.calls == all[i].calls && all[each.who.front()].trouble == all[i].trouble;
    });
    if (same == groups.end())
      groups.push_back({all[i].calls, {i}});
    else
      same->who.push_back(i);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const StackGroup& a, const StackGroup& b) {
    return a.who.size() > b.who.size();
  });
  return groups;
}

std::vector<std::size_t> odd_ones(const std::vector<Stander>& all) {
  const std::vector<StackGroup> groups = group(all, Stander::Kind::main_thread);
  std::size_t count = 0;
  std::vector<std::size_t> odd;
  for (const StackGroup& each : groups) {
    count += each.who.size();
    for (const std::size_t one : each.who)
      if (all[one].stopped) odd.push_back(one);
  }
  std::sort(odd.begin(), odd.end());
  if (!odd.empty() && odd.size() < count) return odd;
  odd.clear();
  if (groups.empty() || 2 * groups[0].who.size() <= count) return odd;
  for (std::size_t i = 1; i < groups.size(); ++i)
    odd.insert(odd.end(), groups[i].who.begin(), groups[i].who.end());
  std::sort(odd.begin(), odd.end());
  return odd;
}

const char* why_odd(const Stander& odd) {
  return odd.stopped ? "stopped by a signal" : "stuck in a different place than most";
}

std::string names_of(const std::vector<Stander>& all, const std::vector<std::size_t>& who) {
  std::set<int> ranks;
  std::vector<std::string> names;
  for (const std::size_t each : who) {
    CHECK_THAT(each < all.size(), "who is among all");
    if (all[each].rank >= 0)
      ranks.insert(all[each].rank);
    else if (std::find(names.begin(), names.end(), all[each].name) == names.end())
      names.push_back(all[each].name);
  }
  std::string text;
  if (!ranks.empty()) text = job::rank_names(ranks);
  for (std::size_t i = 0; i < std::min(names.size(), names_max); ++i)
    text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > names_max) text += ", " + std::to_string(names.size() - names_max) + " more";
  return text;
}

std::string stack_headline(const std::vector<job::HostStacks>& hosts) {
  const std::vector<Stander> all = standers_of(hosts);
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::size_t mains = 0;
  bool ranks = false;
  for (const Stander& each : all) {
    mains += each.kind == Stander::Kind::main_thread;
    ranks = ranks || each.rank >= 0;
  }
  const std::size_t places = group(all, Stander::Kind::main_thread).size();
  std::string processes = count(mains, ranks ? "rank" : "process");
  if (!ranks && mains != 1) processes = std::to_string(mains) + " processes";
  return processes + " on " + count(hosts.size(), "host") + ", at " + count(places, "place");
}

std::string stack_text(const std::vector<job::HostStacks>& hosts) {
  const std::vector<Stander> all = standers_of(hosts);
  const std::vector<std::size_t> odd = odd_ones(all);
  std::string text;
  constexpr std::pair<Stander::Kind, const char*> parts[] = {
      {Stander::Kind::main_thread, ""},
      {Stander::Kind::other_thread, "other threads\n"},
      {Stander::Kind::child, "processes that they started\n"}};
  for (const auto& [kind, title] : parts) {
    const std::vector<StackGroup> groups = group(all, kind);
    if (groups.empty()) continue;
    Drawing drawing(all, {odd.begin(), odd.end()});
    drawing.draw(groups, 0, *title == '\0' ? "" : "  ");
    text += title + drawing.text();
  }
  for (const job::HostStacks& host : hosts)
    if (!host.trouble.empty()) text += host.host + ": " + host.trouble + "\n";
  // Each host's answer is about all ranks.
  std::vector<std::string> told;
  for (const job::HostStacks& host : hosts)
    for (const std::string& line : host.nccl.lines)
      if (std::find(told.begin(), told.end(), line) == told.end()) told.push_back(line);
  for (std::size_t i = 0; i < std::min(told.size(), job::nccl_lines_max); ++i)
    text += "NCCL: " + told[i] + "\n";
  for (const std::string& line : flights_of(hosts).lines) text += "Flight Recorder: " + line + "\n";
  return text;
}

std::string gpu_wait_text(const std::vector<job::HostStacks>& hosts) {
  using Collectives = job::NcclReport::Collectives;
  const std::vector<Stander> all = standers_of(hosts);
  std::vector<std::size_t> who;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].kind != Stander::Kind::child &&
        std::any_of(all[i].calls.begin(), all[i].calls.end(), waits_for_gpu))
      who.push_back(i);
  if (who.empty()) return {};
  Collectives known = Collectives::unknown;
  for (const job::HostStacks& host : hosts) known = std::max(known, host.nccl.collectives);
  const std::string names = names_of(all, who);
  const bool are_several = names.starts_with("ranks ") || names.find(", ") != std::string::npos;
  const std::string text = names + (are_several ? " wait" : " waits") + " for the GPU";
  const job::FlightReport flights = flights_of(hosts);
  if (known == Collectives::open || flights.differs)
    return text + ", in a collective operation that not all ranks have started";
  if (flights.waits) return text + ", in a collective operation";
  if (known == Collectives::none)
    return text + ", in a kernel or a transfer: no rank has started a collective operation";
  return text + "; whether in a collective operation or in another kernel is unknown";
}

}  // namespace muster::platform
