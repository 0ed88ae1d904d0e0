#include "machine/steward/host_stacks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "container/bundle/root_view.h"
#include "container/child_process.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

constexpr std::chrono::seconds sampling_max{10};
constexpr std::size_t complaint_bytes_max = 4096;

/// Reads to the end of `fd`; false at the deadline, or when more comes than `most`.
loop::Task<> read_bounded(loop::Loop& loop, const Fd& fd, std::size_t most, TimePoint deadline,
                          std::string& text, bool& whole) {
  loop::Watch watch(loop, fd.get());
  std::array<char, 65536> buffer;
  while (text.size() <= most) {
    const bool is_readable = co_await watch.readable(deadline);
    if (!is_readable) co_return;
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    whole = count == 0;
    if (count <= 0) co_return;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 0111) != 0;
}

bool is_written_by_hosts(const std::string& path, const job::Spec& spec) {
  for (const job::BoundPath& each : spec.bound)
    if (each.writable && container::is_in(path, each.outside)) return true;
  return !spec.checkpoint_folder.empty() && container::is_in(path, spec.checkpoint_folder);
}

struct Said {
  std::string text;
  bool whole = false;
};

}  // namespace

Args py_spy_paths(const job::Spec& spec, const Env& env) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  if (!spec.python.empty()) folders.push_back(fs::path(spec.python).parent_path());
  if (const Env::const_iterator path = env.find("PATH"); path != env.end())
    for (std::string& folder : split(path->second, ':')) folders.push_back(std::move(folder));
  Args paths;
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;
    std::error_code missing;
    const std::string path = fs::canonical(folder + "/py-spy", missing);
    if (!missing && is_program(path) && !is_written_by_hosts(path, spec)) paths.push_back(path);
  }
  return paths;
}

loop::Task<Result<job::HostStacks>> stacks_below(loop::Loop& loop, pid_t init, job::Calls calls,
                                                 const Args& py_spy, Env env) {
  Command command{.argv = {"/proc/self/exe", "sampler", "--init", std::to_string(init)},
                  .env = std::move(env),
                  .cwd = "/"};
  if (calls != job::Calls::python)
    command.argv.push_back(std::string("--") + job::calls_name(calls));
  for (const std::string& path : py_spy)
    command.argv.insert(command.argv.end(), {"--py-spy", path});
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<Pipe> out = make_pipe();
  Result<Pipe> err = make_pipe();
  if (!null || !out || !err) co_return fail_errno("cannot create a pipe");
  const supervise::Stdio stdio{null.get(), out->write.get(), err->write.get(), {}};
  const Result<pid_t> pid = supervise::spawn(command, stdio, {.death_signal = SIGKILL});
  if (!pid) co_return pid.error();
  out->write.reset();
  err->write.reset();
  Result<container::Process> sampler = container::Process::open(*pid);
  if (!sampler) co_return sampler.error();
  const TimePoint deadline = Clock::now() + sampling_max;
  Said answer, complained;
  loop::Tasks readers(loop);
  readers.start(read_bounded(loop, out->read, job::host_stacks_bytes_max, deadline, answer.text,
                             answer.whole));
  readers.start(read_bounded(loop, err->read, complaint_bytes_max, deadline, complained.text,
                             complained.whole));
  co_await readers.join();
  if (!answer.whole) sampler->signal(SIGKILL);
  const job::Outcome outcome = co_await sampler->ended(loop);
  if (!answer.whole)
    co_return fail(Errc::timeout, "could not read the stacks of all of the host's processes");
  if (!outcome.success())
    co_return fail(Errc::system, "sm sampler: " + to_utf8(trim(complained.text)));
  co_return job::host_stacks_from(answer.text);
}

}  // namespace muster::steward
