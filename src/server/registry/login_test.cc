#include "server/registry/login.h"

#include <doctest/doctest.h>

#include "base/base64.h"
#include "base/text.h"

namespace muster::registry {
namespace {

using std::chrono::hours;

const std::string secret = "secretsecretsecret";
const UnixMillis now = hours(1000);

std::string basic(const std::string& user, const std::string& password) {
  return "Basic " + base64(user + ":" + password);
}

struct Keys {
  Keys() {
    REQUIRE(ring.add({"USER", secret, "", std::nullopt, {}, ""}));
    access::KeyPolicy limited;
    limited.limited = true;
    REQUIRE(ring.add({"JOB", secret, "session", now + hours(1), limited, "job"}));
  }
  access::KeyRing ring;
};

TEST_CASE("registry login: by a key's secret, and by its token") {
  const Keys keys;
  CHECK((*logged_in(basic("USER", secret), keys.ring, now))->id == "USER");
  CHECK((*logged_in("basic " + base64("USER:" + secret), keys.ring, now))->id == "USER");
  const std::shared_ptr<const access::AccessKey> user = keys.ring.find("USER");
  const std::shared_ptr<const access::AccessKey> job = keys.ring.find("JOB");
  CHECK(token_end(*user, now) == now + hours(12));
  CHECK(token_end(*job, now) == now + hours(1));
  const std::string token = token_for(*user, now + hours(12));
  CHECK(token.find(secret) == std::string::npos);
  CHECK((*logged_in(basic("AWS", token), keys.ring, now + hours(11)))->id == "USER");
  const Result<std::shared_ptr<const access::AccessKey>> of_job =
      logged_in(basic("AWS", token_for(*job, now + hours(1))), keys.ring, now);
  REQUIRE(of_job);
  CHECK((*of_job)->policy.limited);
}

TEST_CASE("registry login: nothing else is accepted") {
  Keys keys;
  const std::shared_ptr<const access::AccessKey> user = keys.ring.find("USER");
  const std::string token = token_for(*user, now + hours(12));
  std::string longer = token;
  longer.replace(longer.find('.') + 1, 1, "9");
  std::string of_other = "JOB" + token.substr(token.find('.'));
  const std::string long_ago = token_for(*user, now);
  struct {
    const char* name;
    std::string header, why;
  } const cases[] = {
      {"another secret", basic("USER", "secretsecretsecre"), "wrong secret"},
      {"no secret", basic("USER", ""), "wrong secret"},
      {"nobody's key", basic("NOBODY", secret), "unknown access key"},
      {"no user", basic("", ""), "unknown access key"},
      {"a key with a session token", basic("JOB", secret), "session token"},
      {"what an earlier server gave to all", basic("AWS", "none"), "not issued by this server"},
      {"no token", basic("AWS", ""), "not issued by this server"},
      {"the secret as a token", basic("AWS", secret), "not issued by this server"},
      {"a token that says it lives longer", basic("AWS", longer), "not issued by this server"},
      {"a token of another key", basic("AWS", of_other), "not issued by this server"},
      {"a token cut short", basic("AWS", token.substr(0, token.size() - 1)), "not issued by this"},
      {"no MAC", basic("AWS", token.substr(0, token.rfind('.') + 1)), "not issued by this server"},
      {"an old token", basic("AWS", long_ago), "has expired"},
      {"Bearer", "Bearer " + token, "HTTP Basic"},
      {"no base64", "Basic ?", "HTTP Basic"},
      {"no colon", "Basic " + base64("USER"), "HTTP Basic"},
      {"too long", basic("USER", std::string(10000, 'a')), "HTTP Basic"},
      {"empty", "", "HTTP Basic"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<std::shared_ptr<const access::AccessKey>> key =
        logged_in(c.header, keys.ring, now);
    REQUIRE(!key);
    CHECK(key.error().code == Errc::denied);
    CHECK(key.error().text.find(c.why) != std::string::npos);
    CHECK(key.error().text.find(secret) == std::string::npos);
  }
  CHECK(!logged_in(std::nullopt, keys.ring, now));
  const std::string of_job = token_for(*keys.ring.find("JOB"), now + hours(20));
  CHECK(!logged_in(basic("AWS", of_job), keys.ring, now + hours(2)));  // The key ended.
  keys.ring.revoke("USER");
  CHECK(!logged_in(basic("AWS", token), keys.ring, now));
  REQUIRE(keys.ring.add({"USER", "anothersecret", "", std::nullopt, {}, ""}));
  CHECK(!logged_in(basic("AWS", token), keys.ring, now));
}

}  // namespace
}  // namespace muster::registry
