#include "steward_subject.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "../named_pipe.h"

namespace muster::contract {
namespace {

/// For a cluster to begin the job, where another may have to end before.
constexpr std::chrono::seconds ready_max{30};

/// `node --job FILE`; `steward --sweep`, `--clear FOLDER`, `--upload FOLDER [--completed]`, and
/// `--spec FILE`, with `--lifeline 3` on a node.
constexpr const char* script = R"(#!/bin/sh
case "$1 $2" in
"node --job")
  exec "$0-node" "$@" --steward "$0";;
"steward --sweep")
  [ -e "$MUSTER_STATE/jobs/demo/kept" ] || rm -rf "$MUSTER_STATE/jobs/demo"
  exit 0;;
"steward --clear")
  exit 0;;
"steward --upload")
  [ -e "$0-upload-fails" ] && { echo "sm steward: error: s3://b/x: no" >&2; exit 1; }
  [ -e "$3/uploaded.json" ] || echo '{}' > "$3/uploaded.json"
  cat "$3/uploaded.json"
  exit 0;;
esac
folder=${3%/spec.json}
host=${folder##*/}
if [ "$4" = --lifeline ]; then
  { trap '' TERM INT; read -r word <&3; kill -9 $$; } &
fi
trap 'exit 0' TERM INT
[ -e "$0-stubborn" ] && trap '' TERM
[ -e "$0-deaf" ] && trap '' TERM INT
exec 7<>"$0-$host" 8<>"$0-$host-ready"
echo >&8
while read -r order what where <&7; do
  case "$order" in
  end)
    exit "$what";;
  die)
    kill -9 $$;;
  append)
    cat "$what" >>"$folder/journal";;
  leave)
    mkdir -p "$folder/result/${where%/*}" && cp "$what" "$folder/result/$where";;
  esac
done
)";

}  // namespace

StewardSubject::StewardSubject(const std::string& parent) : FolderSubject(parent) {
  REQUIRE(write_file(program(), script, 0755));
  for (const std::string& host : job::host_names(3)) {
    pipes_[host].orders = make_pipe_at(program() + "-" + host);
    pipes_[host].ready = make_pipe_at(program() + "-" + host + "-ready");
  }
}

void StewardSubject::order(const std::string& host, const std::string& line) {
  REQUIRE(write_all(pipes_.at(host).orders.get(), line + "\n"));
}

void StewardSubject::ends(const std::string& host, int code) {
  order(host, "end " + std::to_string(code));
}

void StewardSubject::manner(Manner manner) {
  if (manner == Manner::stubborn) REQUIRE(write_file(program() + "-stubborn", ""));
  if (manner == Manner::deaf) REQUIRE(write_file(program() + "-deaf", ""));
}

loop::Task<> StewardSubject::ready(std::string host) {
  const int pipe = pipes_.at(host).ready.get();
  loop::Watch watch(loop(), pipe);
  const bool is_ready = co_await watch.readable(Clock::now() + ready_max);
  REQUIRE(is_ready);
  char line = 0;
  REQUIRE(::read(pipe, &line, 1) == 1);
}

void StewardSubject::end_jobs() {
  const auto end = [this](std::string name) -> loop::Task<> {
    const RunResult run = co_await engine().attach(name);
    if (!run) co_return;
    for (const std::string& host : (*run)->hosts()) (*run)->destroy(host);
    bool is_over = false;
    while (!is_over) is_over = co_await is_closed(**run);
    static_cast<void>(co_await (*run)->release(false));
  };
  for (const std::string& job : engine().list()) run([&] { return end(job); });
}

}  // namespace muster::contract
