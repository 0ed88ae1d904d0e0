#include "host/env/options.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "host/env/job_key.h"

namespace muster::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<TrainOptions> options_of(const Args& args, const Env& env) {
  Result<TrainOptions> options = train_options(env);
  if (!options) return options;
  const std::optional<command::Stop> stop = read_train_flags(args, *options);
  if (stop) return fail(Errc::invalid_input, stop->text);
  return options;
}

TEST_CASE("train options: flags win over variables, those over the defaults") {
  const TrainOptions standard = *options_of({}, {});
  CHECK(standard.port == 9730);
  CHECK(standard.join_deadline == seconds(900));
  CHECK(standard.stop_grace == seconds(30));
  const Env env = {{"MUSTER_ROLLCALL_PORT", "1234"}, {"MUSTER_STOP_DEADLINE", "2.5"}};
  const TrainOptions options = *options_of({"--port=99", "--lost-after", "7"}, env);
  CHECK(options.port == 99);
  CHECK(options.stop_grace == milliseconds(2500));
  CHECK(options.lost_after == seconds(7));
  CHECK(options_of({"train"}, {}));
}

TEST_CASE("train options: the error names the invalid option and the expected value") {
  const struct {
    Args args;
    Env env;
    const char* says;
  } cases[] = {
      {{"--port", "0"}, {}, "--port is \"0\"; expected a port"},
      {{"--port"}, {}, "--port: expected a value"},
      {{"--prot", "1"}, {}, "unknown flag \"--prot\"; did you mean --port?"},
      {{"train", "x"}, {}, "unexpected argument \"x\""},
      {{"--grace", "soon"}, {}, "--grace is \"soon\"; expected a number of seconds"},
      {{"--grace", "-1"}, {}, "expected a number of seconds"},
      {{"--grace", "nan"}, {}, "expected a number of seconds"},
      {{"--heartbeat", "0"}, {}, "--heartbeat is 0, which is too short"},
      {{}, {{"MUSTER_ROLLCALL_PORT", "65536"}}, "MUSTER_ROLLCALL_PORT is \"65536\""},
      {{}, {{"MUSTER_JOIN_DEADLINE", ""}}, "MUSTER_JOIN_DEADLINE is \"\""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.says);
    const Result<TrainOptions> options = options_of(c.args, c.env);
    REQUIRE(!options);
    CHECK(options.error().code == Errc::invalid_input);
    CHECK(options.error().text.find(c.says) != std::string::npos);
  }
}

TEST_CASE("user environment: nothing of muster's own is in it") {
  const Env env = {{"PATH", "/bin"}, {"MUSTER_JOB_KEY", "x"}, {"MUSTER_SOCKET", "/s"}};
  CHECK(user_environment(env) == Env{{"PATH", "/bin"}});
  CHECK(user_environment({{"MUSTER_INTERFACE", "bond0"}}) ==
        Env{{"GLOO_SOCKET_IFNAME", "bond0"}, {"NCCL_SOCKET_IFNAME", "=bond0"}});
  CHECK(user_environment({{"MUSTER_INTERFACE", "bond0"}, {"NCCL_SOCKET_IFNAME", "ib"}})
            .at("NCCL_SOCKET_IFNAME") == "ib");
}

TEST_CASE("job key: from a file, a variable, or by request from the name, with a warning") {
  const std::string folder = *make_private_folder("/tmp", "muster-key-");
  const std::string key(32, 'k');
  REQUIRE(write_file(folder + "/key", hex(key) + "\n", 0600));
  CHECK(job_key({{"MUSTER_JOB_KEY_FILE", folder + "/key"}})->bytes == key);
  CHECK(job_key({{"MUSTER_JOB_KEY", hex(key)}})->warning.empty());
  const auto named = [](const char* variable, const char* value) {
    return job_key({{variable, value}, {"MUSTER_JOB_KEY_FROM_NAME", "1"}});
  };
  const JobKey derived = *named("TRAINING_JOB_NAME", "a");
  CHECK(derived.bytes.size() == 32);
  CHECK(!derived.warning.empty());
  CHECK(derived.bytes == named("TRAINING_JOB_NAME", "a")->bytes);
  CHECK(derived.bytes != named("TRAINING_JOB_NAME", "b")->bytes);
  CHECK(derived.bytes != named("TRAINING_JOB_ARN", "a")->bytes);
  for (const char* wish : {"", "0", "true", "11"})
    CHECK(job_key({{"TRAINING_JOB_NAME", "a"}, {"MUSTER_JOB_KEY_FROM_NAME", wish}}).error().code ==
          Errc::invalid_input);
  const std::string none = job_key({{"TRAINING_JOB_NAME", "a"}}).error().text;
  for (const char* way :
       {"MUSTER_JOB_KEY_FILE", "MUSTER_JOB_KEY;", "sm key job", "MUSTER_JOB_KEY_FROM_NAME=1"})
    CHECK(none.find(way) != std::string::npos);
  CHECK(job_key({{"MUSTER_JOB_KEY", "abc"}}).error().code == Errc::invalid_input);
  CHECK(job_key({{"MUSTER_JOB_KEY_FILE", folder + "/none"}}).error().code == Errc::not_found);
}

}  // namespace
}  // namespace muster::env
