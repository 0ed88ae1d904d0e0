// `sm ui`

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/fields.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/job_commands/doorway.h"
#include "cli/server_client.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"

namespace muster::cli {
namespace {

/// What of a desktop opens an address in the browser that its user has chosen.
constexpr const char* opener = "xdg-open";
constexpr std::chrono::seconds browser_max{20};

bool is_set(const Env& env, const char* name) {
  const Env::const_iterator found = env.find(name);
  return found != env.end() && !found->second.empty();
}

/// The program that opens addresses, where there is a screen; empty: there is none.
std::string opener_of(const Env& env) {
  if (!is_set(env, "DISPLAY") && !is_set(env, "WAYLAND_DISPLAY")) return {};
  return supervise::find_program(opener, env, "/").value_or("");
}

/// Has the user's browser open `link`. The program may be the browser itself, which stays.
loop::Task<Result<void>> open_in_browser(loop::Loop& loop, std::string link, Command command) {
  const Result<std::unique_ptr<Doorway>> door = Doorway::open(loop, std::move(link));
  if (!door) co_return door.error();
  command.argv.push_back((*door)->address());
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) co_return fail_errno("cannot open /dev/null");
  job::Outcome ended = job::Outcome::exited(0);
  supervise::Reaper reaper(loop);
  const Result<pid_t> pid =
      supervise::spawn(command, {null.get(), null.get(), null.get(), {}}, {.own_session = true});
  if (!pid) co_return pid.error();
  reaper.watch(*pid, [&](job::Outcome outcome) {
    ended = std::move(outcome);
    if (!ended.success()) (*door)->close();
  });
  const bool used = co_await (*door)->used(Clock::now() + browser_max);
  co_await (*door)->stop();
  if (used) co_return Result<void>();
  if (!ended.success())
    co_return fail(Errc::system, std::string(opener) + ": " + job::describe(ended));
  co_return fail(Errc::timeout, "the link expired before anyone opened it");
}

/// The server's own word for the page is a path: by which name it is reached, this side knows.
loop::Task<Result<int>> show_link(Client& client, bool only_url, Command browser) {
  std::string target = "SageMaker.CreateWebLink";
  Json input = Json::object();
  const Result<Json> made =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!made) co_return made.error();
  const std::string path = member_text(*made, "Path");
  if (!path.starts_with("/ui/"))
    co_return fail(Errc::protocol, "the server returned no link to its web page");
  const std::string url = visible_line(client.api.url() + path);
  if (only_url) {
    client.out.text() += url + "\n";
    co_return exit_success;
  }
  client.out.text() +=
      "This link opens the server's web page once, within a minute:\n\n  " + url + "\n\n";
  if (browser.argv.empty() || !client.out.is_terminal()) co_return exit_success;
  co_await client.out.flush();
  show_progress("waiting for your browser to open it");
  const Result<void> opened = co_await open_in_browser(client.loop, url, std::move(browser));
  show_progress("");
  if (opened)
    client.out.text() += "Your browser has opened it.\n";
  else
    client.complain(opened.error().text + ": open the link yourself");
  co_return exit_success;
}

}  // namespace

int ui_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("ui"));
  bool only_url = false, no_browser = false;
  line.flag("--url", only_url);
  line.flag("--no-browser", no_browser);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  Command browser{.argv = {}, .env = env, .cwd = "/"};
  std::erase_if(browser.env, [](const auto& each) { return each.first.starts_with("AWS_"); });
  if (const std::string program = opener_of(env); !no_browser && !program.empty())
    browser.argv.push_back(program);
  return run_client("sm ui", env,
                    [&](Client& client) { return show_link(client, only_url, browser); });
}

}  // namespace muster::cli
