#include "local_subject.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/job_folder.h"

namespace muster::contract {
namespace {

constexpr int ready_limit_ms = 20'000;

/// `steward --spec FILE --gate 5`, `steward --sweep`, `steward --upload FOLDER [--completed]`.
constexpr const char* script = R"(#!/bin/sh
case "$2" in
--sweep)
  [ -e "$MUSTER_STATE/jobs/demo/kept" ] || rm -rf "$MUSTER_STATE/jobs/demo"
  exit 0;;
--upload)
  [ -e "$0-upload-fails" ] && { echo "sm steward: error: s3://b/x: no" >&2; exit 1; }
  [ -e "$3/uploaded.json" ] || echo '{}' > "$3/uploaded.json"
  cat "$3/uploaded.json"
  exit 0;;
esac
folder=${3%/spec.json}
host=${folder##*/}
trap 'exit 0' TERM INT
[ -e "$0-stubborn" ] && trap '' TERM
[ -e "$0-deaf" ] && trap '' TERM INT
exec 7<>"$0-$host" 8<>"$0-$host-ready"
echo >&8
read -r code <&7
exit "$code"
)";

Fd make_pipe_at(const std::string& path) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(fd);
  return fd;
}

}  // namespace

LocalSubject::LocalSubject() : state_(folder() + "/state") {
  REQUIRE(write_file(program(), script, 0755));
  for (const std::string& host : job::host_names(3)) {
    hosts_[host].orders = make_pipe_at(program() + "-" + host);
    hosts_[host].ready = make_pipe_at(program() + "-" + host + "-ready");
  }
  restart();
}

LocalSubject::~LocalSubject() {
  full_disk(false);
  for (const std::string& job : engine_->list()) {  // What the test has left running.
    const auto end = [this](std::string name) -> loop::Task<> {
      RunResult run = co_await engine_->attach(name);
      if (!run) co_return;
      for (const std::string& host : (*run)->hosts()) (*run)->destroy(host);
      bool is_over = false;
      while (!is_over) is_over = co_await is_closed(**run);
    };
    loop::run_task(loop(), end(job));
  }
  engine_.reset();
}

void LocalSubject::restart() {
  local::LocalEngine::Options options;
  options.state = state_;
  options.program = program();
  options.network_register = folder() + "/subnets";
  options.folder_register = folder() + "/folders";
  options.env = {{"PATH", "/usr/bin:/bin"}};
  options.lifeline = false;
  engine_ = std::make_unique<local::LocalEngine>(programs(), options);
}

void LocalSubject::leaves(const std::string& host, const std::string& path,
                          const std::string& text) {
  const std::string file = host_folder(host) + "/result/" + path;
  REQUIRE(make_folders(file.substr(0, file.rfind('/'))));
  REQUIRE(write_file(file, text));
}

void LocalSubject::ends(const std::string& host, int code) {
  REQUIRE(write_all(hosts_[host].orders.get(), std::to_string(code) + "\n"));
}

void LocalSubject::manner(Manner manner) {
  if (manner == Manner::stubborn) REQUIRE(write_file(program() + "-stubborn", ""));
  if (manner == Manner::deaf) REQUIRE(write_file(program() + "-deaf", ""));
}

loop::Task<> LocalSubject::ready(std::string host) {
  pollfd wait{hosts_[host].ready.get(), POLLIN, 0};
  REQUIRE(::poll(&wait, 1, ready_limit_ms) == 1);
  std::array<char, 16> line{};
  REQUIRE(::read(wait.fd, line.data(), line.size()) > 0);
  co_return;
}

void LocalSubject::cut_short(const job::Spec& spec) {
  const Result<engine::JobFolder> folder = engine::JobFolder::create(state_, spec.name);
  REQUIRE(folder);
  REQUIRE(write_file(folder->path() + "/job.json", to_text(job::to_json(spec))));
  REQUIRE(make_folders(host_folder("algo-1")));
  REQUIRE(write_file(host_folder("algo-1") + "/steward.pid", "1 1\n"));
}

}  // namespace muster::contract
