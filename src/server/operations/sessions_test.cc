#include "server/operations/sessions.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "server/operations/identity.h"

namespace muster::server {
namespace {

constexpr const char* role = "arn:aws:iam::000000000000:role/teams/train";

struct World {
  std::string folder = *make_private_folder("/tmp", "muster-sessions-");
  store::Store store = *store::Store::open(folder + "/store.db");
  access::KeyRing ring;
  UserKeys keys{store, ring};
  UnixMillis now{1'000'000};
  api::Realm realm;
  std::string maker;

  World() {
    const access::KeyPolicy limited{.limited = true, .reads = {}, .writes = {}};
    REQUIRE(ring.add({"JOB", "12345678", "", std::nullopt, limited, "job-1"}));
    maker = keys.make("", now)->id;
    REQUIRE(keys.make("", now));  // The last one stays.
  }
  ~World() { std::filesystem::remove_all(folder); }

  api::Answer ask(const std::string& operation, const Json& input, const std::string& signer = "") {
    api::Request request{"sts", operation, input, maker};
    request.signer = signer.empty() ? maker : signer;
    if (const auto key = ring.find(request.signer)) {
      request.access_key = key->counted();
      request.session = key->session;
    }
    if (operation == "GetCallerIdentity") return identify(request, realm);
    return lend_key(request, realm, keys, now);
  }
  Json credentials(const std::string& operation, const Json& input,
                   const std::string& signer = "") {
    const api::Answer answer = ask(operation, input, signer);
    REQUIRE(answer);
    return answer->at("Credentials");
  }
  std::string refusal(const std::string& operation, const Json& input,
                      const std::string& signer = "") {
    const api::Answer answer = ask(operation, input, signer);
    return answer ? "" : answer.error().code + ": " + answer.error().message;
  }
};

const Json assume = {{"RoleArn", role}, {"RoleSessionName", "night"}};

TEST_CASE("sessions: a temporary key has its maker's rights and says whose it is") {
  World world;
  const api::Answer answer = world.ask("AssumeRole", assume);
  REQUIRE(answer);
  const std::string arn = "arn:aws:sts::000000000000:assumed-role/train/night";
  CHECK(answer->at("AssumedRoleUser").at("Arn") == arn);
  const Json& made = answer->at("Credentials");
  const std::string id = made.at("AccessKeyId");
  CHECK(id.starts_with("ASIA"));
  CHECK(made.at("Expiration") == 4600.0);
  const std::shared_ptr<const access::AccessKey> key = world.ring.find(id);
  REQUIRE(key);
  CHECK(key->secret == made.at("SecretAccessKey"));
  CHECK(key->secret != world.ring.find(world.maker)->secret);
  CHECK(key->session_token == made.at("SessionToken"));
  CHECK(key->expires == UnixMillis(4'600'000));
  CHECK(key->policy == world.ring.find(world.maker)->policy);
  CHECK(key->counted() == world.maker);
  CHECK(world.ask("GetCallerIdentity", Json::object(), id)->at("Arn") == arn);

  const Json plain = world.credentials("GetSessionToken", Json::object());
  CHECK(plain.at("Expiration") == 1000.0 + 43'200);
  CHECK(plain.at("AccessKeyId") != id);
  CHECK(*world.ask("GetCallerIdentity", Json::object(), plain.at("AccessKeyId")) ==
        *world.ask("GetCallerIdentity", Json::object()));
}

TEST_CASE("sessions: the allowed requests for a temporary key") {
  World world;
  const auto with = [](const char* name, const Json& value) {
    Json input = assume;
    input[name] = value;
    return input;
  };
  const struct {
    const char* operation;
    Json input;
    const char* refusal;
  } cases[] = {
      {"AssumeRole", with("Policy", "{}"), "ValidationError: Policy: "},
      {"AssumeRole", with("PolicyArns", Json::array()), "ValidationError: PolicyArns: "},
      {"AssumeRole", with("SerialNumber", "123456789"), "ValidationError: SerialNumber: "},
      {"AssumeRole", with("TokenCode", "123456"), "ValidationError: TokenCode: "},
      {"GetSessionToken", {{"TokenCode", "123456"}}, "ValidationError: TokenCode: "},
      {"GetSessionToken", {{"DurationSeconds", 43'201}}, "ValidationError: DurationSeconds: "},
      {"AssumeRole", with("RoleArn", "arn:aws:iam::111111111111:role/train"), "AccessDenied: "},
      {"AssumeRole", with("RoleArn", "arn:aws:iam::000000000000:user/train"), "AccessDenied: "},
      {"AssumeRole", with("RoleArn", "arn:aws:iam::000000000000:role/a/"), "AccessDenied: "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.refusal);
    CHECK(world.refusal(c.operation, c.input).starts_with(c.refusal));
  }
  for (const char* operation : {"AssumeRole", "GetSessionToken"}) {
    const Json input = std::string(operation) == "AssumeRole" ? assume : Json::object();
    CHECK(world.refusal(operation, input, "JOB").starts_with("InvalidClientTokenId"));
  }
  CHECK(world.store.sessions()->empty());
}

TEST_CASE("sessions: one made of a temporary key ends with it") {
  World world;
  const std::string first = world.credentials("AssumeRole", assume).at("AccessKeyId");
  Json long_one = assume;
  long_one["DurationSeconds"] = 43'200;
  world.now += std::chrono::minutes(10);
  const Json second = world.credentials("AssumeRole", long_one, first);
  CHECK(second.at("Expiration") == 4600.0);
  CHECK(world.ring.find(second.at("AccessKeyId").get<std::string>())->maker == world.maker);
  CHECK(world.refusal("GetSessionToken", Json::object(), first) ==
        "AccessDenied: Cannot call GetSessionToken with session credentials");
}

TEST_CASE("sessions: they end with their maker, and live on in another server") {
  World world;
  const Json made = world.credentials("AssumeRole", assume);
  const std::string id = made.at("AccessKeyId");
  {
    access::KeyRing ring;
    UserKeys keys(world.store, ring);
    REQUIRE(keys.reload());
    REQUIRE(ring.find(id));
    CHECK(ring.find(id)->secret == made.at("SecretAccessKey"));
    CHECK(ring.find(id)->session == "train/night");
  }
  {
    // The config's key of that id counts: another secret, other temporary keys.
    access::KeyRing ring;
    UserKeys keys(world.store, ring);
    REQUIRE(keys.add({{world.maker, "of-the-config", "", "", "", UnixMillis(0)}}));
    REQUIRE(keys.reload());
    CHECK(ring.find(id)->secret != made.at("SecretAccessKey"));
  }
  REQUIRE(world.keys.remove(world.maker));
  CHECK(!world.ring.find(id));
  CHECK(world.store.sessions()->empty());
}

TEST_CASE("sessions: a thousand of one key, and no more until some have expired") {
  World world;
  const Json input{{"DurationSeconds", 900}};
  std::string first;
  for (int i = 0; i < UserKeys::sessions_max; ++i) {
    const std::optional<access::AccessKey> key =
        *world.keys.lend(world.maker, "", world.now, world.now + std::chrono::seconds(900));
    if (first.empty()) first = key->id;
  }
  CHECK(world.refusal("GetSessionToken", input).starts_with("LimitExceeded: "));
  world.now += std::chrono::seconds(900);
  CHECK(world.refusal("GetSessionToken", input).empty());
  CHECK(!world.ring.find(first));
  CHECK(world.store.sessions()->size() == 1);
}

}  // namespace
}  // namespace muster::server
