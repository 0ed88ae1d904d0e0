#include "platform/places/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/dates.h"
#include "base/fd.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "engine/cluster/kept_nodes.h"
#include "engine/cluster/slurm_engine.h"
#include "engine/cluster/sweep_slurm.h"
#include "engine/local/local_engine.h"
#include "engine/local/outside_check.h"
#include "engine/local/stewards.h"
#include "engine/slurm/view.h"
#include "job/preflight/health.h"
#include "net/loop/worker.h"
#include "os/devices/find.h"
#include "os/devices/kernel_log.h"
#include "os/supervise/programs.h"
#include "platform/places/bring_image.h"
#include "platform/places/find_interpreter.h"

namespace muster::places {
namespace {

/// Without persistence mode the driver is loaded for it, for a second or more for each card.
constexpr std::chrono::seconds gpu_health_wait{30};
constexpr std::chrono::seconds kernel_log_wait{10};

constexpr const char* own_program_link = "/proc/self/exe";

std::string utc_minute(UnixMillis time) {
  return utc_text(time).substr(0, 16) + " UTC";
}

local::LocalEngine::Options local_options(const Env& env, const Machine::Options& given) {
  local::LocalEngine::Options options;
  options.state = state_folder(env);
  options.program = given.program;
  options.env = env;
  options.devices = devices::places_of(env);
  options.lifeline = !given.outlived;
  options.rehearses = !given.outlived;  // A server's jobs of one machine run once.
  options.folder_register = private_folder_register_of(env);
  // Each job of an ordinary user has a separate /run/muster.
  if (rootless_ids(env) > 0) options.gpu_register = user_state_folder(env) + "/gpus";
  if (given.first_user_id) options.id_base = *given.first_user_id;
  return options;
}

cluster::SlurmEngine::Options slurm_options(const Env& env, const Machine::Options& given) {
  cluster::SlurmEngine::Options options;
  options.state = state_folder(env);
  // The file itself: Slurm's sbcast reads it, too.
  options.program =
      given.program == own_program_link ? own_program().value_or(given.program) : given.program;
  options.node_program = given.slurm->node_program;
  if (!given.slurm->node_folder.empty()) options.node_folder = given.slurm->node_folder;
  options.shared = given.slurm->shared;
  options.addresses = given.slurm->addresses;
  options.lifeline = !given.outlived;
  options.site = given.slurm->site;
  options.sites = given.slurm->sites;
  options.folder_register =
      ::geteuid() == 0 ? private_folder_register_of(env) : options.state + "/folders";
  options.env = env;
  return options;
}

std::vector<devices::Gpu> gpus_at(const devices::Places& places) {
  return devices::find_gpus(places).value_or(std::vector<devices::Gpu>());
}

GpuHealth judged(const std::vector<devices::Gpu>& gpus,
                 const Result<std::vector<devices::CardHealth>>& cards, bool gives_sick) {
  GpuHealth health{.gpus = static_cast<int>(gpus.size())};
  if (!cards) {
    health.unknown = cards.error().text;
    return health;
  }
  for (const devices::Gpu& gpu : gpus) {
    const devices::CardHealth* const card = devices::card_of(gpu, *cards);
    if (card == nullptr || card->sickness.empty()) continue;
    if (!gives_sick) ++health.unfit;
    health.unfit_lines.push_back(gpu.name + " " + card->sickness);
  }
  for (const devices::CardHealth& card : *cards)
    for (std::string& line : devices::remarks_on(card)) health.remarks.push_back(std::move(line));
  return health;
}

}  // namespace

std::string why_no_outside(const Env& env) {
  return local::why_no_outside(env);
}

std::map<std::string, pid_t> stewards_of(const std::string& state, const std::string& job) {
  return local::living_stewards(state + "/jobs/" + job);
}

Result<int> count_gpus(const Env& env) {
  const std::vector<devices::Gpu> gpus = TRY(devices::find_gpus(devices::places_of(env)));
  return static_cast<int>(gpus.size());
}

GpuHealth gpu_health(const Env& env) {
  const devices::Places places = devices::places_of(env);
  const std::vector<devices::Gpu> gpus = gpus_at(places);
  if (gpus.empty()) return {};
  return judged(gpus, devices::ask_cards(env, places, gpu_health_wait), places.gives_sick);
}

GpuSurroundings gpu_surroundings(const Env& env) {
  GpuSurroundings all;
  utsname names{};
  if (::uname(&names) == 0)
    all.remarks = devices::rdma_troubles(devices::rdma_ports(), names.release);
  const Result<std::vector<devices::Xid>> xids = devices::past_xids(env, kernel_log_wait);
  if (!xids) all.kernel_log = xids.error().text;
  const std::map<std::string, int> cards = devices::gpu_places(devices::places_of(env).driver);
  for (const std::string& line : devices::history_of(xids.value_or({}), cards))
    all.remarks.push_back("since the machine started: " + line);
  return all;
}

Machine::Machine(loop::Loop& loop, const Env& env, const Options& options)
    : env_(env),
      program_(options.program),
      own_state_(options.own_state.empty() ? state_folder(env) : options.own_state),
      programs_(std::make_unique<supervise::Programs>(loop)),
      engine_(std::make_unique<local::LocalEngine>(*programs_, local_options(env, options))) {
  if (!options.slurm) return;
  cluster_ = std::make_unique<cluster::SlurmEngine>(*programs_, slurm_options(env, options));
  const auto ask = [this, &loop]() -> loop::Task<Result<Json>> {
    Result<std::vector<slurm::Node>> nodes = co_await cluster_->slurm().nodes("");
    if (!nodes) co_return nodes.error();
    const std::function<slurm::Remarks()> read = [folder = preflight::health_folder(own_state_)] {
      return preflight::kept_words(folder, utc_minute);
    };
    const slurm::Remarks health = co_await loop::in_thread(loop, read);
    co_return slurm::nodes_page(*std::move(nodes), nodes_max, health);
  };
  nodes_ = std::make_unique<cluster::KeptNodes>(loop, ask, cluster::KeptNodes::Times());
}

Machine::~Machine() = default;

engine::Engine& Machine::engine() {
  if (cluster_) return *cluster_;
  return *engine_;
}

loop::Task<Result<Swept>> Machine::sweep(bool kept_too) {
  return engine_->sweep(kept_too);
}

loop::Task<Swept> Machine::sweep_cluster(bool kept_too) {
  cluster::Slurm slurm(*programs_, env_);
  co_return co_await cluster::sweep(slurm, state_folder(env_), kept_too);
}

loop::Task<GpuHealth> Machine::gpu_health() {
  const devices::Places places = devices::places_of(env_);
  const std::vector<devices::Gpu> gpus = gpus_at(places);
  if (gpus.empty()) co_return GpuHealth();
  Command command{.argv = devices::card_health_command(), .env = env_, .cwd = "/"};
  Result<supervise::Programs::Done> done =
      co_await programs_->run(std::move(command), gpu_health_wait);
  Result<std::vector<devices::CardHealth>> cards =
      done ? devices::card_health_in(done->out + done->err) : done.error();
  if (cards) devices::add_numbers(*cards, devices::gpu_places(places.driver));
  co_return judged(gpus, cards, places.gives_sick);
}

loop::Task<Result<UsedImage>> Machine::image(job::ImageWish wish, std::function<void()> on_pull) {
  ImagePlace place{program_, env_};
  place.env["MUSTER_STATE"] = own_state_;
  return bring_image(*programs_, std::move(place), std::move(wish), std::move(on_pull));
}

void Machine::clear_halves() {
  engine_->clear_halves();
}

Json Machine::in_slurm(const std::string& job) const {
  const std::optional<cluster::InSlurm> in =
      cluster_ ? cluster_->in_slurm(job) : std::optional<cluster::InSlurm>();
  if (!in) return {};
  return Json{{"JobId", to_utf8(in->id)},
              {"Name", to_utf8(in->name)},
              {"Nodes", to_utf8(in->nodes)},
              {"Reason", to_utf8(in->reason)},
              {"EarlierJobIds", in->earlier}};
}

loop::Task<Json> Machine::nodes() {
  if (!nodes_) co_return Json();
  Result<Json> nodes = co_await nodes_->read();
  if (!nodes) co_return Json{{"Error", to_utf8(nodes.error().text)}};
  co_return *std::move(nodes);
}

loop::Task<Result<platform::Interpreter>> Machine::interpreter(std::string python) {
  return find_interpreter(*programs_, std::move(python), env_);
}

}  // namespace muster::places
