#include "server/front/server_main.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "aws/api/inputs.h"
#include "aws/s3client/s3_client.h"
#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/files/own_folder.h"
#include "base/files/private_file.h"
#include "base/process/oom_score.h"
#include "base/process/open_files.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "base/topic.h"
#include "command/exit_codes.h"
#include "image/policy_read.h"
#include "job/training/client_config.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/loop/worker.h"
#include "platform/places/machine.h"
#include "platform/places/rootless_user.h"
#include "platform/places/tool_image.h"
#include "server/bucket/bucket_store.h"
#include "server/control.h"
#include "server/front/access_log.h"
#include "server/front/fill_log.h"
#include "server/front/http_counts.h"
#include "server/front/kept_program.h"
#include "server/front/probes.h"
#include "server/front/process_facts.h"
#include "server/front/s3_room.h"
#include "server/front/server_gpus.h"
#include "server/front/server_main_config.h"
#include "server/front/server_main_front.h"
#include "server/front/service.h"
#include "server/front/trust.h"
#include "server/operations/keys.h"
#include "server/operations/operations_page.h"
#include "server/registry/registry_server.h"
#include "server/s3server/s3_server.h"
#include "server/store/store.h"
#include "server/web/web_server.h"

namespace muster::server {
namespace {

using command::exit_platform;
using command::exit_usage;
/// More than there are processors: a thread that waits for the disk serves no requests, and the
/// file system combines the writes of several waiting threads.
constexpr int thread_count = 16;
constexpr Duration stop_grace = std::chrono::seconds(10);
constexpr Duration uploads_looked_at = std::chrono::minutes(10);
constexpr Duration port_limit = std::chrono::seconds(2);
constexpr Duration port_pause = std::chrono::milliseconds(20);
constexpr const char* running_program = "/proc/self/exe";
constexpr int large_piece_bytes = 1 << 20;

/// Returns large freed blocks to the machine. By default, malloc keeps the peak of each thread: 100
/// MiB after a few large bodies.
void give_memory_back() {
  ::mallopt(M_MMAP_THRESHOLD, large_piece_bytes);
  ::mallopt(M_TRIM_THRESHOLD, large_piece_bytes);
}

int fail_with(const Error& error) {
  static_cast<void>(say_error(STDERR_FILENO, "sm server", error.text));
  return error.code == Errc::invalid_input ? exit_usage : exit_platform;
}

/// Files with logins, and the config's key for each.
std::map<std::string, std::string> login_files(const jobs::JobConfig& config) {
  std::map<std::string, std::string> files;
  if (!config.registry_logins.empty())
    files.insert_or_assign("jobs.registry_logins", config.registry_logins);
  for (const auto& [arn, provider] : config.credentials_providers)
    files.insert_or_assign("jobs.credentials_providers." + arn + ".logins", provider.logins);
  return files;
}

Result<void> check_logins(const jobs::JobConfig& config) {
  for (const auto& [key, path] : login_files(config)) {
    const Result<std::string> logins = read_private(path);
    if (!logins) return logins.error().in(key);
  }
  return {};
}

constexpr std::size_t token_bytes_min = 16;

Result<std::string> metrics_token(const ServerConfig& config) {
  if (config.metrics_token_file.empty()) return std::string();
  const Result<std::string> token = read_private(config.metrics_token_file);
  if (!token) return token.error().in("metrics_token_file");
  if (token->size() >= token_bytes_min) return *token;
  return fail(Errc::invalid_input, "metrics_token_file: " + config.metrics_token_file +
                                       ": expected at least 16 characters");
}

Result<ServerConfig> load(const ServerFlags& flags, const Env& env) {
  std::string file;
  if (!flags.config.empty()) file = TRY(read_given(flags.config));
  Result<ServerConfig> config = config_of(flags, file, env);
  if (config) {
    const Result<jobs::JobConfig> jobs = jobs::job_config_from(config->jobs);
    // On a cluster, Slurm knows the nodes' GPUs.
    const Result<void> gpus = !jobs           ? jobs.error()
                              : config->slurm ? Result<void>()
                                              : check_gpus(*jobs, env);
    if (!gpus) config = gpus.error();
    const Result<void> logins = jobs ? check_logins(*jobs) : Result<void>();
    if (!logins) config = logins.error();
    if (jobs && !jobs->pip_conf.empty())
      if (const Result<std::string> pip = read_guarded(jobs->pip_conf); !pip)
        config = pip.error().in("jobs.pip_conf");
    if (jobs && !jobs->image_policy.empty())
      if (const Result<image::Policy> policy = image::read_policy(jobs->image_policy); !policy)
        config = policy.error().in("jobs.image_policy");
  }
  if (config) {
    const Result<std::vector<store::AccessKey>> keys = read_keys(config->keys);
    if (!keys) config = keys.error();
  }
  if (config)
    if (const Result<std::string> token = metrics_token(*config); !token) config = token.error();
  if (config && config->s3) {
    const Result<aws::Credentials> keys = jobs::credentials_of(*config->s3);
    if (!keys) config = keys.error().in("s3.credentials_file");
    if (config && !config->s3->ca_file.empty())
      if (const Result<std::string> ca = read_given(config->s3->ca_file); !ca)
        config = ca.error().in("s3.ca_file");
  }
  if (config) {
    const Result<void> tls = check_tls(*config, env);
    if (!tls) config = tls.error();
  }
  if (config) return config;
  const Error wrong = fail(Errc::invalid_input, config.error().text);
  return flags.config.empty() ? wrong : wrong.in(flags.config);
}

/// Held while the server runs: two servers on one folder would lose jobs. It is a lock of the
/// process, because a lock of the descriptor (flock) would stay in a child that is just being
/// started.
Result<Fd> lock_data(const std::string& data, const Env& env) {
  TRY(make_folders(data, 0700));
  outlive_others();
  if (::geteuid() == 0) TRY(note_private_folder(private_folder_register_of(env), data));
  Fd lock(::open((data + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("cannot open " + data + "/lock");
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.get(), F_SETLK, &whole) != 0)
    return fail(Errc::system, data + ": another sm server is using this folder");
  return lock;
}

/// A file with the CA certificates for jobs' hosts; none if they reach S3 without TLS.
Result<std::string> write_roots(const ServerConfig& config, const Env& env) {
  const bool tls =
      config.s3 ? config.s3->endpoint.starts_with("https://") : !config.certificate.empty();
  if (!tls) return std::string();
  const std::string roots = TRY(roots_with(config.s3 ? config.s3->ca_file : config.ca, env));
  if (roots.empty()) return std::string();
  const std::string path = config.data + "/ca.pem";
  TRY(write_file(path, roots));
  return path;
}

ClientSettings client_settings(const ServerConfig& config, std::uint16_t port) {
  ClientSettings settings{url_of(config, port), config.realm.region, config.ca, {}};
  if (config.s3) settings.s3_endpoint = config.s3->endpoint;
  return settings;
}

/// The settings that SageMaker's SDKs need besides variables, as a file for all users who can read
/// the data folder; returns its path. Written at each start, because the region in the config may
/// have changed.
Result<std::string> write_client_config(const ServerConfig& config) {
  const std::string path = config.data + "/sagemaker.yaml";
  const api::Realm& realm = config.realm;
  TRY(write_file(path, job::sagemaker_config(job::default_bucket(realm.region, realm.account)),
                 0600));
  return path;
}

/// All objects of a running server, declared before the objects that use them: the threads of
/// `http`, whose handlers use everything, end first.
struct Server {
  ServerConfig config;
  std::uint64_t open_files_max = 0;
  Log log{STDERR_FILENO, "sm server", Log::Level::info, true};
  Fd lock;
  loop::Loop loop;
  std::unique_ptr<Control> control;
  std::optional<store::Store> store;
  std::optional<store::AccessKey> made_key;
  access::KeyRing keys;
  std::optional<UserKeys> user_keys;
  std::unique_ptr<bucket::BucketStore> buckets;
  std::optional<access::Verifier> verifier;
  std::optional<s3server::S3Server> s3;  ///< Not with an S3 elsewhere:
  std::unique_ptr<s3client::S3Client> s3_client;
  std::optional<registry::RegistryServer> registry;
  HttpCounts http_counts;
  std::unique_ptr<AccessLog> access_log;  ///< Null: not configured.
  std::optional<Probes> probes;
  std::optional<Front> front;
  std::optional<WebServer> web;  ///< Set if the config enables it.
  std::optional<places::Machine> machine;
  std::optional<Service> service;  ///< Set once the port is known.
  loop::Tasks calls{loop};         ///< Running calls of the service.
  std::unique_ptr<http::Server> http;
};

Result<void> load_keys(Server& server) {
  const std::vector<store::AccessKey> of_config = TRY(read_keys(server.config.keys));
  server.user_keys.emplace(*server.store, server.keys);
  TRY(server.user_keys->add(of_config));
  return server.user_keys->reload();
}

/// The last step of a start: a key that is created but never shown would be lost.
Result<void> make_first_key(Server& server) {
  if (!server.user_keys->empty()) return {};
  server.made_key = fresh_key(wall_time());
  TRY(server.store->add_key(*server.made_key));
  return server.user_keys->reload();
}

Result<Json> answer_control(Server& server, const Json& request) {
  if (api::text_of(request, "do") != "reload keys")
    return fail(Errc::protocol, "expected {\"do\": \"reload keys\"}");
  TRY(server.user_keys->reload());
  const ClientSettings settings = client_settings(server.config, server.http->port());
  return Json{{"endpoint", settings.endpoint},
              {"ca_bundle", settings.ca_bundle},
              {"s3_endpoint", settings.s3_endpoint}};
}

constexpr std::uint64_t driver_bytes_max = 32u << 10;

loop::Task<Result<std::string>> object_text(Server& server, s3wire::S3Url url) {
  if (server.s3_client) co_return co_await server.s3_client->read(std::move(url));
  Result<bucket::WholeObject> object = server.buckets->read(url, driver_bytes_max);
  if (!object) co_return object.error();
  co_return std::move(object->bytes);
}

Result<http::Handler> open_s3(Server& server) {
  if (server.config.s3) {
    const Log log(STDERR_FILENO, "sm server", Log::Level::warning);
    server.s3_client =
        TRY(s3client::S3Client::open(server.loop, jobs::environment_for(*server.config.s3), log));
    return http::Handler(jobs::answer_no_s3);
  }
  const auto failed = [log = server.log](const Error& error) { log.error(error.text); };
  server.buckets = TRY(bucket::BucketStore::open(server.config.data + "/s3", failed));
  server.s3.emplace(*server.buckets, *server.verifier,
                    s3server::S3Server::Options{.region = server.config.realm.region,
                                                .names = s3_names(server.config),
                                                .now = wall_time,
                                                .free_min_bytes = free_min_of(server.config)});
  return http::Handler([&server](http::Exchange& exchange) { return server.s3->answer(exchange); });
}

Result<void> open_http_once(Server& server) {
  http::Server::Options options;
  options.host = server.config.host;
  options.port = server.config.port;
  options.threads = thread_count;
  options.certificate_file = server.config.certificate;
  options.key_file = server.config.key;
  options.limits = loop::ConnectionQuota::limits_for(server.open_files_max);
  options.on_served = [&server](const http::Served& served) {
    server.http_counts.add(served);
    if (server.access_log) server.access_log->add(served);
  };
  server.http =
      TRY(http::Server::open(server.loop, std::move(options), [&server](http::Exchange& exchange) {
        return server.front->answer(exchange);
      }));
  return {};
}

loop::Task<> pause(loop::Loop& loop) {
  loop::Timer timer(loop);
  co_await timer.after(port_pause);
}

/// If a server was killed while it started a program, that child may hold the port for a moment,
/// until it calls exec.
Result<void> open_http(Server& server) {
  const TimePoint deadline = Clock::now() + port_limit;
  while (true) {
    Result<void> opened = open_http_once(server);
    if (opened || opened.error().code != Errc::system) return opened;
    if (Clock::now() > deadline)
      return fail(Errc::system,
                  opened.error().text + "; choose another address with --listen ADDRESS:PORT");
    loop::Loop waiting;
    loop::Tasks tasks(waiting);
    tasks.start(pause(waiting));
    waiting.run();
  }
}

void open_machine(Server& server, const jobs::JobConfig& config, const Env& env) {
  const std::string folder = server.config.data + "/machine";
  Env own = env;
  own["MUSTER_STATE"] = folder;
  server.machine.emplace(
      server.loop, own,
      places::Machine::Options{.program = kept_program(folder + "/programs", running_program),
                               .outlived = true,
                               .first_user_id = config.first_user_id,
                               .own_state = state_folder(env),
                               .slurm = server.config.slurm});
}

/// All networks that VpcConfig can use now.
vpc::Networks known_networks(const Server& server) {
  return server.service->networks();
}

Result<jobs::JobPreparation::Options> preparation_options(Server& server, jobs::JobConfig config,
                                                          const Env& env) {
  jobs::JobPreparation::Options options;
  options.config = std::move(config);
  options.endpoint = url_of(server.config, server.http->port());
  options.ca_file = TRY(write_roots(server.config, env));
  options.region = server.config.realm.region;
  options.s3 = server.config.s3;
  options.hidden = secret_files(server.config);
  options.hidden.push_back(server.config.data);
  for (const auto& [key, path] : login_files(options.config)) options.hidden.push_back(path);
  options.env = env;
  options.interpreter = [&server](std::string python) {
    return server.machine->interpreter(std::move(python));
  };
  if (!server.config.slurm) options.no_outside = [env] { return places::why_no_outside(env); };
  options.networks = [&server] { return known_networks(server); };
  options.read_object = [&server](s3wire::S3Url url) {
    return object_text(server, std::move(url));
  };
  if (!server.s3_client)
    options.read_manifest = [&server](const s3wire::S3Url& url) -> Result<jobs::ManifestObject> {
      bucket::WholeObject object = TRY(server.buckets->read(url, jobs::manifest_bytes_max));
      return jobs::ManifestObject{std::move(object.bytes), std::move(object.record.etag)};
    };
  return options;
}

std::string store_path(const ServerConfig& config) {
  return config.data + "/muster.db";
}

/// Runs on the main loop once the port is open, and on other loops before: the service is created
/// last.
void open_web(Server& server) {
  std::vector<std::string> names = server.config.page_names;
  if (!server.config.name.empty()) names.push_back(lower_case(server.config.name));
  server.web.emplace(WebServer::Options{
      .keys = server.keys,
      .calls = server.calls,
      .api =
          [&server](api::Request request) { return server.service->operate(std::move(request)); },
      .state = {
          .counts = [&server] { return server.service->job_counts(); },
          .revision = [&server] { return server.store->revision(); },
          .machine = [&server] { return server.service->machine(); },
          .nodes = [&server] { return server.machine->nodes(); },
          .last_run = [&server](const std::string& job) { return server.store->last_run(job); },
          .hangs = [&server](const std::string& job) { return server.service->hangs(job); },
          .keys = &*server.user_keys,
          .log = [&server](const std::string& job) { return server.service->web_log(job); }},
      .now = wall_time,
      .store = store_path(server.config),
      .buckets = server.buckets.get(),
      .names = std::move(names),
      // A quarter of all connections, for these last.
      .followers_max = loop::ConnectionQuota::limits_for(server.open_files_max).all / 4});
}

/// The folder of the machine's images, including those of `sm image`.
std::string image_folder(const Env& env) {
  return state_folder(env) + "/images";
}

/// Ends abandoned uploads. Removes those of an earlier server at once.
loop::Task<> watch_uploads(Server& server, std::string folder) {
  const auto tidy = [&server, folder]() -> Result<void> {
    if (::access(folder.c_str(), F_OK) != 0) return {};  // Nothing was pushed here yet.
    return TRY(server.registry->store())->remove_rests();
  };
  const Result<void> tidied = co_await loop::in_thread(server.loop, tidy);
  if (!tidied) server.log.warning("images: " + tidied.error().text);
  loop::Timer timer(server.loop);
  for (;;) {
    co_await timer.after(uploads_looked_at);
    server.registry->forget_idle(Clock::now());
  }
}

loop::Task<Result<jobs::HeldImage>> bring_image(Server& server, job::ImageWish wish,
                                                std::function<void()> on_pull) {
  Result<places::UsedImage> used =
      co_await server.machine->image(std::move(wish), std::move(on_pull));
  if (!used) co_return used.error();
  jobs::HeldImage held{std::move(used->image), std::move(used->lease.lock)};
  co_return held;
}

/// Monitoring: probes, counters, a log of requests.
Result<void> open_watching(Server& server) {
  if (!server.config.access_log.empty())
    server.access_log = TRY(AccessLog::open(server.config.access_log));
  server.probes.emplace(
      Probes::Options{.calls = server.calls,
                      .trouble = [&server] { return server.service->trouble(); },
                      .write = [&server](Exposition& to) { server.service->write(to); },
                      .write_here =
                          [&server](Exposition& to) {
                            server.http_counts.write(to);
                            write_process(to);
                          },
                      .keys = server.keys,
                      .token = TRY(metrics_token(server.config)),
                      .now = wall_time});
  return {};
}

Result<void> open(Server& server, const Env& env) {
  server.lock = TRY(lock_data(server.config.data, env));
  server.control = TRY(Control::open(server.loop, server.config.data));
  server.store.emplace(TRY(store::Store::open(store_path(server.config), logged_fill(server.log))));
  TRY(load_keys(server));
  server.verifier.emplace(server.keys);
  http::Handler s3 = TRY(open_s3(server));
  TRY(open_watching(server));
  server.registry.emplace(
      server.keys,
      registry::RegistryServer::Options{
          .open_store = [env] { return places::open_image_store(env); }, .now = wall_time});
  http::Handler web;
  std::function<std::string(const std::string&)> web_link;
  if (server.config.web_page) {
    open_web(server);
    web = [&server](http::Exchange& exchange) { return server.web->answer(exchange); };
    web_link = [&server](const std::string& key) { return server.web->link(key); };
  }
  server.front.emplace(Front::Options{
      .calls = server.calls,
      .s3 = std::move(s3),
      .registry = [&server](http::Exchange& exchange) { return server.registry->answer(exchange); },
      .probes = [&server](http::Exchange& exchange) { return server.probes->answer(exchange); },
      .web = std::move(web),
      .web_link = std::move(web_link),
      .verifier = *server.verifier,
      .api =
          [&server](api::Request request) { return server.service->operate(std::move(request)); },
      .now = wall_time});
  TRY(open_http(server));
  // The machine's resources limit the jobs that run on it, not those of a cluster.
  const bool is_here = !server.config.slurm;
  const int processors = is_here ? static_cast<int>(std::thread::hardware_concurrency()) : 0;
  jobs::JobConfig config = TRY(jobs::job_config_from(server.config.jobs, processors));
  // An unreadable file is reported by the job that needs it, and by sm doctor.
  const Env own = machine_env(env, config);
  if (is_here) count_in_gpus(server.log, config, own);
  config.own_images = own_names(server.config, server.http->port());
  open_machine(server, config, own);
  jobs::Runner::Options jobs;
  jobs.preparation = TRY(preparation_options(server, std::move(config), env));
  jobs.data = server.config.data;
  jobs.now = wall_time;
  jobs.fresh_key = [] { return fresh_key(wall_time()); };
  jobs.open_elsewhere = [&server](const job::ImageWish& wish, const std::string& type) {
    return places::image_on_nodes(server.config.slurm, type, wish);
  };
  if (is_here) jobs.fit_gpus = [&server] { return fit_gpus(*server.machine); };
  jobs.in_slurm = [&server](const std::string& job) { return server.machine->in_slurm(job); };
  if (server.buckets)
    jobs.sweep_uploads = [&server] {
      server.calls.start(sweep_uploads(server.loop, *server.buckets, *server.store, server.log));
    };
  jobs.bring_image = [&server](job::ImageWish wish, std::function<void()> on_pull) {
    return bring_image(server, std::move(wish), std::move(on_pull));
  };
  server.service.emplace(
      server.loop, server.machine->engine(), *server.store, server.keys, *server.registry,
      server.log,
      Service::Options{server.config.realm, server.config.networks, std::move(jobs),
                       url_of(server.config, server.http->port()), *server.user_keys});
  return server.service->start();
}

/// SIGHUP: log rotation has renamed the file.
void reopen_log(Server& server) {
  if (!server.access_log) return;
  const Result<void> opened = server.access_log->reopen();
  if (!opened) server.log.error(opened.error().in("access_log").text);
}

loop::Task<void> until_told(Server& server) {
  // Without such a log SIGHUP ends the server, as the end of its terminal does to any program.
  std::vector<int> heeded = {SIGTERM, SIGINT};
  if (server.access_log) heeded.push_back(SIGHUP);
  loop::Signals signals(server.loop, heeded);
  Result<int> signal = co_await signals.next();
  while (signal && *signal == SIGHUP) {
    reopen_log(server);
    signal = co_await signals.next();
  }
  server.log.info("stopping: completing the requests in progress; jobs continue");
  if (server.web) server.web->stop();
  co_await server.http->stop(Clock::now() + stop_grace);
  server.loop.stop();
}

/// No error: a server also starts before the disk with its jobs' environments is mounted.
void warn_of_interpreters(const ServerConfig& config) {
  const Result<jobs::JobConfig> jobs = jobs::job_config_from(config.jobs);
  if (!jobs) return;  // load() has rejected it.
  const auto is_program = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  for (const std::string& line : jobs::missing_interpreters(*jobs, is_program))
    static_cast<void>(say_line(STDERR_FILENO, "sm server", line));
}

}  // namespace

int server_main(const Args& args, const Env& given) {
  Env env = given;
  ServerFlags flags;
  if (const std::optional<command::Stop> stop = parse_flags(args, flags)) return tell(*stop);
  if (flags.operations) return write_all(STDOUT_FILENO, operations_page()) ? 0 : exit_platform;
  Result<ServerConfig> config = load(flags, env);
  if (!config) return fail_with(config.error());
  warn_of_interpreters(*config);
  if (flags.check) return write_all(STDOUT_FILENO, "the config is valid\n") ? 0 : exit_platform;
  make_absolute(*config);
  if (const Result<void> own = check_own_folder(config->data); !own)
    return fail_with(own.error().in("data"));
  const Result<void> found = ::geteuid() == 0 ? Result<void>() : resolve_links(*config);
  if (!found) return fail_with(found.error());
  const Result<std::optional<places::Rootless>> entered = places::enter_rootless(env);
  if (!entered) return fail_with(entered.error());
  if (*entered) {
    const std::string line = "without root: " + join(places::lacks(**entered), "; ");
    static_cast<void>(say_line(STDERR_FILENO, "sm server", line));
  }
  give_memory_back();
  Server server;
  server.open_files_max = raise_open_files();
  server.config = *std::move(config);
  const Result<void> opened = open(server, env);
  if (!opened) return fail_with(opened.error());
  const Result<std::string> client_config = write_client_config(server.config);
  if (!client_config) return fail_with(client_config.error());
  const Result<void> has_key = make_first_key(server);
  if (!has_key) return fail_with(has_key.error());
  const std::string url = url_of(server.config, server.http->port());
  std::string hello = "muster listens on " + url + ", data in " + server.config.data + "\n";
  if (server.made_key)
    hello +=
        "\nCreated an access key. These lines configure AWS clients for this server:\n\n" +
        export_lines(*server.made_key, client_settings(server.config, server.http->port())) +
        "\nSageMaker's SDKs also need this variable and the file that it names:\n\n"
        "export SAGEMAKER_USER_CONFIG_OVERRIDE=" +
        shell_quoted({*client_config}) +
        "\n\nFor notebooks that call get_execution_role() without a session, run once as root:\n\n"
        "sm env --client --notebook\n\n";
  static_cast<void>(say(STDOUT_FILENO, hello));
  server.control->serve([&server](const Json& request) { return answer_control(server, request); });
  // Half-removed data of an earlier server may be large, so requests are served first.
  server.loop.post([&server] { server.machine->clear_halves(); });
  loop::Tasks tasks(server.loop);
  tasks.start(until_told(server));
  tasks.start(watch_uploads(server, image_folder(env)));
  server.loop.run();
  return 0;
}

}  // namespace muster::server
