#include "machine/sampler/flights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/files/folder.h"
#include "base/text.h"
#include "container/bundle/collectives.h"
#include "job/ml_paths.h"
#include "job/wire/plain_pickle.h"

namespace muster::sampler {
namespace {

constexpr std::string_view name_start = "rank_";
constexpr std::int64_t rank_max = 1'000'000;
constexpr std::size_t files_max = 64;
constexpr std::size_t all_bytes_max = 64u << 20;

/// 3 for "rank_3"; -1 for another name.
int rank_in(const std::string& name) {
  if (!name.starts_with(name_start)) return -1;
  const std::optional<std::int64_t> rank = parse_integer(name.substr(name_start.size()));
  return rank && *rank >= 0 && *rank <= rank_max ? static_cast<int>(*rank) : -1;
}

/// Empty for what cannot be a dump.
std::string dump_at(const Fd& folder, const std::string& name) {
  const Fd file(::openat(folder.get(), name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size <= 0 || info.st_size > static_cast<off_t>(job::PlainPickle::bytes_max))
    return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace

std::vector<job::Flight> flights_below(const Fd& root) {
  Fd folder(::fcntl(root.get(), F_DUPFD_CLOEXEC, 0));
  const std::string path = std::string(job::ml_path) + "/output/data/" + container::dumps_folder;
  for (const std::string& name : split(path.substr(1), '/'))
    if (folder) folder = open_folder(folder.get(), name);
  if (!folder) return {};
  std::vector<job::Flight> all;
  std::size_t files = 0;
  std::size_t bytes = 0;
  for (const std::string& name : names_in(folder.get(), path).value_or({})) {
    const int rank = rank_in(name);
    if (rank < 0 || ++files > files_max || bytes > all_bytes_max) continue;
    const std::string dump = dump_at(folder, name);
    bytes += dump.size();
    for (job::Flight& flight : job::flights_from(rank, dump).value_or({}))
      if (all.size() < job::flights_max) all.push_back(std::move(flight));
  }
  return all;
}

std::vector<job::Flight> read_flights(pid_t init) {
  const std::string root = "/proc/" + std::to_string(init) + "/root";
  const Fd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder ? flights_below(folder) : std::vector<job::Flight>();
}

}  // namespace muster::sampler
