// What this test program is besides: the stewards of TestJob, and inside their containers, where it
// is bind-mounted, `sm` and `train` in place of the real ones, which no test of this room can link.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/text.h"
#include "job/outcome/lines.h"
#include "job/wire/message.h"
#include "machine/steward/steward.h"
#include "machine/steward/test_job.h"

namespace muster::steward {
namespace {

constexpr int stream_fd = 3;
constexpr std::uint16_t port = 5151;

volatile sig_atomic_t program_pid = 0;
void pass_on(int number) {
  ::kill(static_cast<pid_t>(program_pid), number);
}

/// Like `sm init`: starts argv behind "--", passes SIGTERM on, ends with it or with the lifeline.
int guest_init(char** argv) {
  bool is_own_entry = false;
  for (; std::strcmp(*argv, "--") != 0; ++argv)
    is_own_entry = is_own_entry || std::strcmp(*argv, "--everyone") == 0;
  // Blocked until there is somebody to pass it on to: the kernel drops a signal that the first
  // process of a container neither blocks nor handles.
  sigset_t term, none;
  ::sigemptyset(&none);
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::close(4);
    ::execv(argv[1], argv + 1);
    ::_exit(127);
  }
  program_pid = pid;
  std::signal(SIGTERM, pass_on);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Otherwise another process could reopen it.
  if (!is_own_entry) ::close(stream_fd);
  const Fd ended(static_cast<int>(::syscall(434, pid, 0)));  // pidfd_open
  std::array<pollfd, 2> fds = {pollfd{ended.get(), POLLIN, 0}, pollfd{4, POLLIN, 0}};
  bool over = false;
  bool seen = false;  // The steward has looked at us.
  while (!over || !seen) {
    fds[0].fd = over ? -1 : ended.get();
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    char word = 0;
    if (fds[1].revents != 0 && ::read(4, &word, 1) <= 0) return 137;
    seen = seen || fds[1].revents != 0;
    over = over || fds[0].revents != 0;
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void tell(const std::string& text) {
  std::string frame;
  append_frame(frame, job::type_of(job::Message::lines),
               job::encode(job::Lines{0, job::Stream::out, false, text + "\n"}));
  static_cast<void>(write_all(stream_fd, frame));
}

std::string text_of(const std::string& path) {
  return read_file(path).value_or("(none)");
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Json names_in(const char* path) {
  Json names = Json::array();
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(path, code))
    names.push_back(entry.path().filename().string());
  return names;
}

int errno_of(long result) {
  return result == 0 ? 0 : errno;
}

int guest_report() {
  Json report;
  report["hostname"] = host_name();
  report["shadow"] = text_of("/etc/shadow");
  report["ids"] = text_of("/proc/self/uid_map");
  report["machine"] = Json::array();
  for (const char* path :
       {"/etc/ssh", "/etc/sudoers", "/etc/ssl/private", "/root/.bashrc", "/root/.ssh",
        "/var/lib/dpkg", "/var/lib/muster", "/var/log/dpkg.log", "/boot/grub", "/etc/hostid",
        "/etc/fstab", "/etc/apt", "/etc/systemd", "/var/spool/cron", "/lost+found"})
    if (std::error_code code; std::filesystem::exists(path, code))
      report["machine"].push_back(path);
  report["ssh"] = names_in("/root/.ssh");
  report["state"] = names_in(std::getenv("TEST_STATE"));
  report["input"] = text_of("/opt/ml/input/data/train/file");
  report["code"] = text_of("/opt/ml/code/script.py");
  report["key"] = text_of("/run/muster/job.key");
  report["config"] = text_of("/opt/ml/input/config/resourceconfig.json");
  report["links"] = names_in("/sys/class/net");
  report["processes"] = names_in("/proc").dump().find("\"2\"") != std::string::npos;
  report["fds"] = names_in("/proc/self/fd").size();
  report["stdout"] = static_cast<bool>(Fd(::open("/proc/self/fd/1", O_WRONLY)));
  report["lifeline"] = static_cast<bool>(Fd(::open("/proc/1/fd/4", O_WRONLY)));
  report["unshare"] = errno_of(::unshare(CLONE_NEWUSER));
  report["mount"] = errno_of(::mount("none", "/mnt", "tmpfs", 0, nullptr));
  report["bound"] = text_of(std::string(std::getenv("TEST_BOUND")) + "/file");
  report["writes"] = write_file("/etc/muster-was-here", "x").has_value() &&
                     write_file("/opt/ml/input/data/train/file", "changed").has_value() &&
                     write_file("/opt/ml/code/new", "x").has_value() &&
                     write_file("/opt/ml/model/" + host_name(), "weights").has_value() &&
                     write_file("/opt/ml/output/failure", "none").has_value();
  tell(to_text(report));
  static_cast<void>(write_all(STDERR_FILENO, "a line of train's own\nunfinished"));
  return 0;
}

/// What a light host has, and what it leaves where it may.
int guest_light() {
  Json report;
  report["hostname"] = host_name();
  report["hosts"] = text_of("/etc/hosts");
  report["config"] = text_of("/opt/ml/input/config/resourceconfig.json");
  report["input"] = text_of("/opt/ml/input/data/train/file");
  report["code"] = text_of("/opt/ml/code/script.py");
  report["key"] = text_of("/run/muster/job.key");
  report["tmp"] = names_in("/tmp");
  report["bound"] = text_of(std::string(std::getenv("TEST_BOUND")) + "/file");
  report["pid"] = static_cast<int>(::getppid());
  report["uid"] = static_cast<int>(::geteuid());
  report["oom"] = text_of("/proc/self/oom_score_adj");
  report["fds"] = names_in("/proc/self/fd").size();
  report["lifeline"] = static_cast<bool>(Fd(::open("/proc/1/fd/4", O_WRONLY)));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    report["env"][text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  report["writes"] = write_file("/tmp/mine", "x").has_value() &&
                     write_file("/dev/shm/mine", "x").has_value() &&
                     write_file("/opt/ml/input/data/train/file", "changed").has_value() &&
                     write_file("/opt/ml/model/" + host_name(), "weights").has_value() &&
                     write_file("/opt/ml/output/failure", "none").has_value();
  tell(to_text(report));
  // An orphan, which must not outlive the host.
  if (::fork() == 0) {
    ::setsid();
    while (true) ::pause();
  }
  return 0;
}

/// algo-1 listens, the others connect to it by name and say theirs.
int guest_talk() {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  std::array<char, 64> text{};
  if (host_name() == "algo-1") {
    ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(socket.get(), 4);
    tell("listening");
    const Fd peer(::accept(socket.get(), nullptr, nullptr));
    const ssize_t count = ::read(peer.get(), text.data(), text.size());
    tell("heard " + std::string(text.data(), static_cast<std::size_t>(count)));
    return 0;
  }
  addrinfo* found = nullptr;
  if (::getaddrinfo("algo-1", nullptr, nullptr, &found) != 0) return 3;
  address.sin_addr = reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_addr;
  ::freeaddrinfo(found);
  while (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    ::poll(nullptr, 0, 10);  // Until algo-1 listens; the test has a deadline.
  return write_all(socket.get(), host_name()) ? 0 : 4;
}

/// Tries each of the machine's addresses on its own cable; says which answered.
int guest_knock() {
  constexpr int answer_ms = 1000;
  for (const std::string& text : split(std::getenv("TEST_ADDRESSES"), ' ')) {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(std::getenv("TEST_PORT"))));
    ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
    const int begun =
        ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    if (begun != 0 && errno != EINPROGRESS) continue;
    pollfd answer{socket.get(), POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t length = sizeof(error);
    if (::poll(&answer, 1, answer_ms) == 1)
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) tell(text + " answered");
  }
  tell("knocked");
  return 0;
}

int guest_flood() {
  const std::string line(1000, 'x');
  for (int i = 0; i < 100'000; ++i) tell(line);
  return 0;
}

int guest_eat() {
  constexpr std::size_t page = 1u << 20;
  for (int i = 0; i < 2048; ++i) std::memset(std::malloc(page), 1, page);
  return 0;
}

/// Leaves a file with a huge hole and one under a thousand names among the results, then writes to
/// TEST_PLACE until that is full.
int guest_fill() {
  const Fd hole(::open("/opt/ml/model/hole", O_WRONLY | O_CREAT, 0644));
  const bool whole = ::ftruncate(hole.get(), off_t{1} << 40) == 0 &&
                     write_file("/opt/ml/model/linked", std::string(1 << 20, 'l'));
  if (!whole) return 2;
  for (int i = 0; i < 1000; ++i)
    if (::link("/opt/ml/model/linked", ("/opt/ml/model/l" + std::to_string(i)).c_str()) != 0)
      return 2;
  const std::string path = std::getenv("TEST_PLACE") + std::string("/large");
  const std::string block(1 << 20, 'b');
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT, 0644));
  if (!file) return 2;
  while (write_all(file.get(), block)) continue;
  tell("No space left on device");
  return 1;
}

/// Threads until the kernel refuses one.
int guest_fork() {
  constexpr std::size_t stack_bytes = 16u << 10;
  const auto wait = [](void*) { return ::pause(); };
  while (true) {
    char* const stack = static_cast<char*>(
        ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (stack == MAP_FAILED) return 2;
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    if (::clone(wait, stack + stack_bytes, flags, nullptr) < 0) return errno == EAGAIN ? 1 : 2;
  }
}

int guest_train() {
  const std::string action = std::getenv("TEST_ACTION");
  if (action == "report") return guest_report();
  if (action == "light") return guest_light();
  if (action == "talk") return guest_talk();
  if (action == "knock") return guest_knock();
  if (action == "flood") return guest_flood();
  if (action == "eat") return guest_eat();
  if (action == "fill") return guest_fill();
  if (action == "fork") return guest_fork();
  if (action.find("exit") == 0) return std::atoi(action.c_str() + 4);
  if (action == "ignore") std::signal(SIGTERM, SIG_IGN);
  tell("waiting");
  while (true) ::pause();
}

/// Before main: in a container this program is not a test.
__attribute__((constructor)) void become_guest(int argc, char** argv, char** /*environment*/) {
  if (argc > 1 && std::strcmp(argv[1], "init") == 0) ::_exit(guest_init(argv));
  const std::string program = argc == 1 ? argv[0] : "";
  if (program == "/usr/local/bin/train" || program == "/run/muster/bin/train")
    ::_exit(guest_train());
}

}  // namespace
}  // namespace muster::steward

int run_as_other_program(int argc, char** argv) {
  using namespace muster;
  if (argc < 2 || std::strcmp(argv[1], "steward") != 0) return -1;
  Env env = steward::test_env();
  env.insert({{"SLURM_JOB_ID", "7"}, {"PMI_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  env.insert({{"CUDA_VISIBLE_DEVICES", "3"}, {"USER", "ann"}});
  return steward::steward_main(Args(argv + 2, argv + argc), env);
}
