#include "job/wire/stacks.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace muster::job {
namespace {

constexpr std::size_t job_stacks_bytes_max = 3u << 20;
/// What it takes to say how many processes are left out, at most.
constexpr std::size_t left_out_bytes_max = 128;

Error invalid_stacks(const std::string& what) {
  return fail(Errc::protocol, "stacks: expected " + what);
}

std::string shortened(std::string_view text) {
  return to_utf8(text.substr(0, stack_text_bytes_max));
}

Json to_json(const StackFrame& call) {
  Json json = Json::object();
  json["function"] = shortened(call.function);
  if (!call.file.empty()) json["file"] = shortened(call.file);
  if (call.line > 0) json["line"] = call.line;
  return json;
}

Json to_json(const ThreadStack& thread) {
  Json json = {{"name", shortened(thread.name)}, {"runs", thread.runs}};
  Json& calls = json["calls"] = Json::array();
  const std::size_t count = std::min(thread.calls.size(), stack_calls_max);
  for (std::size_t i = 0; i < count; ++i) calls.push_back(to_json(thread.calls[i]));
  if (thread.place != 0) json["place"] = thread.place;
  if (thread.state != 0) json["state"] = thread.state;
  return json;
}

Json to_json(const ProcessStacks& process) {
  Json json = {{"pid", process.pid},
               {"parent", process.parent},
               {"rank", process.rank},
               {"command", shortened(process.command)},
               {"waits_in", shortened(process.waits_in)},
               {"started", process.started},
               {"cpu_ms", process.cpu_ms},
               {"io_bytes", process.io_bytes},
               {"faults", process.faults},
               {"moves", process.moves},
               {"stopped", process.stopped}};
  if (!process.task.empty()) json["task"] = shortened(process.task);
  if (!process.trouble.empty()) json["trouble"] = shortened(process.trouble);
  Json& threads = json["threads"] = Json::array();
  const std::size_t count = std::min(process.threads.size(), stack_threads_max);
  for (std::size_t i = 0; i < count; ++i) threads.push_back(to_json(process.threads[i]));
  return json;
}

// Members of a message; one that is not there is as if empty.

Result<std::int64_t> number(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return std::int64_t{0};
  if (!found->is_number_integer())
    return invalid_stacks(std::string(name) + " to be a whole number");
  return found->get<std::int64_t>();
}

Result<std::string> text(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return std::string();
  if (!found->is_string()) return invalid_stacks(std::string(name) + " to be a string");
  return shortened(found->get_ref<const std::string&>());
}

const Json& list(const Json& json, const char* name) {
  static const Json none = Json::array();
  const auto found = json.find(name);
  return found == json.end() || !found->is_array() ? none : *found;
}

Result<StackFrame> call_from(const Json& json) {
  if (!json.is_object()) return invalid_stacks("an object {function, file, line} for each call");
  StackFrame call;
  call.function = TRY(text(json, "function"));
  call.file = TRY(text(json, "file"));
  const std::int64_t line = TRY(number(json, "line"));
  call.line = static_cast<int>(std::clamp<std::int64_t>(line, 0, 1 << 30));
  return call;
}

Result<ThreadStack> thread_from(const Json& json) {
  if (!json.is_object()) return invalid_stacks("an object {name, runs, calls} for each thread");
  ThreadStack thread;
  thread.name = TRY(text(json, "name"));
  thread.runs = json.value("runs", Json()) == true;
  const Json& calls = list(json, "calls");
  if (calls.size() > stack_calls_max) return invalid_stacks("at most 100 calls per thread");
  for (const Json& each : calls) thread.calls.push_back(TRY(call_from(each)));
  thread.place = TRY(number(json, "place"));
  thread.state = TRY(number(json, "state"));
  return thread;
}

Result<ProcessStacks> process_from(const Json& json) {
  if (!json.is_object())
    return invalid_stacks("an object {pid, rank, threads, ...} for each process");
  ProcessStacks process;
  process.pid = TRY(number(json, "pid"));
  process.parent = TRY(number(json, "parent"));
  const std::int64_t rank = TRY(number(json, "rank"));
  process.rank = rank < 0 || rank > 1'000'000 ? -1 : static_cast<int>(rank);
  process.task = TRY(text(json, "task"));
  process.command = TRY(text(json, "command"));
  process.waits_in = TRY(text(json, "waits_in"));
  process.started = TRY(number(json, "started"));
  process.cpu_ms = TRY(number(json, "cpu_ms"));
  process.io_bytes = TRY(number(json, "io_bytes"));
  process.faults = TRY(number(json, "faults"));
  process.moves = json.value("moves", Json()) == true;
  process.stopped = json.value("stopped", Json()) == true;
  process.trouble = TRY(text(json, "trouble"));
  const Json& threads = list(json, "threads");
  if (threads.size() > stack_threads_max) return invalid_stacks("at most 64 threads per process");
  for (const Json& each : threads) process.threads.push_back(TRY(thread_from(each)));
  return process;
}

}  // namespace

bool same_place(const ThreadStack& before, const ThreadStack& after) {
  if (before.place != 0 && after.place != 0)
    return before.place == after.place &&
           (before.state == after.state || before.state == 0 || after.state == 0);
  if (before.calls.size() != after.calls.size()) return false;
  for (std::size_t i = 0; i < after.calls.size(); ++i) {
    const StackFrame& then = before.calls[i];
    const StackFrame& now = after.calls[i];
    const bool same = then.function == now.function && then.file == now.file;
    if (!same || (i > 0 && then.line != now.line)) return false;
  }
  return true;
}

std::size_t calls_that_wait(const std::vector<StackFrame>& calls) {
  // MPI in C and in Fortran, NCCL, UCX, OpenSHMEM; what a loop that waits calls between its looks.
  constexpr std::array<std::string_view, 7> families = {"MPI_", "PMPI_", "mpi_",  "pmpi_",
                                                        "nccl", "ucp_",  "shmem_"};
  constexpr std::array<std::string_view, 2> calls_of_a_loop = {"sched_yield", "pthread_spin_lock"};
  for (std::size_t i = calls.size(); i-- > 0;) {
    const std::string_view name = calls[i].function;
    const auto begins = [&](std::string_view family) { return name.starts_with(family); };
    if (calls[i].line != 0) continue;  // Python's.
    // A program's own names may begin alike: Fortran's end so, and NCCL's go on with a capital.
    const bool is_lower = name.starts_with("mpi_") || name.starts_with("pmpi_");
    if (is_lower && !name.ends_with('_')) continue;
    if (name.starts_with("nccl") && (name.size() < 5 || name[4] < 'A' || name[4] > 'Z')) continue;
    if (std::any_of(families.begin(), families.end(), begins) ||
        std::find(calls_of_a_loop.begin(), calls_of_a_loop.end(), name) != calls_of_a_loop.end())
      return i + 1;
  }
  return 0;
}

const char* calls_name(Calls calls) {
  return calls == Calls::native ? "native" : calls == Calls::moves ? "moves" : "python";
}

std::string encode(Calls calls) {
  return to_text(Json{{"calls", calls_name(calls)}});
}

Calls calls_from(std::string_view payload) {
  const Result<Json> json = parse_json(payload);
  const Json name = json && json->is_object() ? json->value("calls", Json()) : Json();
  for (const Calls calls : {Calls::native, Calls::moves})
    if (name == calls_name(calls)) return calls;
  return Calls::python;
}

Json to_json(const HostStacks& stacks) {
  Json json = {{"host", stacks.host}, {"net_bytes", stacks.net_bytes}};
  Json& processes = json["processes"] = Json::array();
  for (const ProcessStacks& each : stacks.processes) processes.push_back(to_json(each));
  if (!stacks.trouble.empty()) json["trouble"] = shortened(stacks.trouble);
  if (stacks.nccl != NcclReport{}) json["nccl"] = to_json(stacks.nccl);
  if (!stacks.flights.empty()) json["flights"] = to_json(stacks.flights);
  return json;
}

std::string encode(const HostStacks& stacks) {
  Json json = to_json(HostStacks{.host = stacks.host,
                                 .processes = {},
                                 .net_bytes = stacks.net_bytes,
                                 .trouble = stacks.trouble,
                                 .nccl = stacks.nccl,
                                 .flights = stacks.flights});
  Json& processes = json["processes"];
  std::size_t bytes = to_text(json).size() + left_out_bytes_max;
  for (const ProcessStacks& each : stacks.processes) {
    Json process = to_json(each);
    bytes += to_text(process).size() + 1;
    if (processes.size() == stack_processes_max || bytes > host_stacks_bytes_max) break;
    processes.push_back(std::move(process));
  }
  if (processes.size() < stacks.processes.size())
    json["trouble"] = "only " + std::to_string(processes.size()) + " of " +
                      std::to_string(stacks.processes.size()) + " processes are shown";
  return to_text(json);
}

Result<HostStacks> host_stacks_from_json(const Json& json) {
  if (!json.is_object()) return invalid_stacks("an object {host, processes} for each host");
  HostStacks stacks;
  stacks.host = TRY(text(json, "host"));
  stacks.net_bytes = json.contains("net_bytes") ? TRY(number(json, "net_bytes")) : -1;
  stacks.trouble = TRY(text(json, "trouble"));
  if (json.contains("nccl")) stacks.nccl = TRY(nccl_report_from_json(json["nccl"]));
  if (json.contains("flights")) stacks.flights = TRY(flights_from_json(json["flights"]));
  const Json& processes = list(json, "processes");
  if (processes.size() > stack_processes_max)
    return invalid_stacks("at most 256 processes per host");
  for (const Json& each : processes) stacks.processes.push_back(TRY(process_from(each)));
  return stacks;
}

Result<HostStacks> host_stacks_from(std::string_view payload) {
  if (payload.size() > host_stacks_bytes_max) return invalid_stacks("a message of at most 1 MiB");
  const Json json = TRY(parse_json(payload));
  return host_stacks_from_json(json);
}

Json to_json(const std::string& job, const std::vector<HostStacks>& hosts) {
  Json json = {{"job", job}};
  Json& list = json["hosts"] = Json::array();
  std::size_t bytes = 0;
  for (const HostStacks& host : hosts) {
    Json told = to_json(host);
    bytes += to_text(told).size();
    if (bytes > job_stacks_bytes_max)
      told = to_json(
          HostStacks{.host = host.host, .processes = {}, .trouble = "no room in the response"});
    list.push_back(std::move(told));
  }
  return json;
}

Result<std::vector<HostStacks>> job_stacks_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("hosts") || !json["hosts"].is_array())
    return invalid_stacks("an object {job, hosts}");
  std::vector<HostStacks> hosts;
  for (const Json& each : json["hosts"]) hosts.push_back(TRY(host_stacks_from_json(each)));
  return hosts;
}

}  // namespace muster::job
