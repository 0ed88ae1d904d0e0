#include "cli/image_commands/image_pull.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/exit_code_of.h"
#include "cli/image_commands/image_import.h"
#include "cli/own_namespace.h"
#include "cli/server_client.h"
#include "command/line.h"
#include "image/memory_limit.h"
#include "image/own_image.h"
#include "image/policy_read.h"
#include "image/pull/pull.h"
#include "image/this_platform.h"
#include "net/loop/tasks.h"
#include "platform/places/images.h"

namespace muster::cli {
namespace {

constexpr const char* name_of_command = "sm image pull";
constexpr std::size_t password_bytes_max = 16u << 10;
constexpr auto progress_every = std::chrono::milliseconds(100);

/// The line as it is typed.
struct PullLine {
  std::string name;
  std::string platform, ca_file, user, policy;
  bool plain_http = false, password_stdin = false, is_public = false, json = false;
};

/// What is pulled, and how.
struct PullPlan {
  image::Reference image;
  image::Platform platform;
  image::Registry::Options registry;
  image::LoginOptions login;
  std::string policy_file;
  std::shared_ptr<const image::Policy> policy;  ///< None: every image is taken.
};

Result<image::Platform> platform_from(const std::string& text) {
  if (text.empty()) return image::this_platform();
  const std::vector<std::string> parts = split(text, '/');
  const auto plain = [](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), is_lower_or_digit);
  };
  const bool good =
      parts.size() >= 2 && parts.size() <= 3 && std::all_of(parts.begin(), parts.end(), plain);
  if (!good)
    return fail(Errc::invalid_input,
                "--platform " + text + ": expected OS/ARCH or OS/ARCH/VARIANT, e.g. linux/amd64");
  return image::Platform{parts[0], parts[1], parts.size() == 3 ? parts[2] : ""};
}

/// All of standard input but the end of its line.
Result<std::string> password_from(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("--password-stdin: cannot read standard input");
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > password_bytes_max)
      return fail(Errc::invalid_input, "--password-stdin: the password is too long");
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty())
    return fail(Errc::invalid_input, "--password-stdin: no password on standard input");
  return text;
}

Result<PullPlan> plan_from(const PullLine& line, const Env& env) {
  PullPlan plan;
  plan.image = TRY(image::reference_from(line.name));
  if (plan.image.transport != image::Reference::Transport::registry)
    return fail(Errc::invalid_input,
                line.name + " is not in a registry; use sm image import for archives and folders");
  plan.platform = TRY(platform_from(line.platform));
  const std::string roots = http::find_ca_roots(env);
  plan.registry.ca_roots = line.ca_file.empty() ? roots : line.ca_file;
  plan.registry.plain_http = line.plain_http;
  plan.registry.public_only = line.is_public;
  plan.login.ca_roots = roots;
  if (line.user.empty() != !line.password_stdin)
    return fail(Errc::invalid_input, "--username and --password-stdin must be used together");
  if (line.password_stdin) {
    std::string password = TRY(password_from(STDIN_FILENO));
    plan.login.given = image::Login{line.user, std::move(password), ""};
  }
  plan.policy_file = line.policy;
  if (!line.policy.empty())
    plan.policy = std::make_shared<const image::Policy>(TRY(image::read_policy(line.policy)));
  return plan;
}

std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

/// One line on a terminal, rewritten at most ten times a second.
class Progress {
 public:
  explicit Progress(std::string name) : name_(std::move(name)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { show_progress(""); }
  void show(const image::PullProgress& now) {
    const TimePoint time = Clock::now();
    if (time < next_) return;
    next_ = time + progress_every;
    show_progress("pulling " + name_ + ": " + megabytes(now.bytes) + " of " +
                  megabytes(now.bytes_all) + " MB, " + std::to_string(now.layers) + " of " +
                  std::to_string(now.layers_all) + " layers");
  }

 private:
  std::string name_;
  TimePoint next_{};
};

void tell_end(const PullLine& line, const image::Reference& image, const image::Pulled& pulled) {
  for (const std::string& each : pulled.left_out)
    static_cast<void>(say_line(STDERR_FILENO, name_of_command, each));
  const std::string name = image::to_text(image);
  std::string text = name + " " + pulled.image.digest + "\n";
  if (line.json) {
    const Json told{{"Name", name},
                    {"Digest", pulled.image.digest},
                    {"Layers", pulled.progress.layers_all},
                    {"PulledBytes", pulled.progress.bytes}};
    text = visible_json(to_text(told)) + "\n";
  }
  static_cast<void>(say(STDOUT_FILENO, text));
}

loop::Task<Result<image::Pulled>> bring(loop::Loop& loop, const Log& log, const PullPlan& plan,
                                        std::shared_ptr<image::Store> store, const Env& env,
                                        Progress& progress) {
  const image::Registry::FindLogin find_login = [&]() {
    return image::find_login(loop, log, env, plan.image, plan.login);
  };
  image::Registry registry(loop, log, plan.registry, plan.image, find_login);
  image::PullOptions options;
  options.platform = plan.platform;
  options.policy = plan.policy;
  options.on_progress = [&](const image::PullProgress& now) { progress.show(now); };
  Result<image::Pulled> pulled =
      co_await image::pull(loop, registry, store, plan.image, std::move(options));
  co_return pulled;
}

loop::Task<> run(loop::Loop& loop, const PullLine& line, const PullPlan& plan,
                 std::shared_ptr<image::Store> store, const Env& env, int& code) {
  const Log log(STDERR_FILENO, name_of_command, Log::Level::warning);
  std::optional<Result<image::Pulled>> pulled;
  {
    Progress progress(image::to_text(plan.image));
    Result<image::Pulled> came = co_await bring(loop, log, plan, store, env, progress);
    pulled.emplace(std::move(came));
  }
  if (*pulled) {
    tell_end(line, plan.image, **pulled);
    code = exit_success;
  } else {
    static_cast<void>(say_error(STDERR_FILENO, name_of_command, pulled->error().text));
    code = exit_code_of_client(pulled->error());
  }
  loop.stop();
}

/// An image that was pushed to this machine is already here, packed. None: it was not pushed.
Result<std::optional<image::Image>> unpack(image::Store& store, const PullPlan& plan,
                                           const image::AddOptions& options) {
  const std::optional<image::Meaning> pushed = TRY(store.look_up(image::to_text(plan.image)));
  if (!pushed || pushed->repository.empty()) return std::optional<image::Image>();
  TRY(places::obey_policy(store, plan.policy_file, plan.image, *pushed));
  return store.unpack(*pushed, options);
}

int unpack_pushed(image::Store& store, const PullLine& line, const PullPlan& plan) {
  const image::Reference& image = plan.image;
  image::Pulled pulled;
  image::AddOptions options;
  options.say = [&pulled](const std::string& each) { pulled.left_out.push_back(each); };
  Result<std::optional<image::Image>> made = unpack(store, plan, options);
  if (made && !*made)
    made = fail(Errc::not_found,
                "image " + image::to_text(image) +
                    " has not been pushed to this machine; sm image ls lists the images");
  if (!made) {
    static_cast<void>(say_error(STDERR_FILENO, name_of_command, made.error().text));
    return exit_code_of_client(made.error());
  }
  pulled.progress.layers_all = (*made)->layers.size();
  pulled.image = **std::move(made);
  tell_end(line, image, pulled);
  return exit_success;
}

Result<std::string> take_of_engine(const PullLine& line, const image::Reference& from,
                                   const Env& env) {
  const image::GivenImage given{from};
  TRY(places::obey_policy_of_place(line.policy, given));
  image::Store store = TRY(places::open_image_store(env));
  const image::Imported imported = TRY(import_shown(name_of_command, store, given, "", env));
  return imported_text(imported, line.json);
}

/// An image that an engine has: what is said of registries does not fit it.
int pull_of_engine(const PullLine& line, const image::Reference& from, const Env& env) {
  const bool of_registries = line.plain_http || line.is_public || line.password_stdin ||
                             !line.platform.empty() || !line.ca_file.empty() || !line.user.empty();
  Result<std::string> text =
      fail(Errc::invalid_input,
           line.name +
               " is not in a registry, so flags for registries, e.g. --platform, are not allowed");
  if (!of_registries) text = take_of_engine(line, from, env);
  if (text) {
    static_cast<void>(say(STDOUT_FILENO, line.json ? visible_json(*text) : *text));
    return exit_success;
  }
  static_cast<void>(say_error(STDERR_FILENO, name_of_command, text.error().text));
  return exit_code_of_client(text.error());
}

loop::Task<> watch_signals(loop::Signals& signals) {
  const Result<int> signal = co_await signals.next();
  if (!signal) co_return;
  show_progress("");
  // Incomplete files have no owner then: the next sweep removes them.
  ::_exit(exit_signal_base + *signal);
}

}  // namespace

int image_pull_main(const Args& args, const Env& given) {
  Env env = given;
  command::Line line(command::page_of("image pull"));
  PullLine typed;
  line.text("NAME", typed.name);
  line.text("--platform", typed.platform);
  line.text("--ca-file", typed.ca_file);
  line.text("--policy", typed.policy);
  line.text("--username", typed.user);
  line.flag("--password-stdin", typed.password_stdin);
  line.flag("--plain-http", typed.plain_http);
  line.flag("--public", typed.is_public);
  line.flag("--json", typed.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const image::MemoryLimit memory;
  if (const Result<image::Reference> from = image::reference_from(typed.name);
      from && image::is_of_engine(*from))
    return pull_of_engine(typed, *from, env);
  const Result<PullPlan> plan = plan_from(typed, env);
  if (!plan) {
    static_cast<void>(say_error(STDERR_FILENO, name_of_command, plan.error().text));
    return exit_code_of_client(plan.error());
  }
  if (const std::optional<int> code = enter_own_namespace(name_of_command, env, false))
    return *code;
  Result<image::Store> opened = places::open_image_store(env);
  if (!opened) {
    static_cast<void>(say_error(STDERR_FILENO, name_of_command, opened.error().text));
    return exit_platform;
  }
  if (image::read_own_name(image::to_text(plan->image)))
    return unpack_pushed(*opened, typed, *plan);
  const auto store = std::make_shared<image::Store>(*std::move(opened));
  loop::Loop loop;
  loop::Signals signals(loop, {SIGINT, SIGTERM, SIGHUP});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(watch_signals(signals));
  tasks.start(run(loop, typed, *plan, store, env, code));
  loop.run();
  return code;
}

}  // namespace muster::cli
