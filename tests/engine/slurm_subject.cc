#include "slurm_subject.h"

#include <doctest/doctest.h>

#include "base/fd.h"

namespace muster::contract {
namespace {

/// What `sm` and Slurm's commands do here, by their names.
constexpr const char* script = R"(#!/bin/sh
case "${0##*/}" in
sm)
  [ -e "$0-upload-fails" ] && { echo "sm steward: error: s3://b/x: no" >&2; exit 1; }
  [ -e "$3/uploaded.json" ] || echo '{}' > "$3/uploaded.json"
  cat "$3/uploaded.json";;
sbatch)
  [ -e "$0-refuses" ] && { echo "sbatch: error: Requested node configuration" >&2; exit 1; }
  for word; do case "$word" in --job-name=*) echo "${word#--job-name=}" >> "$0-names";; esac; done
  grep -c . "$0-names";;
squeue)
  [ -e "${0%/*}/sbatch-names" ] || exit 0
  n=0
  while read -r name; do
    n=$((n + 1))
    echo "$n|RUNNING|None|1|node1|0:01|N/A|N/A|root|main|$name"
  done < "${0%/*}/sbatch-names";;
sbcast)
  for word; do case "$word" in */order) cp "$word" "$0-new" && mv "$0-new" "$0-order";; esac; done;;
scancel)
  sleep 0.2 # A controller that takes its time.
  echo "$1" >> "$0-told";;
scontrol)
  cat "$0-config" 2> /dev/null;;
esac
)";

class FakeAttemptLinks final : public cluster::AttemptLinks {
 public:
  explicit FakeAttemptLinks(FakeNodes& nodes) : nodes_(nodes) {}
  loop::Task<Result<cluster::LinkEvent>> next_event() override {
    while (nodes_.events.empty()) co_await nodes_.moved->wait();
    cluster::LinkEvent event = std::move(nodes_.events.front());
    nodes_.events.pop_front();
    co_return event;
  }
  void begin(std::chrono::milliseconds) override { nodes_.begin(); }
  void preempted() override {}
  void stop(const std::string& host, std::chrono::milliseconds grace) override {
    nodes_.stop(host, grace);
  }
  void end(const std::string& host, const std::string&) override {
    FakeNodes::Node& node = nodes_.node(host);
    if (!node.is_over) nodes_.tell({.kind = cluster::LinkEvent::Kind::silent, .host = host});
    node.is_over = true;
  }
  void give(const std::string& host) override {
    if (nodes_.is_cut_off) return;
    nodes_.tell({.kind = cluster::LinkEvent::Kind::given, .host = host});
  }
  loop::Task<void> forget_results() override { co_return; }
  void again(const std::string&, const job::NodeAgain&) override {}
  bool can_go_on(const std::string& host) const override { return connected(host); }
  loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question) override {
    co_return fail(Errc::closed, host + ": no processes here");
  }
  void note(const std::string&, const std::vector<job::LogLine>&) override {}
  void done(const std::string&) override {}
  loop::Task<void> flushed(Duration) override { co_return; }
  bool connected(const std::string& host) const override { return !nodes_.node(host).is_over; }

 private:
  FakeNodes& nodes_;
};

class FakeLinks final : public cluster::Links {
 public:
  explicit FakeLinks(FakeNodes& nodes) : nodes_(nodes) {}
  std::uint16_t port() const override { return 7; }
  Result<std::shared_ptr<cluster::AttemptLinks>> expect(cluster::ExpectedNodes nodes) override {
    nodes_.expect(nodes);
    return std::shared_ptr<cluster::AttemptLinks>(std::make_shared<FakeAttemptLinks>(nodes_));
  }
  void fence(const std::string& nonce, const std::string&) override {
    nodes_.fenced.push_back(nonce);
  }

 private:
  FakeNodes& nodes_;
};

}  // namespace

/// Nodes that were there before report it again.
void FakeNodes::expect(const cluster::ExpectedNodes& nodes) {
  if (nodes.nonce != nonce_) nodes_.clear();
  begun_ = begun_ && nodes.nonce == nonce_;
  nonce_ = nodes.nonce;
  folder_ = nodes.folder;
  moved = std::make_shared<loop::Event>(loop_);
  events.clear();
  for (const std::string& host : nodes.hosts) {
    if (!nodes_.contains(host)) nodes_[host].manner = manner;
    if (is_cut_off) continue;
    tell({.kind = cluster::LinkEvent::Kind::joined,
          .host = host,
          .node = "node" + host.substr(5),
          .address = "10.0.0." + host.substr(5)});
    if (nodes_[host].is_over)
      tell(
          {.kind = cluster::LinkEvent::Kind::ended, .host = host, .outcome = nodes_[host].outcome});
  }
}

void FakeNodes::tell(cluster::LinkEvent event) {
  event.time = wall_time();
  events.push_back(std::move(event));
  moved->notify();
}

void FakeNodes::ends(const std::string& host, job::Outcome outcome) {
  Node& node = nodes_[host];
  if (node.is_over) return;
  node.is_over = true;
  node.outcome = outcome;
  tell({.kind = cluster::LinkEvent::Kind::ended, .host = host, .outcome = std::move(outcome)});
}

void FakeNodes::begin() {
  begun_ = true;
  moved->notify();
}

loop::Task<> FakeNodes::begun() {
  while (!begun_) co_await moved->wait();
}

void FakeNodes::stop(const std::string& host, std::chrono::milliseconds grace) {
  const Subject::Manner own = nodes_[host].manner;
  if (own == Subject::Manner::deaf) return;
  if (own == Subject::Manner::stubborn && grace.count() > 0) return;
  ends(host, job::Outcome::exited(0));
}

SlurmSubject::SlurmSubject() : nodes_(loop()) {
  for (const char* name : {"sm", "sbatch", "squeue", "sinfo", "sbcast", "scancel", "scontrol"})
    REQUIRE(write_file(folder() + "/" + name, script, 0755));
  restart();
}

SlurmSubject::~SlurmSubject() {
  full_disk(false);
  engine_.reset();
}

void SlurmSubject::restart() {
  engine_.reset();
  nodes_.fenced.clear();
  cluster::SlurmEngine::Options options;
  options.state = folder() + "/state";
  options.program = program();
  options.addresses = {"127.0.0.1"};
  options.folder_register = folder() + "/folders";
  options.env = {{"PATH", folder() + ":/usr/bin:/bin"}};
  options.times = times_;
  options.open_links = [this](std::uint16_t) -> Result<std::unique_ptr<cluster::Links>> {
    return std::unique_ptr<cluster::Links>(std::make_unique<FakeLinks>(nodes_));
  };
  engine_ = std::make_unique<cluster::SlurmEngine>(programs(), options);
}

void SlurmSubject::leaves(const std::string& host, const std::string& path,
                          const std::string& text) {
  const std::string file = nodes_.folder() + "/" + host + "/result/" + path;
  REQUIRE(make_folders(file.substr(0, file.rfind('/'))));
  REQUIRE(write_file(file, text));
}

void SlurmSubject::ends(const std::string& host, int code) {
  nodes_.ends(host, job::Outcome::exited(code));
}

loop::Task<> SlurmSubject::ready(std::string) {
  co_await nodes_.begun();
}

void SlurmSubject::cut_short(const job::Spec& spec) {
  leave_half_a_start(folder() + "/state/slurm", spec);
}

void SlurmSubject::configured(const std::string& text) {
  REQUIRE(write_file(folder() + "/scontrol-config", text));
}

std::string SlurmSubject::order() const {
  return read_file(folder() + "/sbcast-order").value_or("");
}

std::string SlurmSubject::cancelled() const {
  return read_file(folder() + "/scancel-told").value_or("");
}

void SlurmSubject::refuses_submissions() {
  REQUIRE(write_file(folder() + "/sbatch-refuses", ""));
}

void SlurmSubject::forget_submissions() {
  REQUIRE(write_file(folder() + "/sbatch-names", ""));
}

}  // namespace muster::contract
