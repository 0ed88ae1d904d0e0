// `sm ui`

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/job_view.h"
#include "command/line.h"

namespace muster::cli {
namespace {

/// The server's own word for the page is a path: by which name it is reached, this side knows.
loop::Task<Result<int>> show_link(Client& client, bool only_url) {
  std::string target = "SageMaker.CreateWebLink";
  Json input = Json::object();
  const Result<Json> made =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!made) co_return made.error();
  const std::string path = member_text(*made, "Path");
  if (!path.starts_with("/ui/"))
    co_return fail(Errc::protocol, "the server gave no link to its web page");
  const std::string url = visible_line(client.api.url() + path);
  if (only_url)
    client.out.text() += url + "\n";
  else
    client.out.text() +=
        "This link opens the server's web page once, within a minute:\n\n  " + url + "\n\n";
  co_return exit_success;
}

}  // namespace

int ui_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("ui"));
  bool only_url = false;
  line.flag("--url", only_url);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  return run_client("sm ui", env, [&](Client& client) { return show_link(client, only_url); });
}

}  // namespace muster::cli
