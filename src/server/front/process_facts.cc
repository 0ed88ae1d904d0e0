#include "server/front/process_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::server {
namespace {

/// The start time of the process, accurate enough for monitoring.
const UnixMillis started = wall_time();

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Source: proc(5), /proc/self/statm: the second number is the resident pages.
std::optional<double> resident_bytes() {
  const Result<std::string> text = read_file("/proc/self/statm");
  if (!text) return std::nullopt;
  const std::vector<std::string> words = split(*text, ' ');
  const auto pages = words.size() > 1 ? parse_integer(words[1]) : std::nullopt;
  if (!pages) return std::nullopt;
  return static_cast<double>(*pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  double count = -3;  // ".", "..", and the folder's own.
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

void write_process(Exposition& to) {
  to.family("muster_build_info", "gauge", "Version of muster.");
  to.sample({{"version", MUSTER_VERSION}}, 1);
  struct rusage used {};
  ::getrusage(RUSAGE_SELF, &used);
  to.family("process_cpu_seconds_total", "counter", "Processor time of the server.");
  to.sample({}, seconds(used.ru_utime) + seconds(used.ru_stime));
  if (const std::optional<double> bytes = resident_bytes()) {
    to.family("process_resident_memory_bytes", "gauge", "Memory of the server.");
    to.sample({}, *bytes);
  }
  to.family("process_open_fds", "gauge", "Open descriptors of the server.");
  to.sample({}, open_descriptors());
  to.family("process_start_time_seconds", "gauge", "Start time of the server, since 1970.");
  to.sample({}, static_cast<double>(started.count()) / 1e3);
}

}  // namespace muster::server
