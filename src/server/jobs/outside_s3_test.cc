#include "server/jobs/outside_s3.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"

namespace muster::jobs {
namespace {

TEST_CASE("outside S3: the values of the config are used unchanged") {
  const Result<OutsideS3> s3 = outside_s3_from(Json::parse(
      R"({"endpoint": "https://s3.example:9000", "region": "eu-1", "credentials_file": "/keys",
          "ca_file": "/ca"})"));
  REQUIRE(s3);
  CHECK(*s3 == OutsideS3{"https://s3.example:9000", "eu-1", "/keys", "/ca"});
  CHECK(environment_for(*s3) == Env{{"AWS_ENDPOINT_URL_S3", "https://s3.example:9000"},
                                    {"AWS_REGION", "eu-1"},
                                    {"AWS_SHARED_CREDENTIALS_FILE", "/keys"},
                                    {"AWS_CA_BUNDLE", "/ca"}});
  OutsideS3 trusted = *s3;
  trusted.ca_file.clear();
  CHECK(!environment_for(trusted).contains("AWS_CA_BUNDLE"));
}

TEST_CASE("outside S3: an invalid value is one clear line that names the key") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {
      {"[]", "s3: expected an object"},
      {R"({"bucket": "b"})", "s3.bucket: expected one of the keys endpoint, region"},
      {R"({"endpoint": 1})", "s3.endpoint: expected a string"},
      {R"({"endpoint": "s3.example", "credentials_file": "/k"})", "s3.endpoint: "},
      {R"({"credentials_file": "/k"})", "s3.endpoint: "},
      {R"({"endpoint": "http://a/?x=1", "credentials_file": "/k"})",
       "s3.endpoint: expected http(s)://HOST:PORT, without a query"},
      {R"({"endpoint": "http://a"})", "s3.credentials_file: expected a file"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<OutsideS3> got = outside_s3_from(Json::parse(c.text));
    REQUIRE_FALSE(got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.starts_with(c.want));
  }
}

TEST_CASE("outside S3: the keys are those of the profile default in a private file") {
  const std::string folder = *make_private_folder("/tmp", "muster-outside-");
  OutsideS3 s3;
  s3.credentials_file = folder + "/keys";
  CHECK(credentials_of(s3).error().code == Errc::not_found);
  const auto keys_from = [&](const char* text) {
    REQUIRE(write_file(s3.credentials_file, text, 0600));
    return credentials_of(s3);
  };
  const Result<aws::Credentials> keys = keys_from(
      "[default]\naws_access_key_id = id\naws_secret_access_key = secret\n"
      "aws_session_token = token\n");
  REQUIRE(keys);
  CHECK(keys->access_key == "id");
  CHECK(keys->secret_key == "secret");
  CHECK(keys->session_token == "token");
  const Result<aws::Credentials> half = keys_from("[default]\naws_access_key_id = id\n");
  REQUIRE_FALSE(half);
  CHECK(half.error().text.starts_with(s3.credentials_file + ": "));
  const Result<aws::Credentials> other =
      keys_from("[work]\naws_access_key_id = id\naws_secret_access_key = secret\n");
  REQUIRE_FALSE(other);
  CHECK(other.error().text.find("expected a [default] profile") != std::string::npos);
  REQUIRE(::chmod(s3.credentials_file.c_str(), 0644) == 0);
  CHECK(credentials_of(s3).error().code == Errc::denied);
  static_cast<void>(remove_tree(folder));
}

/// A request for an object, and what it was answered.
class Asked final : public http::Exchange {
 public:
  explicit Asked(loop::Loop& loop) : loop_(loop) {
    head_.method = "GET";
    head_.target = "/bucket/key";
  }
  const http::Incoming& request() const override { return head_; }
  loop::Loop& loop() override { return loop_; }
  loop::Task<Result<std::string_view>> read() override { co_return std::string_view(); }
  loop::Task<Result<void>> reply(http::Reply reply) override {
    answer = std::move(reply);
    co_return Result<void>();
  }
  loop::Task<Result<void>> start(http::Reply) override { co_return Result<void>(); }
  loop::Task<Result<void>> write(std::string_view) override { co_return Result<void>(); }
  void finish_broken() override {}
  bool answered() const override { return answer.has_value(); }
  bool proved(std::string_view, std::string_view) override { return true; }
  void is_for(std::string_view) override {}
  bool keeps(std::size_t) override { return true; }
  std::function<bool()> gone() const override { return {}; }

  std::optional<http::Reply> answer;

 private:
  loop::Loop& loop_;
  http::Incoming head_;
};

TEST_CASE("outside S3: clients that ask this server for objects learn where they are") {
  loop::Loop loop;
  Asked asked(loop);
  loop::run_task(loop, answer_no_s3(asked));
  REQUIRE(asked.answer);
  CHECK(asked.answer->status == 501);
  CHECK(asked.answer->body.find("<Code>NotImplemented</Code>") != std::string::npos);
  CHECK(asked.answer->body.find("AWS_ENDPOINT_URL_S3") != std::string::npos);
}

}  // namespace
}  // namespace muster::jobs
