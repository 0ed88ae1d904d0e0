#include "engine/cluster/slurm_engine.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/cluster/cluster_job.h"
#include "engine/cluster/slurm_run.h"
#include "engine/job_folder.h"
#include "engine/slurm/never.h"
#include "image/kept/pack_layer.h"
#include "image/layers/bytes.h"
#include "net/addresses/interfaces.h"
#include "net/loop/worker.h"

namespace muster::cluster {
namespace {

/// Slurm mostly starts a job at once where nodes are free: it is asked soon, then seldomer.
constexpr std::chrono::milliseconds first_look{100};
constexpr int soon_looks = 5;
constexpr int looks_that_grow = 6;
/// The roll call's port is chosen at random for each attempt: jobs may share a node. The range lies
/// below the kernel's own choices (net.ipv4.ip_local_port_range).
constexpr int rollcall_port_min = 20'000;
constexpr int rollcall_ports = 12'000;
/// For the layers of an image to come to a node.
constexpr std::chrono::hours layers_max{1};
/// Jobs that end with their submitter continue for this time without a sign of life.
constexpr std::chrono::minutes alone_max{1};

/// Where links are listened for: where the config says that nodes find this machine, if that is one
/// address of it. Else anywhere.
std::string only_address(const std::vector<std::string>& asked) {
  const Result<std::vector<InterfaceAddress>> own = interface_addresses();
  if (asked.size() != 1 || !own) return {};
  const auto is_it = [&](const InterfaceAddress& each) { return each.address == asked.front(); };
  return std::any_of(own->begin(), own->end(), is_it) ? asked.front() : std::string();
}

/// Addresses by which other machines reach this one, as far as it knows.
Result<std::vector<std::string>> own_addresses() {
  std::vector<std::string> addresses;
  for (const InterfaceAddress& each : TRY(interface_addresses()))
    if (each.is_v4 && each.is_up && !each.is_loopback) addresses.push_back(each.address);
  if (addresses.empty())
    return fail(Errc::system, "this machine has no address that the nodes can reach");
  return addresses;
}

/// `nonce`: 16 hex digits.
int port_from(const std::string& nonce) {
  const unsigned long number = std::stoul(nonce.substr(0, 4), nullptr, 16);
  return rollcall_port_min + static_cast<int>(number % rollcall_ports);
}

}  // namespace

SlurmEngine::SlurmEngine(supervise::Programs& programs, Options options)
    : options_(std::move(options)),
      slurm_(programs, options_.env),
      look_sooner_(programs.loop()),
      tasks_(programs.loop()) {
  tasks_.start(ask());
}

SlurmEngine::~SlurmEngine() = default;

loop::Task<Result<std::unique_ptr<engine::Run>>> SlurmEngine::start(job::Spec spec) {
  using Started = Result<std::unique_ptr<engine::Run>>;
  if (const Result<void> right = job::check(spec); !right) co_return right.error();
  const Result<Delivery> delivery = plan_delivery(spec, "/", site(spec), options_.shared);
  if (!delivery) co_return delivery.error();
  // Without an answer it is not known: then the job waits, as for any reason that may pass.
  const Result<std::vector<slurm::Node>> nodes = co_await slurm_.nodes("");
  std::string never = nodes ? slurm::why_never(wish(spec), site(spec), *nodes) : "";
  if (!never.empty() && site(spec).partition.empty() && co_await slurm_.may_route())
    never = slurm::why_never(wish(spec), site(spec), *nodes, true);
  if (!never.empty()) co_return fail(Errc::invalid_input, never);
  if (const Result<void> made = make_folders(options_.state, 0700); !made) co_return made.error();
  const Result<void> noted = note_private_folder(options_.folder_register, options_.state);
  if (!noted) co_return noted.error();
  Result<engine::JobFolder> folder = engine::JobFolder::create(root(), spec.name);
  if (!folder) co_return folder.error();
  const std::shared_ptr<ClusterJob> job =
      std::make_shared<ClusterJob>(*this, spec, *std::move(folder));
  Result<void> done;
  // A sweep passes over a job that goes on without its engine.
  if (!options_.lifeline) done = job->folder()->mark_kept();
  if (done) done = write_file(job->path() + "/job.json", to_text(job::to_json(spec)), 0600);
  if (done) done = co_await pack(*job, delivery->folders);
  if (done) done = co_await job->submit();
  Started run = done ? SlurmRun::follow(*this, job, true) : Started(done.error());
  if (!run) {
    static_cast<void>(remove_shared(job->path()));
    static_cast<void>(job->folder()->remove());
  }
  if (run) jobs_[spec.name] = job;
  co_return run;
}

/// The archive of what the job brings, and a place in the shared folder where there is one.
loop::Task<Result<void>> SlurmEngine::pack(ClusterJob& job, std::vector<Brought> folders) {
  const auto shared = std::make_shared<std::optional<SharedPlaces>>();
  const auto left_out = std::make_shared<std::vector<std::string>>();
  const std::string program = options_.node_program.empty() ? options_.program : std::string();
  const std::function<Result<void>()> work = [folders, shared, left_out, program,
                                              share = options_.shared,
                                              own = job.path()]() -> Result<void> {
    if (!share.empty()) *shared = TRY(make_shared(share, own, program));
    const std::string archive = (share.empty() ? own : (*shared)->folder) + "/archive";
    if (!folders.empty()) *left_out = TRY(make_archive(folders, archive));
    if (share.empty()) return {};
    if (!folders.empty()) (*shared)->archive = {archive, TRY(image::digest_of_file(archive))};
    return write_shared(own, **shared);
  };
  const Result<void> done = co_await loop::in_thread(loop(), work);
  job.set_shared(std::move(*shared));
  for (const std::string& link : *left_out)
    job.note("not copied to the nodes, because the link leads out of its folder: " + link);
  co_return done;
}

loop::Task<Result<std::unique_ptr<engine::Run>>> SlurmEngine::attach(std::string name) {
  if (const auto known = jobs_.find(name); known != jobs_.end())
    co_return SlurmRun::follow(*this, known->second, true);
  const std::string path = root() + "/jobs/" + name;
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    co_return fail(Errc::not_found, "there is no job named " + name + " on this cluster");
  Result<engine::JobFolder> folder = engine::JobFolder::take(path);
  if (!folder) co_return folder.error();
  const Result<std::string> text = read_file(path + "/job.json");
  const Result<Json> json = text && !text->empty() ? parse_json(*text) : Json::object();
  Result<job::Spec> spec = json ? job::spec_from(*json) : json.error();
  job::Spec nothing;
  nothing.name = name;
  const bool is_noted = spec.has_value();
  const std::shared_ptr<ClusterJob> job = std::make_shared<ClusterJob>(
      *this, is_noted ? *std::move(spec) : std::move(nothing), *std::move(folder));
  Result<bool> found = false;
  if (is_noted) found = co_await job->find_again();
  if (!found) co_return found.error();
  jobs_[name] = job;
  co_return SlurmRun::follow(*this, job, *found);
}

std::vector<std::string> SlurmEngine::list() const {
  return engine::JobFolder::names(root());
}

std::string SlurmEngine::journal_file(const std::string& job, const std::string& host) const {
  return root() + "/jobs/" + job + "/" + host + "/journal";
}

std::optional<InSlurm> SlurmEngine::in_slurm(const std::string& job) const {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? std::nullopt : known->second->in_slurm();
}

Result<std::unique_ptr<Links>> SlurmEngine::open_links(std::uint16_t port) {
  return options_.open_links
             ? options_.open_links(port)
             : Links::open(loop(), {.port = port, .address = only_address(options_.addresses)});
}

Result<Links*> SlurmEngine::links(std::uint16_t port) {
  std::unique_ptr<Links>& links = links_[port];
  if (!links) links = TRY(open_links(port));
  return links.get();
}

Result<std::uint16_t> SlurmEngine::port() {
  if (port_ != 0) return port_;
  std::unique_ptr<Links> links = TRY(open_links(options_.port));
  port_ = links->port();
  links_[port_] = std::move(links);
  return port_;
}

const slurm::Site& SlurmEngine::site(const job::Spec& spec) const {
  const auto found = options_.sites.find(spec.instance_type);
  return found == options_.sites.end() ? options_.site : found->second;
}

int SlurmEngine::spares(const job::Spec& spec) const {
  return spec.spares > 0 ? spec.spares : site(spec).spares;
}

slurm::Submission SlurmEngine::wish(const job::Spec& spec) const {
  slurm::Submission wish{.job = spec.name, .nonce = {}};
  wish.nodes = spec.instance_count;
  wish.spares = spares(spec);
  wish.memory_bytes = spec.memory_bytes;
  wish.cpu_millis = spec.cpu_millis;
  wish.gpus = spec.gpus;
  wish.run_time_max = spec.run_time_max;
  return wish;
}

int SlurmEngine::rollcall_port(const std::string& nonce) {
  return port_from(nonce);
}

Result<job::NodeJob> SlurmEngine::order(const job::Spec& spec,
                                        const slurm::Submission& submission) const {
  const NodePlaces places = places_of(submission);
  Delivery delivery = TRY(plan_delivery(spec, places.folder, site(spec), options_.shared));
  job::NodeJob order;
  order.addresses = options_.addresses.empty() ? TRY(own_addresses()) : options_.addresses;
  order.folder = places.folder;
  if (!delivery.folders.empty()) order.archive = places.archive;
  order.spec = std::move(delivery.spec);
  order.spec.spares = submission.spares;
  if (submission.spares > 0 && site(spec).hosts == slurm::Hosts::container)
    return fail(Errc::invalid_input,
                "container hosts of a Slurm cluster cannot have spares; use --slurm hosts=light");
  order.light = site(spec).hosts != slurm::Hosts::container;
  if (spec.image && spec.image->tool.empty()) {
    image::Documents documents = TRY(image::documents_of(spec.image->lease, spec.image->digest));
    order.image = job::NodeImage{options_.node_folder, std::move(documents.manifest),
                                 std::move(documents.config)};
    order.timing.begin = layers_max;
  }
  if (options_.lifeline) order.timing.alone = alone_max;
  if (kill_wait_) order.kill_wait = kill_wait_->time;
  order.rollcall_port = port_from(submission.nonce);
  return order;
}

loop::Task<> SlurmEngine::learn_graces(std::string partition) {
  const TimePoint until = Clock::now() + options_.settings_hold;
  if (!kill_wait_ || Clock::now() >= kill_wait_->until) {
    const std::optional<std::chrono::seconds> wait = co_await slurm_.kill_wait();
    if (wait) kill_wait_ = Known{std::min(*wait, job::stop_grace_max), until};
  }
  const auto known = grace_times_.find(partition);
  if (partition.empty() || (known != grace_times_.end() && Clock::now() < known->second.until))
    co_return;
  const std::optional<std::chrono::seconds> grace = co_await slurm_.grace_time(partition);
  if (grace) grace_times_[partition] = Known{std::min(*grace, job::stop_grace_max), until};
}

std::chrono::milliseconds SlurmEngine::preempt_grace(const std::string& partition) const {
  const auto known = grace_times_.find(partition);
  return known == grace_times_.end() ? std::chrono::seconds(0) : known->second.time;
}

void SlurmEngine::forget(const std::string& job) {
  jobs_.erase(job);
}

void SlurmEngine::look(ClusterJob& job) {
  const auto soon = first_look * (1 << std::clamp(job.looks - soon_looks, 0, looks_that_grow));
  look_at_ = std::min(look_at_, Clock::now() + std::min<Duration>(soon, options_.look_each));
  look_sooner_.notify();
}

/// When Slurm is to be asked next, after an answer or none.
void SlurmEngine::plan_look() {
  look_at_ = TimePoint::max();
  for (const auto& [name, job] : jobs_) {
    if (!job->asks()) continue;
    if (job->moves()) look(*job);
    look_at_ = std::min(look_at_, Clock::now() + options_.look_seldom);
  }
}

/// One question for all jobs. An answer that did not come changes nothing.
loop::Task<> SlurmEngine::ask() {
  while (true) {
    const bool sooner = co_await look_sooner_.wait_until(look_at_);
    if (sooner && Clock::now() < look_at_) continue;
    std::vector<std::shared_ptr<ClusterJob>> asking;
    for (const auto& [name, job] : jobs_)
      if (job->asks()) asking.push_back(job);
    for (const std::shared_ptr<ClusterJob>& job : asking) ++job->looks;
    if (!asking.empty()) {
      const Result<std::vector<slurm::QueuedJob>> rows = co_await slurm_.queue();
      for (const std::shared_ptr<ClusterJob>& job : asking)
        if (rows && job->asks()) job->on_queue(*rows);
    }
    plan_look();
  }
}

}  // namespace muster::cluster
