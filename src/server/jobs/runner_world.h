#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "engine/fake.h"
#include "net/loop/testing.h"
#include "server/jobs/priority.h"
#include "server/jobs/runner.h"

/// For the tests of this room: a runner on a fake engine.
namespace muster::jobs {

using job::Outcome;
using job::Phase;

inline Json input_of(const std::string& name, int hosts, const std::string& image) {
  return {{"TrainingJobName", name},
          {"AlgorithmSpecification", {{"TrainingImage", image}, {"TrainingInputMode", "File"}}},
          {"OutputDataConfig", {{"S3OutputPath", "s3://b/out"}}},
          {"ResourceConfig", {{"InstanceType", "ml.one"}, {"InstanceCount", hosts}}}};
}

inline const std::string image_digest = "sha256:" + std::string(64, 'a');

/// A server's jobs on a fake engine, with room for two hosts. Its server can be started again.
struct World {
  World() : cluster(loop), engine(cluster) {
    cluster.journals = folder;
    serve();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    runner.reset();
    static_cast<void>(remove_tree(folder));
  }

  /// As a server that starts: what the one before had in memory is gone.
  void serve() { serve(usual_options()); }
  void serve(Runner::Options options) {
    runner.reset();
    ring.emplace();
    logs.emplace(store, api::Realm{}, journals);
    metrics.emplace(loop, store, journals);
    runner.emplace(loop, engine, journals, store, *logs, *metrics, *ring, log, std::move(options));
  }
  Runner::Options usual_options() {
    Runner::Options options;
    options.in_slurm = [this](const std::string&) { return slurm; };
    options.data = folder;
    options.now = [this] { return wall_time() + ahead; };
    options.fresh_key = [this] {
      store::AccessKey key;
      key.id = "JOBKEY" + std::to_string(++keys_made);
      key.secret = "a-secret-of-the-test";
      return key;
    };
    JobPreparation::Options& preparation = options.preparation;
    preparation.config = *job_config_from(Json::parse(config));
    if (fit) options.fit_gpus = [this] { return look(*this); };
    if (fit) count_in_gpus(preparation.config, fit->count, fit->unfit);
    options.gpu_look = gpu_look;
    preparation.config.waiting_max = waiting_max;
    options.read_at_start = read_at_start;
    preparation.endpoint = "http://127.0.0.1:1";
    preparation.region = "eu-1";
    preparation.interpreter =
        [this](std::string python) -> loop::Task<Result<platform::Interpreter>> {
      return find(*this, std::move(python));
    };
    options.bring_image = [this](job::ImageWish wish, std::function<void()> on_pull) {
      return bring(*this, std::move(wish), std::move(on_pull));
    };
    return options;
  }
  static loop::Task<std::optional<FitGpus>> look(World& world) {
    ++world.looks;
    co_return world.fit;
  }
  static loop::Task<Result<platform::Interpreter>> find(World& world, std::string python) {
    if (world.no_python) co_return fail(Errc::not_found, python + ": not found");
    co_return platform::Interpreter{"/usr/bin/python3", {}};
  }

  static loop::Task<Result<HeldImage>> bring(World& world, job::ImageWish wish,
                                             std::function<void()> on_pull) {
    world.wishes.push_back(wish);
    on_pull();
    while (world.pull_hangs) co_await world.loop.turn();
    if (world.no_image) co_return fail(Errc::invalid_input, "the image cannot be pulled: gone");
    HeldImage held;
    held.image.name = wish.name;
    held.image.digest = image_digest;
    held.image.layers = {"/layer"};
    co_return held;
  }

  engine::FakeJob& job(const std::string& name, int hosts = 1) {
    if (cluster.has(name)) return cluster.job(name);
    job::Spec spec;
    spec.name = name;
    spec.instance_count = hosts;
    return cluster.job(spec);
  }
  void submit(const std::string& name, int hosts = 1, const std::string& key = "AK",
              int priority = 0, const std::string& image = "host") {
    const Json input = input_of(name, hosts, image);
    const Turn turn{key, priority, wall_time()};
    store::Tags tags;
    if (priority > 0) tags.emplace_back(priority_tag, std::to_string(priority));
    REQUIRE(store.submit({name, "arn:" + name, to_text(input), tags, turn.submitted, "", key}));
    runner->submitted(name, *api::job_request(input), turn);
  }
  store::Job stored(const std::string& name) { return **store.job(name); }
  std::string secondary(const std::string& name) {
    return stored(name).state.transitions.back().status;
  }
  void stop(const std::string& name) {
    REQUIRE(store.set_status(
        name, {store::Status::stopping, "Stopping", "Stopping the training job", wall_time()}));
    runner->stop(name);
  }
  bool has_ended(const std::string& name) {
    return store::is_terminal(stored(name).state.status) && !cluster.has(name);
  }
  loop::Task<> until(std::function<bool()> holds) {
    while (!holds()) co_await loop.turn();
  }
  loop::Task<> until_begun(std::string name) {
    return until([this, name] { return cluster.has(name) && cluster.job(name).begun; });
  }
  loop::Task<> until_ended(std::string name) {
    return until([this, name] { return has_ended(name); });
  }
  bool has_logged(const std::string& text) const {
    return read_file(folder + "/log")->find(text) != std::string::npos;
  }
  void run(loop::Task<> story) { loop::run_task(loop, std::move(story)); }

  std::string folder = *make_private_folder("/tmp", "muster-runner-");
  Fd logged{::open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  Log log{logged.get(), "test", Log::Level::info};
  loop::Loop loop;
  engine::FakeCluster cluster;
  engine::FakeEngine engine;
  server::JournalFiles journals{folder + "/journals", engine};
  store::Store store = *store::Store::open(folder + "/store.db");
  std::optional<access::KeyRing> ring;
  std::optional<cloudwatch::Logs> logs;
  std::optional<cloudwatch::Metrics> metrics;
  std::optional<Runner> runner;
  int keys_made = 0;
  std::chrono::milliseconds ahead{0};  ///< The clock of the server that starts next.
  std::size_t waiting_max = 10'000;
  std::string config = R"({"capacity": {"ml.one": 2}, "registries": ["*"]})";
  std::optional<FitGpus> fit;  ///< None: the machine has no GPUs.
  Duration gpu_look = std::chrono::hours(1);
  int looks = 0;  ///< How often the server asked for `fit`.
  std::chrono::milliseconds read_at_start{200};
  bool no_python = false;
  Json slurm;  ///< Each job's.
  bool no_image = false;
  bool pull_hangs = false;
  std::vector<job::ImageWish> wishes;  ///< What images were asked for.
};

inline void complete(engine::FakeJob& job) {
  for (auto& [name, host] : job.hosts) {
    host.phase(Phase::downloading).phase(Phase::training).verdict({});
    host.outcome(Outcome::exited(0)).ends();
  }
}

inline std::vector<std::string> secondaries(const store::Job& job) {
  std::vector<std::string> names;
  for (const store::Transition& each : job.state.transitions) names.push_back(each.status);
  return names;
}

}  // namespace muster::jobs
