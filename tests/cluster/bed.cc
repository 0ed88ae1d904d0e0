#include "bed.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "../named_pipe.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "base/text.h"
#include "os/supervise/spawn.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;

/// `steward --spec FILE --lifeline 3`
constexpr const char* script = R"(#!/bin/sh
folder=${3%/spec.json}
host=${folder##*/}
trap 'printf TERM >>"$folder/journal"; [ -e "$0-stubborn" ] || exit 0' TERM
trap 'exit 0' INT
(read -r word <&3; rm -rf "$folder"; kill -9 $$) &
env >"$folder/environment"
exec 7<>"$0-$host" 8<>"$0-$host-ready"
echo >&8
until read -r code <&7; do :; done
exit "$code"
)";

Fd listener_on_loopback(std::uint16_t& port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), 64) == 0);
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Bed::Bed(int hosts)
    : folder_(*make_private_folder("/tmp", "muster-link-")),
      hosts_(job::host_names(hosts)),
      reaper_(loop_),
      moved_(loop_) {
  REQUIRE(write_file(steward(), script, 0755));
  REQUIRE(make_folders(folder_ + "/engine", 0700));
  for (const std::string& host : hosts_) {
    nodes_[host].orders = make_pipe_at(steward() + "-" + host);
    nodes_[host].ready = make_pipe_at(steward() + "-" + host + "-ready");
  }
  open_engine();
}

Bed::~Bed() {
  const auto end_all = [this]() -> loop::Task<> {
    static_cast<void>(co_await reaper_.kill_descendants(Clock::now() + 10s));
  };
  run(end_all());
  close_engine();
  static_cast<void>(remove_tree(folder_));
}

ExpectedNodes Bed::attempt() const {
  return {nonce, std::string(32, 'k'), hosts_, folder_ + "/engine"};
}

void Bed::open_engine() {
  Links::Options options;
  options.port = port_;
  options.timing = node_job("algo-1").timing;
  options.trouble = [this](const std::string& text) {
    troubles_.push_back(text);
    moved_.notify();
  };
  Result<std::unique_ptr<Links>> links = Links::open(loop_, options);
  REQUIRE(links);
  links_ = *std::move(links);
  port_ = links_->port();
  attempt_ = *links_->expect(attempt());
}

void Bed::close_engine() {
  attempt_.reset();
  links_.reset();
}

void Bed::open_relay() {
  relay_listener_ = listener_on_loopback(relay_port_);
  join_relay();
}

void Bed::join_relay() {
  Fd again(::fcntl(relay_listener_.get(), F_DUPFD_CLOEXEC, 3));
  relay_ = loop::Relay::open(loop_, std::move(again), {.host = "127.0.0.1", .port = port_});
}

job::NodeJob Bed::node_job(const std::string& host) const {
  job::NodeJob job;
  job.nonce = nonce;
  job.key = std::string(32, 'k');
  job.job_key = std::string(32, 'j');
  job.addresses = {"127.0.0.1"};
  job.port = relay_port_ > 0 ? relay_port_ : port_;
  job.folder = node_folder(host);
  job.spec.name = "demo";
  job.spec.instance_count = static_cast<int>(hosts_.size());
  job.spec.network = job::Network::nat;
  job.light = true;
  job.kill_wait = 10s;
  job.timing = {.beat = 100ms, .silence = 2s, .begin = 30s, .linger = 30s};
  return job;
}

void Bed::start_node(const std::string& host, const job::NodeJob& job) {
  const std::string file = node_folder(host) + ".json";
  REQUIRE(write_file(file, to_text(job::to_json(job)), 0600));
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd log(::open((node_folder(host) + ".log").c_str(),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string number = std::to_string(std::stoi(host.substr(5)) - 1);
  const Command command{.argv = {MUSTER_NODE_PROGRAM, "--job", file, "--steward", steward()},
                        .env = {{"PATH", "/usr/bin:/bin"},
                                {"SLURM_PROCID", number},
                                {"SLURMD_NODENAME", "n" + number}},
                        .cwd = "/"};
  const Result<pid_t> pid =
      supervise::spawn(command, {null.get(), null.get(), log.get(), {}}, {.own_session = true});
  REQUIRE(pid);
  Node& node = nodes_[host];
  node.pid = *pid;
  node.outcome.reset();
  reaper_.watch(*pid, [this, host](job::Outcome outcome) {
    nodes_[host].outcome = std::move(outcome);
    moved_.notify();
  });
}

void Bed::start_nodes() {
  for (const std::string& host : hosts_) start_node(host);
}

void Bed::signal_node(const std::string& host, int number) {
  reaper_.signal(nodes_[host].pid, number);
}

void Bed::kill_node(const std::string& host) {
  const id_t pid = static_cast<id_t>(nodes_[host].pid);
  signal_node(host, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, pid, &info, WEXITED | WNOWAIT) != 0) REQUIRE(errno == EINTR);
}

loop::Task<job::Outcome> Bed::ended(std::string host) {
  const TimePoint deadline = Clock::now() + 30s;
  bool in_time = true;
  while (!nodes_[host].outcome && in_time) in_time = co_await moved_.wait_until(deadline);
  REQUIRE(nodes_[host].outcome);
  co_return *nodes_[host].outcome;
}

std::string Bed::said_by(const std::string& host) const {
  return read_file(node_folder(host) + ".log").value_or("");
}

loop::Task<LinkEvent> Bed::next(LinkEvent::Kind kind) {
  Result<LinkEvent> event = co_await attempt_->next_event();
  REQUIRE(event);
  CAPTURE(event->text);
  CAPTURE(event->outcome.text);
  REQUIRE(static_cast<int>(event->kind) == static_cast<int>(kind));
  co_return *std::move(event);
}

loop::Task<> Bed::ready(std::string host) {
  loop::Watch watch(loop_, nodes_[host].ready.get());
  const bool is_ready = co_await watch.readable(Clock::now() + 30s);
  REQUIRE(is_ready);
  char line = 0;
  REQUIRE(::read(nodes_[host].ready.get(), &line, 1) == 1);
}

loop::Task<> Bed::begin(std::chrono::milliseconds preempt_grace) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const LinkEvent joined = co_await next(LinkEvent::Kind::joined);
    CHECK(joined.address == "127.0.0.1");
    CHECK(joined.node == "n" + std::to_string(std::stoi(joined.host.substr(5)) - 1));
  }
  attempt_->begin(preempt_grace);
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    static_cast<void>(co_await next(LinkEvent::Kind::began));
  for (const std::string& host : hosts_) co_await ready(host);
}

void Bed::writes(const std::string& host, const std::string& bytes) {
  const Fd file(::open((host_folder(host) + "/journal").c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  REQUIRE(file);
  REQUIRE(write_all(file.get(), bytes));
}

void Bed::stewards_are_stubborn() {
  REQUIRE(write_file(steward() + "-stubborn", ""));
}

void Bed::leaves(const std::string& host, const std::string& path, const std::string& text) {
  const std::string file = host_folder(host) + "/result/" + path;
  REQUIRE(make_folders(file.substr(0, file.rfind('/'))));
  REQUIRE(write_file(file, text));
}

void Bed::ends(const std::string& host, int code) {
  REQUIRE(write_all(nodes_[host].orders.get(), std::to_string(code) + "\n"));
}

std::string Bed::copy(const std::string& host) const {
  return read_file(copy_folder(host) + "/journal").value_or("");
}

loop::Task<> Bed::until_copied(std::string host, std::string bytes) {
  loop::Timer pause(loop_);
  const TimePoint deadline = Clock::now() + 30s;
  while (copy(host).size() < bytes.size() && Clock::now() < deadline) co_await pause.after(2ms);
  CHECK(copy(host) == bytes);
}

}  // namespace muster::cluster
