#include "job/host_settings.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("host settings: muster's own variables leave the environment and are found in the file") {
  Env env{{"PATH", "/bin"}, {"MUSTER_A", "x=1\n"}, {"MUSTER_B", ""}, {"NOT_MUSTER_C", "c"}};
  const Env whole = env;
  const std::string text = take_host_settings(env);
  CHECK(env == Env{{"PATH", "/bin"}, {"NOT_MUSTER_C", "c"}});
  CHECK(*with_host_settings(env, text) == whole);
  CHECK(take_host_settings(env).empty());
  CHECK(*with_host_settings(env, "") == env);
}

TEST_CASE("host settings: variables in the environment win") {
  Env env{{"MUSTER_A", "file"}, {"MUSTER_B", "file"}};
  const std::string text = take_host_settings(env);
  CHECK(*with_host_settings({{"MUSTER_A", "own"}}, text) ==
        Env{{"MUSTER_A", "own"}, {"MUSTER_B", "file"}});
}

TEST_CASE("host settings: anything but muster's own variables is refused") {
  for (const char* text : {"PATH=/evil", "MUSTER_A", "=", "MUSTER"}) {
    CAPTURE(text);
    CHECK(with_host_settings({}, text).error().code == Errc::invalid_input);
  }
  CHECK(with_host_settings({}, std::string("MUSTER_A=1\0\0MUSTER_B=2\0", 22)).error().code ==
        Errc::invalid_input);
}

TEST_CASE("host settings: variables of a job override an image's, whatever their values") {
  const Env own{{"A", "x=1\n$HOME \"'"}, {"B", ""}};
  CHECK(*variables_from(variables_text(own)) == own);
  CHECK(variables_from("")->empty());
  for (const char* text : {"A", "=x"}) CHECK(!variables_from(text));
  CHECK(over_variables({{"A", "image"}, {"PATH", "/opt/bin:/bin"}, {"C", "c"}}, own) ==
        Env{{"A", own.at("A")}, {"B", ""}, {"C", "c"}, {"PATH", "/opt/bin:/bin:/run/muster/bin"}});
  CHECK(over_variables({}, {{"PATH", "/own"}}).at("PATH") == "/own:/run/muster/bin");
  CHECK(over_variables({}, {}).at("PATH").ends_with(":/sbin:/bin:/run/muster/bin"));
}

}  // namespace
}  // namespace muster::job
