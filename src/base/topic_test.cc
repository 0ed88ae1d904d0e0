#include "base/topic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/fd.h"

namespace muster {
namespace {

constexpr std::string_view page = R"(# Page

Words before.

## One

### Needs root {#needs-root}

```text
needs root
… wants root: …
```

What it means.

And more.

### Without an anchor

Words.

## Two

### Lost {#lost}
Words at once.
)";

TEST_CASE("topics: a page's sections with an anchor, their messages and paragraphs") {
  const std::vector<Topic> read = read_topics(page);
  REQUIRE(read.size() == 2);
  CHECK(read[0].group == "One");
  CHECK(read[0].name == "needs-root");
  CHECK(read[0].title == "Needs root");
  CHECK(read[0].says == std::vector<std::string_view>{"needs root", "… wants root: …"});
  CHECK(read[0].text == "What it means.\n\nAnd more.");
  CHECK(read[1].group == "Two");
  CHECK(read[1].name == "lost");
  CHECK(read[1].says.empty());
  CHECK(read[1].text == "Words at once.");
  CHECK(read_topics("").empty());
  CHECK(read_topics("### x {#y").size() == 1);
  CHECK(read_topics("### x {#y}\n```text\nnever closed").front().says.size() == 1);
}

TEST_CASE("topics: a pattern fits word for word between its gaps, from a clause's beginning") {
  struct {
    const char* pattern;
    const char* message;
    std::size_t want;
  } const cases[] = {
      {"needs root", "needs root: run it with sudo", 10},
      {"needs root", "sm clean: needs root", 10},
      {"needs root", "he needs root", 0},
      {"…needs root", "he needs root", 10},
      {"… is …; expected …", "--port is 0; expected a number from 1 to 9", 4 + 11},
      {"… is …; expected …", "--port expects 1", 0},
      {"a…b…a", "a b", 0},
      {"a…b…a", "a, b, a", 3},
      {"needs root", "", 0},
      {"", "needs root", 0},
      {"…", "needs root", 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.pattern);
    CAPTURE(c.message);
    CHECK(fit_of(c.pattern, c.message) == c.want);
  }
}

TEST_CASE(
    "topics: a pattern of the beginning wins, then the one with most words, the first of equals") {
  const std::vector<Topic> some = {{.name = "file", .says = {"…: No such file"}},
                                   {.name = "channel", .says = {"channel …: No such file"}},
                                   {.name = "also", .says = {"…: No such file"}}};
  CHECK(topic_of(some, "x: No such file")->name == "file");
  CHECK(topic_of(some, "channel x: No such file")->name == "channel");
  CHECK(topic_of(some, "all is well") == nullptr);
  const std::vector<Topic> begin = {{.name = "gpus", .says = {"…: expected NAME=VALUE…"}},
                                    {.name = "flag", .says = {"--…: expected …"}}};
  CHECK(topic_of(begin, "--env: expected NAME=VALUE, got x")->name == "flag");
  CHECK(topic_of(begin, "x: expected NAME=VALUE, got x")->name == "gpus");
  CHECK(topic_of({}, "x: No such file") == nullptr);
}

TEST_CASE("topics: a message gets its topic's name once, at the end of its first line") {
  const std::string told = with_topic("x: jobs on this machine need root: run it with sudo");
  CHECK(told == "x: jobs on this machine need root: run it with sudo (sm explain needs-root)");
  CHECK(with_topic(told) == told);
  CHECK(with_topic("jobs on this machine need root\nmore") ==
        "jobs on this machine need root (sm explain needs-root)\nmore");
  CHECK(without_topic(told) == "x: jobs on this machine need root: run it with sudo");
  CHECK(without_topic(told + "; see y") ==
        "x: jobs on this machine need root: run it with sudo; see y");
  CHECK(with_topic("all is well") == "all is well");
  CHECK(without_topic("all is well (sm explain") == "all is well (sm explain");
  CHECK(topic_name("all is well").empty());
  CHECK(topic_name("all is well\nneeds root: run it with sudo").empty());
}

TEST_CASE("topics: a message as people meet it finds its section") {
  struct {
    const char* message;
    const char* name;
  } const cases[] = {
      {"algo-2: mpirun: /opt/x: No such file or directory", "no-such-file"},
      {"rank 2 on algo-2: exit code 1: ValueError: expected 3, got \"4\"", "exit-code"},
      {"AlgorithmError: rank 2 on algo-2: exit code 1: OSError: [Errno 28] full", "exit-code"},
      {"rank 0 on algo-1: killed by SIGSEGV", "signal"},
      {"rank 0 on algo-1: killed by SIGKILL (out of memory)", "out-of-memory"},
      {"rank 0: exit code 1; algo-1: disk: 5 GiB of VolumeSizeInGB=5 full", "volume-full"},
      {"rank 0: exit code 1; algo-1: /dev/shm: 64 MiB full", "memory-place-full"},
      {"rank 0: exit code 1; algo-1: reached its limit of 16384 processes", "no-more-processes"},
      {"rank 0: exit code 1; algo-1: a process reached its limit of 65536 open files",
       "no-more-open-files"},
      {"rank 0: exit code 1; algo-1: reached its memory limit (96 MiB)", "out-of-memory"},
      {"host algo-3: lost: no heartbeat for 5 s", "lost-host"},
      {"algo-2: lost: no heartbeat for 5 s", "lost-host"},
      {"[::1]:7700: Address already in use; choose another address with --listen ADDRESS:PORT",
       "port-taken"},
      {"roll call: algo-2 did not join within 15 min; algo-1 has joined", "roll-call"},
      {"code: cannot write a: No space left on device", "disk-full"},
      {"s3://b/k: the server returned 412 (BadDigest); the server says: no", "s3-request"},
      {"s3://b/k: the server returned 503 (SlowDown)", "s3-answer"},
      {"--hyperparameter: expected NAME=VALUE, got \"noequals\"", "bad-value"},
      {"--input: expected NAME=DIR, got \"x\"", "bad-value"},
      {"--gpus: expected a whole number from 0 to 64, got \"x\"", "bad-value"},
      {"--output: expected s3://BUCKET or s3://BUCKET/PREFIX, got \"x\"", "s3-url"},
      {"/etc/cdi/x.json: containerEdits.env[0]: expected NAME=VALUE, got \"x\"", "gpus"},
      {"template: line 3: not YAML: found a tab", "bad-json"},
      {"jobs.registries: expected names, got \"x\"", "bad-config"},
      {"manifests: expected a list of at most 64 manifests", "image-damaged"},
      {"TLS: OpenSSL does not support TLS_AES_128_GCM_SHA256", "tls-failed"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.message);
    CHECK(topic_name(c.message) == c.name);
  }
}

TEST_CASE("topics: each section of the page has a unique name, messages and what to do") {
  const Result<std::string> source =
      read_file(std::string(MUSTER_SOURCE_DIR) + "/docs/users/troubleshooting.md");
  REQUIRE(source);
  const auto sections = std::count(source->begin(), source->end(), '{');
  CHECK(!topics().empty());
  std::set<std::string_view> names;
  for (const Topic& topic : topics()) {
    CAPTURE(std::string(topic.name));
    CHECK(names.insert(topic.name).second);
    CHECK(topic.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
          std::string_view::npos);
    CHECK(topic.name.size() <= 20);
    CHECK(!topic.group.empty());
    CHECK(!topic.title.empty());
    CHECK(!topic.says.empty());
    CHECK(std::string_view(".?)").find(topic.text.back()) != std::string_view::npos);
    CHECK(find_topic(topic.name) == &topic);
    for (const std::string_view pattern : topic.says) {
      CAPTURE(std::string(pattern));
      CHECK(fit_of(pattern, pattern) > 0);
      CHECK(topic_of(topics(), pattern) == &topic);  // No other one hides it.
    }
  }
  CHECK(sections >= static_cast<std::ptrdiff_t>(names.size()));
}

}  // namespace
}  // namespace muster
