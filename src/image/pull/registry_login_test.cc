#include "image/pull/registry_login.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "image/pull/credential_helper.h"
#include "net/http/server.h"
#include "net/loop/testing.h"

using namespace std::chrono_literals;

namespace muster::image {
namespace {

/// A folder with programs in it, and files.
class Folder {
 public:
  Folder() : path_(*make_private_folder("/tmp", "image-test-")) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { static_cast<void>(remove_tree(path_)); }
  const std::string& path() const { return path_; }
  std::string put(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    std::string path = path_ + "/" + name;
    REQUIRE(write_file(path, text, mode));
    return path;
  }
  std::string helper(const std::string& name, const std::string& script) const {
    return put("docker-credential-" + name, "#!/bin/sh\n" + script + "\n", 0700);
  }

 private:
  std::string path_;
};

Result<HelperAnswer> ask(const std::string& program, Duration most = 30s) {
  loop::Loop loop;
  Result<HelperAnswer> got = fail(Errc::closed, "");
  const auto body = [&]() -> loop::Task<void> {
    Command command;
    command.argv = {program, "get"};
    command.env = {{"PATH", "/usr/bin:/bin"}};
    std::string input = "quay.io";
    got = co_await ask_helper(loop, std::move(command), std::move(input), Clock::now() + most);
  };
  loop::run_task(loop, body());
  return got;
}

Result<std::optional<FoundLogin>> find(Env env, const std::string& image, LoginOptions options = {},
                                       http::Handler handler = nullptr) {
  loop::Loop loop;
  const Log log(STDERR_FILENO, "test", Log::Level::error);
  options.retry.pauses.first = 1ms;
  Result<std::optional<FoundLogin>> got = fail(Errc::closed, "");
  const auto body = [&]() -> loop::Task<void> {
    std::unique_ptr<http::Server> server;
    if (handler) {
      http::Server::Options own;
      Result<std::unique_ptr<http::Server>> opened =
          http::Server::open(loop, std::move(own), handler);
      CHECK_THAT(opened, "a server");
      server = std::move(*opened);
      env["AWS_ENDPOINT_URL_ECR"] = "http://127.0.0.1:" + std::to_string(server->port());
    }
    Reference reference = *reference_from(image);
    got = co_await find_login(loop, log, env, std::move(reference), options);
    if (server) co_await server->stop(Clock::now() + 10s);
  };
  loop::run_task(loop, body());
  return got;
}

}  // namespace

TEST_CASE("image login: a helper gets the name on its standard input, and is bounded") {
  const Folder folder;
  const Result<HelperAnswer> good = ask(folder.helper("good", "read n; echo \"$1 $n\""));
  REQUIRE(good);
  CHECK(good->text == "get quay.io\n");
  CHECK(good->succeeded);
  const Result<HelperAnswer> bad = ask(folder.helper("bad", "echo no; echo hush >&2; exit 1"));
  REQUIRE(bad);
  CHECK(bad->text == "no\n");
  CHECK(!bad->succeeded);
  const Result<HelperAnswer> deaf = ask(folder.helper("deaf", "exec 0<&-; echo yes"));
  REQUIRE(deaf);
  CHECK(deaf->text == "yes\n");
  struct {
    const char* name;
    const char* script;
    Errc want;
  } const cases[] = {
      {"endless", "while :; do echo hush; done", Errc::protocol},
      {"silent", "exec sleep 60", Errc::timeout},
      {"closed", "exec 1>&-; exec sleep 60", Errc::timeout},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HelperAnswer> got = ask(folder.helper(c.name, c.script), 300ms);
    REQUIRE(!got);
    CHECK(got.error().code == c.want);
    CHECK(got.error().text.find("hush") == std::string::npos);
  }
  CHECK(ask(folder.path() + "/none").error().code == Errc::not_found);
}

TEST_CASE("image login: processes that a helper leaves running end with it") {
  const Folder folder;
  const std::string path = folder.path() + "/held";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Fd held(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(ask(folder.helper("leaves", "sleep 60 > " + path + " & exec 1>&-; :")));
  pollfd end{.fd = held.get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&end, 1, 10'000) == 1);  // All holders of the other end are gone.
  CHECK((end.revents & POLLHUP) != 0);
}

TEST_CASE("image login: given logins first, then files in their order, helpers before entries") {
  const Folder folder;
  const Folder home;
  REQUIRE(make_folders(home.path() + "/.docker"));
  home.put(".docker/config.json",
           R"({"auths":{"quay.io":{"username":"entry","password":"p"}},"credsStore":"mine",
               "credHelpers":{"gcr.io":"none","ghcr.io":"gone"}})");
  folder.helper("mine",
                "read n; case $n in quay.io) echo '{\"Username\":\"helped\",\"Secret\":\"s\"}';; "
                "*) echo credentials not found in native keychain; exit 1;; esac");
  folder.helper("none", "echo hush; exit 1");
  const Env env = {{"HOME", home.path()}, {"PATH", folder.path() + ":/usr/bin:/bin"}};
  const auto helped = find(env, "quay.io/a");
  REQUIRE_MESSAGE(helped, helped.error().text);
  CHECK((*helped)->login == Login{"helped", "s", ""});
  CHECK((*helped)->origin == "docker-credential-mine");
  LoginOptions options;
  options.given = Login{"given", "g", ""};
  CHECK((**find(env, "quay.io/a", options)).login.user == "given");
  CHECK(!find(env, "elsewhere.example/a")->has_value());
  const auto failed = find(env, "gcr.io/a");
  REQUIRE(!failed);
  CHECK(failed.error().code == Errc::denied);
  CHECK(failed.error().text ==
        home.path() + "/.docker/config.json: docker-credential-none get gcr.io: it failed");
  CHECK(find(env, "ghcr.io/a").error().code == Errc::not_found);
  CHECK(!find({}, "quay.io/a")->has_value());
  const std::string broken = folder.put("broken.json", "hush");
  const auto refused = find({{"REGISTRY_AUTH_FILE", broken}}, "quay.io/a");
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK(refused.error().text.starts_with(broken));
}

TEST_CASE("image login: registries of ECR are known by their whole name") {
  CHECK(ecr_registry("123456789012.dkr.ecr.eu-west-1.amazonaws.com") ==
        EcrRegistry{"123456789012", "eu-west-1", "amazonaws.com"});
  CHECK(ecr_registry("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn:443") ==
        EcrRegistry{"123456789012", "cn-north-1", "amazonaws.com.cn"});
  CHECK(ecr_registry("123456789012.dkr.ecr-fips.us-east-1.amazonaws.com"));
  for (const char* other :
       {"", "docker.io", "1.dkr.ecr.eu-west-1.amazonaws.com",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.example",
        "123456789012.dkr.ecr.evil.example.amazonaws.com", "123456789012.dkr.ecr..amazonaws.com",
        "12345678901x.dkr.ecr.eu-west-1.amazonaws.com",
        "123456789012.dkr.evil.eu-west-1.amazonaws.com",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com.cn"})
    CHECK_MESSAGE(!ecr_registry(other), other);
}

TEST_CASE("image login: an ECR registry's login is got with AWS's credentials") {
  const std::string image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/box";
  const auto none = find({}, image);
  REQUIRE(!none);
  CHECK(none.error().code == Errc::denied);
  CHECK(none.error().text.find("AWS_ACCESS_KEY_ID is not set") != std::string::npos);

  const Env env = {{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "hush"}};
  int calls = 0;
  const http::Handler handler = [&](http::Exchange& exchange) -> loop::Task<void> {
    http::Reply reply;
    ++calls;
    if (calls == 1) {
      reply.status = 500;
    } else {
      const std::string scope(*exchange.request().value("authorization"));
      const bool right = scope.find("/eu-west-1/ecr/aws4_request") != std::string::npos &&
                         exchange.request().value("x-amz-target") ==
                             "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
      // "AWS:token" in base64.
      reply.status = right ? 200 : 400;
      reply.body = R"({"authorizationData":[{"authorizationToken":"QVdTOnRva2Vu"}]})";
    }
    static_cast<void>(co_await exchange.reply(std::move(reply)));
  };
  const auto got = find(env, image, {}, handler);
  REQUIRE_MESSAGE(got, got.error().text);
  CHECK((*got)->login == Login{"AWS", "token", ""});
  CHECK(calls == 2);

  const http::Handler refuse = [](http::Exchange& exchange) -> loop::Task<void> {
    http::Reply reply;
    reply.status = 400;
    static_cast<void>(co_await exchange.reply(std::move(reply)));
  };
  const auto refused = find(env, image, {}, refuse);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::denied);
  CHECK(refused.error().text.find("hush") == std::string::npos);
  for (const char* bad : {"", "[]", "{}", R"({"authorizationData":[]})",
                          R"({"authorizationData":[{"authorizationToken":"hush"}]})"})
    CHECK(login_from_ecr(bad).error().code == Errc::protocol);
}

}  // namespace muster::image
