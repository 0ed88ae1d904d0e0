#include "engine/local/local_engine.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "engine/job_folder.h"
#include "engine/local/gpu_register.h"
#include "engine/local/job_network.h"
#include "engine/local/local_run.h"
#include "net/loop/tasks.h"

namespace muster::local {
namespace {

static_assert(job::hosts_max < 254, "hosts have the addresses .1 to .253 of a /24");
constexpr std::chrono::seconds sweep_limit{60};
constexpr std::chrono::seconds answer_limit{10};

/// 3 for "algo-3".
std::uint32_t number_of(const std::string& host) {
  const std::optional<std::int64_t> number = parse_integer(host.substr(host.rfind('-') + 1));
  return static_cast<std::uint32_t>(number.value_or(0));
}

bool wants_gpus(const job::Spec& spec) {
  const std::vector<std::string> hosts = job::host_names(spec.instance_count);
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return job::gpus_of(spec, host) > 0; });
}

/// Hosts with GPUs on one machine each have their own /dev/shm, and NCCL sees that.
constexpr const char* apart_note =
    "GPUs of different hosts exchange data over sockets, without P2P and shared memory: for full "
    "speed on one machine use --hosts 1 --gpus N";

/// All hosts' addresses, from what one of them was given; none where that cannot be read.
std::map<std::string, std::string> addresses_in(const std::string& host_folder) {
  std::map<std::string, std::string> addresses;
  const Result<job::HostSpec> spec = given_to(host_folder);
  if (spec)
    for (const job::HostAddress& host : spec->hosts) addresses[host.name] = host.address;
  return addresses;
}

}  // namespace

std::vector<job::HostSpec> host_specs(const job::Spec& spec, const std::string& state,
                                      const std::string& job_folder, const std::string& key_file,
                                      const Network& network) {
  std::vector<job::HostAddress> addresses;
  std::vector<job::PlacedAddress> placed;  // By the hosts' numbers, from 0; none: no VPC.
  if (spec.vpc) placed = addresses_of(*spec.vpc, spec.instance_count).value_or({});
  for (const std::string& name : job::host_names(spec.instance_count))
    addresses.push_back({name, spec.vpc ? placed.at(number_of(name) - 1).address
                               : spec.network == job::Network::host
                                   ? "127.0.0.1"
                                   : address_in(network.subnet, number_of(name))});
  std::vector<job::HostSpec> specs;
  for (const job::HostAddress& address : addresses) {
    job::HostSpec host;
    host.spec = spec;
    host.host = address.name;
    host.hosts = addresses;
    host.bridge = network.bridge;
    host.first_id = network.first_id;
    host.prefix_length = network.subnet.prefix_length;
    if (spec.vpc) {
      host.prefix_length = placed.at(number_of(address.name) - 1).subnet.prefix_length;
      host.machine_subnet = cidr(network.subnet);
    }
    host.state_folder = state;
    host.job_folder = job_folder;
    host.host_folder = job_folder + "/" + address.name;
    host.key_file = key_file;
    specs.push_back(std::move(host));
  }
  return specs;
}

Result<job::HostSpec> given_to(const std::string& host_folder) {
  const std::string path = host_folder + "/spec.json";
  const Result<Json> json = parse_json(TRY(read_file(path)));
  if (!json) return json.error().in(path);
  Result<job::HostSpec> spec = job::host_spec_from(*json);
  if (!spec) return spec.error().in(path);
  return spec;
}

LocalEngine::LocalEngine(supervise::Programs& programs, Options options)
    : programs_(programs), options_(std::move(options)) {}

loop::Task<Result<std::unique_ptr<engine::Run>>> LocalEngine::start(job::Spec spec) {
  GpuAnswers answers;
  if (wants_gpus(spec)) answers = co_await ask_of_gpus();
  co_return start_now(spec, answers);
}

/// What the program prints; nothing where it is missing, fails or is silent.
loop::Task<std::string> LocalEngine::answer_of(Args argv) {
  Command command{.argv = std::move(argv), .env = options_.env, .cwd = "/"};
  Result<supervise::Programs::Done> done = co_await programs_.run(std::move(command), answer_limit);
  if (!done || !done->outcome.success()) co_return std::string();
  co_return std::move(done->out);
}

/// Runs all programs at once: without persistence mode, each nvidia-smi can take seconds.
loop::Task<LocalEngine::GpuAnswers> LocalEngine::ask_of_gpus() {
  GpuAnswers answers;
  loop::Tasks asked(programs_.loop());
  asked.start(ask_places(answers));
  asked.start(ask_health(answers));
  asked.start(ask_parts(answers));
  co_await asked.join();
  co_return answers;
}

loop::Task<> LocalEngine::ask_places(GpuAnswers& answers) {
  Args ask_libraries = {"/sbin/ldconfig", "-p"};
  Args ask_topology = {"nvidia-smi", "topo", "-m"};
  answers.library_cache = co_await answer_of(std::move(ask_libraries));
  const std::string matrix = co_await answer_of(std::move(ask_topology));
  answers.topology = devices::Topology::from(matrix);
}

/// Runs nvidia-smi only if a GPU is partitioned.
loop::Task<> LocalEngine::ask_parts(GpuAnswers& answers) {
  const Result<std::vector<devices::Gpu>> gpus = devices::find_gpus(options_.devices);
  if (!gpus || std::none_of(gpus->begin(), gpus->end(), devices::is_part)) co_return;
  Args list_words = devices::mig_list_command();
  Args table_words = devices::mig_table_command();
  const std::string list = co_await answer_of(std::move(list_words));
  const std::string table = co_await answer_of(std::move(table_words));
  answers.parts = devices::mig_names_in(list, table);
}

/// The tool fails where the driver lost a card, and says which.
loop::Task<> LocalEngine::ask_health(GpuAnswers& answers) {
  Command command{.argv = devices::card_health_command(), .env = options_.env, .cwd = "/"};
  const std::string name = join(command.argv, " ");
  Result<supervise::Programs::Done> done = co_await programs_.run(std::move(command), answer_limit);
  if (!done && done.error().code == Errc::not_found) co_return;  // Another maker's GPUs.
  if (!done) {
    answers.health_trouble = name + ": " + done.error().text;
    co_return;
  }
  Result<std::vector<devices::CardHealth>> cards = devices::card_health_in(done->out + done->err);
  if (cards) {
    answers.cards = *std::move(cards);
    devices::add_numbers(answers.cards, devices::gpu_places(options_.devices.driver));
  } else {
    const bool said_why = done->outcome.success() || !trim(done->out + done->err).empty();
    answers.health_trouble =
        said_why ? cards.error().text : name + ": " + job::describe(done->outcome);
  }
}

/// GPUs that no job is to have, and what the job's log says of them.
std::vector<devices::Holding> LocalEngine::unfit_gpus(const std::vector<devices::Gpu>& gpus,
                                                      const GpuAnswers& answers,
                                                      std::vector<std::string>& notes) const {
  std::vector<devices::Holding> unfit;
  for (const devices::Gpu& gpu : gpus) {
    const devices::CardHealth* const card = devices::card_of(gpu, answers.cards);
    if (card == nullptr || card->sickness.empty()) continue;
    notes.push_back(gpu.name + " " + card->sickness +
                    (options_.devices.gives_sick ? "; jobs can still use it, as configured"
                                                 : "; jobs do not use it"));
    if (!options_.devices.gives_sick)
      unfit.push_back({.files = gpu.files(), .sickness = card->sickness});
  }
  return unfit;
}

/// Notes for people go to the first host, whose steward says them.
Result<void> LocalEngine::give_gpus(std::vector<job::HostSpec>& hosts, const std::string& path,
                                    const GpuAnswers& answers) {
  std::vector<devices::Wish> wishes;
  for (const job::HostSpec& host : hosts)
    wishes.push_back({host.host, job::gpus_of(host.spec, host.host)});
  std::vector<devices::Gpu> gpus = TRY(devices::find_gpus(options_.devices));
  devices::set_uuids(gpus, answers.parts,
                     devices::in_order_of_bus(devices::gpu_places(options_.devices.driver)));
  std::vector<std::string> notes;
  const std::vector<devices::Holding> unfit = unfit_gpus(gpus, answers, notes);
  const std::vector<std::vector<devices::Gpu>> assigned =
      TRY(allocate_gpus(options_.gpu_register, path, gpus, wishes, answers.topology, unfit));
  if (!answers.health_trouble.empty())
    notes.push_back("the health of the GPUs is unknown: " + answers.health_trouble);
  const auto say_once = [&notes](std::string line) {
    if (std::find(notes.begin(), notes.end(), line) == notes.end())
      notes.push_back(std::move(line));
  };
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (assigned[i].empty()) continue;
    devices::Handed handed = TRY(
        devices::hand_over(hosts[i].host, assigned[i], options_.devices, answers.library_cache));
    notes.push_back(std::move(handed.line));
    hosts[i].devices = std::move(handed.devices);
    for (const devices::Gpu& gpu : assigned[i])
      if (const devices::CardHealth* const card = devices::card_of(gpu, answers.cards))
        for (std::string& line : devices::remarks_on(*card)) say_once(std::move(line));
    for (std::string& line : devices::closed_nodes(hosts[i].devices)) say_once(std::move(line));
  }
  if (std::count_if(assigned.begin(), assigned.end(),
                    [](const auto& gpus_of_host) { return !gpus_of_host.empty(); }) > 1)
    notes.emplace_back(apart_note);
  for (job::HostSpec& host : hosts)
    host.spec.notes.insert(host.spec.notes.end(), notes.begin(), notes.end());
  return {};
}

std::shared_ptr<devices::GpuMeter> LocalEngine::gpu_meter() {
  std::shared_ptr<devices::GpuMeter> meter = gpu_meter_.lock();
  if (!meter)
    meter = std::make_shared<devices::GpuMeter>(programs_, options_.env, options_.devices.driver);
  gpu_meter_ = meter;
  return meter;
}

loop::Task<Result<std::unique_ptr<engine::Run>>> LocalEngine::attach(std::string job) {
  co_return attach_now(job);
}

Result<std::unique_ptr<engine::Run>> LocalEngine::start_now(const job::Spec& spec,
                                                            const GpuAnswers& answers) {
  TRY(job::check(spec));
  // Before anything is made: also what a steward would refuse, such as too long a path.
  for (const job::HostSpec& host : host_specs(spec, options_.state, jobs_folder() + "/" + spec.name,
                                              "/key", Network{{}, "mu0", options_.id_base}))
    TRY(job::check(host));
  const std::string routes = TRY(read_file(options_.routes));
  std::vector<Subnet> taken = TRY(taken_for(spec, routes));
  TRY(make_folders(options_.state, 0700));
  TRY(note_private_folder(options_.folder_register, options_.state));
  engine::JobFolder folder = TRY(engine::JobFolder::create(options_.state, spec.name));
  const std::string path = folder.path();
  const std::string key_file = folder.key_file();
  // From here on the run owns the folder: if anything fails, discarding it removes everything.
  std::unique_ptr<LocalRun> run =
      std::make_unique<LocalRun>(programs_, *this, path, std::move(folder));
  if (options_.rehearses && spec.retries > 0) run->heed_losses();
  TRY(write_file(path + "/job.json", to_text(job::to_json(spec)), 0600));
  if (!options_.lifeline) TRY(run->mark_kept());
  Network network =
      TRY(allocate_network(options_.network_register, path, std::move(taken), options_.id_base));
  // An ordinary user's hosts have the ids of his namespace.
  if (rootless_ids(options_.env) > 0) network.first_id = 0;
  std::vector<job::HostSpec> hosts = host_specs(spec, options_.state, path, key_file, network);
  if (wants_gpus(spec)) TRY(give_gpus(hosts, path, answers));
  for (const job::HostSpec& host : hosts) TRY(run->start(host));
  TRY(run->follow());
  TRY(run->begin());
  return std::unique_ptr<engine::Run>(std::move(run));
}

std::vector<std::string> LocalEngine::list() const {
  return engine::JobFolder::names(options_.state);
}

std::string LocalEngine::journal_file(const std::string& job, const std::string& host) const {
  return jobs_folder() + "/" + job + "/" + host + "/journal";
}

void LocalEngine::clear_halves() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(jobs_folder(), none))
    if (entry.path().filename().string().starts_with('.'))
      static_cast<void>(remove_tree(entry.path()));
}

Result<std::unique_ptr<engine::Run>> LocalEngine::attach_now(const std::string& job) {
  const std::string path = jobs_folder() + "/" + job;
  const Result<std::string> text = read_file(path + "/job.json");
  std::error_code none;
  if (!text && !std::filesystem::exists(path, none))
    return fail(Errc::not_found, "there is no job named " + job + " on this machine");
  if (!text || text->empty()) {
    auto nothing = std::make_unique<LocalRun>(programs_, *this, path, std::nullopt);
    nothing->cut_short();
    TRY(nothing->follow());
    return std::unique_ptr<engine::Run>(std::move(nothing));
  }
  const Json json = TRY(parse_json(*text));
  const job::Spec spec = TRY(job::spec_from(json));
  std::unique_ptr<LocalRun> run = std::make_unique<LocalRun>(programs_, *this, path, std::nullopt);
  if (options_.rehearses && spec.retries > 0) run->heed_losses();
  TRY(run->find_attempt());
  const std::vector<std::string> hosts = job::host_names(spec.instance_count);
  const std::map<std::string, std::string> addresses = addresses_in(path + "/" + hosts.front());
  for (const std::string& host : hosts) {
    const auto address = addresses.find(host);
    TRY(run->attach(host, address == addresses.end() ? "" : address->second));
  }
  TRY(run->follow());
  return std::unique_ptr<engine::Run>(std::move(run));
}

loop::Task<Result<Swept>> LocalEngine::sweep(bool kept_too) {
  Args words{"--sweep", "--json"};
  if (kept_too) words.push_back("--all");
  co_return co_await ask_steward(std::move(words));
}

loop::Task<Result<void>> LocalEngine::clear(const std::string& job) {
  Args words{"--clear", jobs_folder() + "/" + job, "--json"};
  const Result<Swept> swept = co_await ask_steward(std::move(words));
  if (!swept) co_return swept.error();
  co_return Result<void>();
}

loop::Task<Result<Swept>> LocalEngine::ask_steward(Args words) {
  Command command{.argv = {options_.program, "steward"}, .env = options_.env, .cwd = "/"};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.env["MUSTER_STATE"] = options_.state;
  Result<supervise::Programs::Done> done = co_await programs_.run(std::move(command), sweep_limit);
  if (!done) co_return done.error();
  Result<Json> json = trim(done->out).empty() ? to_json(Swept()) : parse_json(done->out);
  Result<Swept> swept = json ? swept_from(*json) : json.error();
  if (done->outcome.success()) co_return swept;
  const std::string why = trim((swept ? lines_of(*swept) : done->out) + done->err);
  co_return fail(Errc::system, why.empty() ? job::describe(done->outcome) : why);
}

}  // namespace muster::local
