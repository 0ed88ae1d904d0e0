#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "cli/fit/fit_options.h"
#include "cli/fit/fit_spec.h"
#include "cli/fit/places.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

FitOptions good(const Args& args) {
  const FitLine line = fit_options(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line)) FAIL(stop->text);
  return std::get<FitOptions>(line);
}

TEST_CASE("fit: every flag is understood") {
  const FitOptions options = good({"train.py",
                                   "--source-dir",
                                   "code",
                                   "--hosts",
                                   "3",
                                   "--processes-per-host=2",
                                   "--input",
                                   "train=data",
                                   "--input",
                                   "test=more=data",
                                   "--hyperparameter",
                                   "epochs=2",
                                   "--output",
                                   "out",
                                   "--checkpoints",
                                   "ckpt",
                                   "--name",
                                   "my-job",
                                   "--python",
                                   "venv/bin/python",
                                   "--env",
                                   "A=b c",
                                   "--metric",
                                   "loss=loss=([0-9.]+)",
                                   "--volume-size",
                                   "5",
                                   "--timeout",
                                   "90",
                                   "--max-wait",
                                   "2h",
                                   "--hang-after",
                                   "10m",
                                   "--end-hung",
                                   "--grace",
                                   "1.5",
                                   "--keep",
                                   "--detach",
                                   "--json",
                                   "--verbose",
                                   "--",
                                   "--resume",
                                   "--",
                                   "x"});
  CHECK(options.script == "train.py");
  CHECK(options.source_folder == "code");
  CHECK(options.hosts == 3);
  CHECK(options.launch.processes_per_host == 2);
  CHECK(options.launch.mpi);
  CHECK(options.inputs == Pairs{{"train", "data"}, {"test", "more=data"}});
  CHECK(options.hyperparameters.all == Pairs{{"epochs", "2"}});
  CHECK(options.environment == Pairs{{"A", "b c"}});
  CHECK(options.metrics == std::vector<job::MetricDefinition>{{"loss", "loss=([0-9.]+)"}});
  CHECK(options.output == "out");
  CHECK(options.checkpoints == "ckpt");
  CHECK(options.name == "my-job");
  CHECK(options.python == "venv/bin/python");
  CHECK(options.volume_gib == 5);
  CHECK(options.timeout == 90s);
  CHECK(options.max_wait == 2h);
  CHECK(options.hang_after == 10min);
  CHECK(options.end_hung);
  CHECK(options.grace == 1500ms);
  CHECK((options.keep && options.detach && options.json && options.verbose && !options.print_plan));
  CHECK(options.arguments == Args{"--resume", "--", "x"});
}

TEST_CASE("fit: values reach muster untouched, whatever they look like") {
  const FitOptions options =
      good({"t.py", "--hyperparameter", "a=-1", "--hyperparameter", "b=", "--hyperparameter",
            "c=$(x) 'y' \"z\"\n`w`; é", "--hyperparameter", "d=[1, 2]", "--hyperparameter", "e=--x",
            "--custom-mpi-options", "-x A --mca b c", "--hyperparameter", "f=a,b"});
  CHECK(options.hyperparameters.all == Pairs{{"a", "-1"},
                                             {"b", ""},
                                             {"c", "$(x) 'y' \"z\"\n`w`; é"},
                                             {"d", "[1, 2]"},
                                             {"e", "--x"},
                                             {"f", "a,b"}});
  CHECK(options.launch.custom_mpi_options == "-x A --mca b c");
  CHECK(options.launch.mpi);
}

TEST_CASE("fit: hosts' limits are read as Docker's") {
  struct {
    const char* text;
    std::int64_t want;
  } const cases[] = {{"8388608", 8 << 20}, {"512m", 512 << 20},           {"2g", 2ll << 30},
                     {"2G", 2ll << 30},    {"1.5GiB", 3ll << 29},         {"64MB", 64 << 20},
                     {"10000k", 10240000}, {"1t", std::int64_t{1} << 40}, {"9000000b", 9000000}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(good({"t.py", "--memory", c.text}).memory_bytes == c.want);
    CHECK(good({"t.py", "--shm-size", c.text}).shm_bytes == c.want);
  }
  CHECK(good({"t.py", "--cpus", "2"}).cpu_millis == 2000);
  CHECK(good({"t.py", "--gpus", "2"}).gpus == 2);
  CHECK(good({"t.py"}).gpus == 0);
  CHECK(good({"t.py"}).near_gpus);
  CHECK(good({"t.py", "--numa", "auto"}).near_gpus);
  CHECK(!good({"t.py", "--numa", "off"}).near_gpus);
  CHECK(good({"t.py", "--cpus", "0.25"}).cpu_millis == 250);
  CHECK(good({"t.py"}).cpu_millis == 0);
  CHECK(good({"t.py"}).network == job::Network::nat);
  CHECK(good({"t.py", "--network", "none"}).network == job::Network::none);
  CHECK(good({"t.py", "--network", "host"}).network == job::Network::host);
  CHECK(!good({"t.py"}).encrypted);
  CHECK(good({"t.py", "--encrypt"}).encrypted);
  CHECK(good({"t.py"}).shm_bytes == 0);
}

TEST_CASE("fit: on one machine a job has further attempts where that is asked for") {
  CHECK(good({"t.py"}).retries == 0);
  CHECK(good({"t.py", "--retries", "3"}).retries == 3);
  CHECK(good({"t.py", "--spares", "1"}).retries == job::retries_default);
  CHECK(good({"t.py", "--spares", "1"}).spares == 1);
  CHECK(good({"t.py", "--spares", "0"}).retries == 0);
  CHECK(good({"t.py", "--spares", "1", "--retries", "0"}).retries == 0);
  CHECK(good({"t.py", "--engine", "slurm"}).retries == job::retries_default);
}

TEST_CASE("fit: a full preflight is a cluster's, and --env says more") {
  CHECK(good({"t.py", "--engine", "slurm", "--preflight"}).preflight);
  CHECK(!good({"t.py", "--engine", "slurm"}).preflight);
}

TEST_CASE("fit: MPI runs only for more than one process, or when it is asked for") {
  CHECK(!good({"t.py"}).launch.mpi);
  CHECK(!good({"t.py", "--processes-per-host", "1"}).launch.mpi);
  CHECK(!good({"t.py", "--hosts", "3"}).launch.mpi);
  CHECK(good({"t.py", "--hosts", "3", "--processes-per-host", "1"}).launch.mpi);
  CHECK(good({"t.py", "--processes-per-host", "2"}).launch.mpi);
  CHECK(good({"t.py", "--mpi"}).launch.mpi);
}

TEST_CASE("fit: a wrong line exits with 2 and says what was expected") {
  struct {
    Args args;
    const char* text;
  } const cases[] = {
      {{}, "expected a script to run, or --image NAME"},
      {{"--image", "a", "--source-dir", "."}, "--source-dir requires a SCRIPT"},
      {{"t.py", "--policy", "p.json"}, "--policy requires --image"},
      {{"t.py", "--image", "a", "--python", "p"}, "--python names a program on this machine"},
      {{"t.py", "--hosts", "0"}, "--hosts: expected a whole number from 1 to 250, got \"0\""},
      {{"t.py", "--hosts", "251"}, "--hosts: expected a whole number from 1 to 250"},
      {{"t.py", "--hosts", "two"}, "got \"two\""},
      {{"t.py", "--hosts", "-1"}, "got \"-1\""},
      {{"t.py", "--hosts"}, "--hosts"},
      {{"t.py", "--processes-per-host", "1.5"}, "--processes-per-host: expected a whole number"},
      {{"t.py", "--input", "train"}, "--input: expected NAME=DIR, got \"train\""},
      {{"t.py", "--input", "=x"}, "--input: expected NAME=DIR"},
      {{"t.py", "--env", "=x"}, "--env: expected NAME=VALUE"},
      {{"t.py", "--metric", "loss"}, "--metric: expected NAME=REGEX, got \"loss\""},
      {{"t.py", "--metric", "loss=("}, "--metric: invalid regex for metric \"loss\": "},
      {{"t.py", "--metric", "loss="}, "--metric: loss: expected a name of at most 255 bytes"},
      {{"t.py", "--metric", "loss=" + std::string(501, 'x')}, "a regex of 1 to 500"},
      {{"t.py", "--metric", "a=x", "--metric", "a=y"}, "--metric: a was given twice"},
      {{"t.py", "--hyperparameter", "a=1", "--hyperparameter", "a=2"},
       "--hyperparameter: a was given twice"},
      {{"t.py", "--hyperparameter", "sagemaker_program=x"},
       "because sm fit sets this hyperparameter itself"},
      {{"t.py", "--hyperparameter", "a=\xff"}, "--hyperparameter: a: expected UTF-8"},
      {{"t.py", "--name", "no spaces"}, "--name: \"no spaces\" is not a valid job name"},
      {{"t.py", "--name", "a_b"}, "--name: \"a_b\" is not a valid job name"},
      {{"t.py", "--end-hung"}, "--end-hung requires --hang-after"},
      {{"t.py", "--hang-after", "9"},
       "--hang-after: expected a number of seconds from 10 to 2419200"},
      {{"t.py", "--max-wait", "0"}, "--max-wait: expected a number of seconds from 1 to"},
      {{"t.py", "--timeout", "0"},
       "--timeout: expected a number of seconds from 1 to 2419200, or a duration (90s, 10m, 2h, "
       "1d), got"},
      {{"t.py", "--timeout", "0m"}, "--timeout: expected a number of seconds"},
      {{"t.py", "--preflight"}, "--preflight requires --engine slurm"},
      {{"t.py", "--timeout", "1.5"}, "--timeout: expected a number of seconds"},
      {{"t.py", "--timeout", "10 m"}, "--timeout: expected a number of seconds"},
      {{"t.py", "--timeout", "29d"}, "--timeout: expected a number of seconds"},
      {{"t.py", "--memory", "2x"},
       "--memory: expected a size of at least 8388608 bytes, e.g. 512m"},
      {{"t.py", "--memory", "1m"}, "--memory: expected a size"},
      {{"t.py", "--memory", "-2g"}, "got \"-2g\""},
      {{"t.py", "--memory", "nan"}, "got \"nan\""},
      {{"t.py", "--shm-size", "1e9"}, "--shm-size: expected a size"},
      {{"t.py", "--cpus", "0"}, "--cpus: expected a number from 0.01 to 1000, got \"0\""},
      {{"t.py", "--volume-size", "0"}, "--volume-size: expected"},
      {{"t.py", "--volume-size", "20000"}, "--volume-size: expected"},
      {{"t.py", "--volume-size", "5g"}, "got \"5g\""},
      {{"t.py", "--network", "wide"}, "--network: expected nat, none or host, got \"wide\""},
      {{"t.py", "--network", "host", "--hosts", "2"}, "--network host supports only one host"},
      {{"t.py", "--cpus", "2x"}, "got \"2x\""},
      {{"t.py", "--gpus", "all"}, "--gpus: expected a whole number from 1 to 1024, got \"all\""},
      {{"t.py", "--grace", "-1"}, "--grace: expected a number of seconds"},
      {{"t.py", "--grace", "1e9"}, "--grace: expected a number of seconds"},
      {{"t.py", "--no-such-flag"}, "--no-such-flag"},
      {{"t.py", "more.py"}, "more.py"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const FitLine line = fit_options(c.args);
    REQUIRE(std::holds_alternative<command::Stop>(line));
    const command::Stop& stop = std::get<command::Stop>(line);
    CHECK(stop.exit_code == 2);
    const std::string text = command::text_of(stop);
    CHECK(text.substr(0, 8) == "sm fit: ");
    CAPTURE(text);
    CHECK(text.find(c.text) != std::string::npos);
  }
}

TEST_CASE("fit: times are seconds or spans") {
  struct {
    const char* text;
    std::chrono::milliseconds want;
  } const cases[] = {{"90", 90s}, {"90s", 90s}, {"10m", 10min}, {"2h", 2h}, {"1d", 24h}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const FitOptions options = good({"t.py", "--timeout", c.text, "--grace", c.text});
    CHECK(options.timeout == c.want);
    CHECK(options.grace == c.want);
  }
  CHECK(good({"t.py", "--grace", "0s"}).grace == 0s);
  CHECK(good({"t.py"}).timeout == 24h);
}

TEST_CASE("fit: limits beyond the machine are reported") {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  const auto note = [](const Args& flags) {
    Args args = flags;
    args.insert(args.begin(), "t.py");
    return beyond_machine_note(good(args), 4 * gib, 2);
  };
  CHECK(note({}) == "");
  CHECK(note({"--memory", "4g", "--cpus", "2"}) == "");
  CHECK(note({"--memory", "5g"}) ==
        "--memory exceeds this machine's 4096 MiB, so it has no effect");
  CHECK(note({"--memory", "5g", "--cpus", "2.5"})
            .starts_with(
                "--memory exceeds this machine's 4096 MiB and --cpus exceeds this machine's 2, "));
  CHECK(beyond_machine_note(good({"t.py", "--memory", "5g", "--cpus", "99"}), 0, 0) == "");
}

TEST_CASE("fit: help shows every flag and examples") {
  const FitLine line = fit_options({"--help"});
  REQUIRE(std::holds_alternative<command::Stop>(line));
  const command::Stop& stop = std::get<command::Stop>(line);
  CHECK(stop.exit_code == 0);
  for (const char* part : {"sm fit", "SCRIPT", "--hosts", "--hyperparameter",
                           "examples:", "--processes-per-host", "exit codes:"}) {
    CAPTURE(part);
    CHECK(stop.text.find(part) != std::string::npos);
  }
}

TEST_CASE("fit: hyperparameters are sent so that text arrives byte for byte") {
  struct {
    const char* value;
    const char* want;
  } const cases[] = {
      {"2", "2"},
      {"-1.5e3", "-1.5e3"},
      {"true", "true"},
      {"null", "null"},
      {"[1, \"a\"]", "[1, \"a\"]"},
      {"{\"a\": 1}", "{\"a\": 1}"},
      {"abc", "\"abc\""},
      {"", "\"\""},
      {" 2", "\" 2\""},
      {"01", "\"01\""},
      {"True", "\"True\""},
      {"\"quoted\"", R"("\"quoted\"")"},
      {"a\nb\t'$(x)'", R"("a\nb\t'$(x)'")"},
      {"é", "\"é\""},
      {"[1", "\"[1\""},
      {"1e999", "\"1e999\""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.value);
    CHECK(encoded({{{"x", c.value}}})["x"] == c.want);
  }
}

TEST_CASE("fit: --text-hyperparameter sends text, whatever it looks like") {
  const FitOptions options =
      good({"t.py", "-p", "a=5", "--text-hyperparameter", "b=5", "--text-hyperparameter", "c=x"});
  CHECK(encoded(options.hyperparameters) ==
        std::map<std::string, std::string>{{"a", "5"}, {"b", "\"5\""}, {"c", "\"x\""}});
  const FitLine twice = fit_options({"t.py", "-p", "a=5", "--text-hyperparameter", "a=6"});
  CHECK(std::get<command::Stop>(twice).text == "--hyperparameter: a was given twice");
}

TEST_CASE("fit: the specification is what SageMaker's SDK would send") {
  FitOptions options =
      good({"train.py", "--hosts", "2", "--processes-per-host", "3", "--hyperparameter", "epochs=2",
            "--hyperparameter", "note=a b", "--env", "A=b", "--", "-v", "x y"});
  const Places places{"/code", "sub/train.py", {{"train", "/data"}}, "/out"};
  const platform::Interpreter python{"/v/bin/python3", {"/v"}};
  const Result<job::Spec> spec = fit_spec(options, places, python, "demo", "/usr/bin:/bin");
  REQUIRE(spec);
  CHECK(spec->hyperparameters ==
        std::map<std::string, std::string>{{"epochs", "2"},
                                           {"note", "\"a b\""},
                                           {"sagemaker_program", "\"sub/train.py\""},
                                           {"sagemaker_submit_directory", "\"/opt/ml/code\""},
                                           {"sagemaker_job_name", "\"demo\""},
                                           {"sagemaker_mpi_enabled", "true"},
                                           {"sagemaker_mpi_num_of_processes_per_host", "3"}});
  CHECK(spec->environment ==
        Env{{"A", "b"}, {"MUSTER_SCRIPT_ARGS", R"(["-v","x y"])"}, {"MUSTER_TRAINING_LOG", "0"}});
  CHECK(spec->path == "/v/bin:/usr/bin:/bin");
  CHECK(spec->python == "/v/bin/python3");
  CHECK(spec->instance_count == 2);
  CHECK(spec->output_folder == "/out");
  CHECK(!fit_spec(options, {"/code", "t.py", {{"a/b", "/data"}}, ""}, {}, "demo", ""));
  const FitOptions verbose = good({"train.py", "--verbose"});
  const Result<job::Spec> told = fit_spec(verbose, {"/code", "train.py", {}, "/out"}, {}, "d", "");
  REQUIRE(told);
  CHECK(told->environment.empty());
}

TEST_CASE("fit: --bind has one path or two, and ro or rw behind them") {
  struct {
    const char* text;
    BindWish want;
  } const cases[] = {
      {"data", {"data", ""}},
      {"data:ro", {"data", ""}},
      {"data:rw", {"data", "", true}},
      {"/mnt/a:/data", {"/mnt/a", "/data"}},
      {"/mnt/a:/data:rw", {"/mnt/a", "/data", true}},
      {"rw", {"rw", ""}},
      {"./ro:rw", {"./ro", "", true}},
      {"a:b:ro", {"a", "b"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(good({"t.py", "--bind", c.text}).bound == std::vector<BindWish>{c.want});
  }
  for (const char* text : {"", ":", "a:", ":a", "a:b:c", "a::ro", "a:b:c:rw", ":rw"}) {
    CAPTURE(text);
    const FitLine line = fit_options({"t.py", "--bind", text});
    REQUIRE(std::holds_alternative<command::Stop>(line));
    CHECK(std::get<command::Stop>(line).text.find("--bind: expected PATH[:PATH][:ro|rw]") !=
          std::string::npos);
  }
}

struct Folder {
  Folder() : path(std::filesystem::canonical(*make_private_folder("/tmp", "muster-cli-"))) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST_CASE("places: the script is found in the source folder or next to it") {
  Folder folder;
  REQUIRE(make_folders(folder.path + "/code/sub"));
  REQUIRE(make_folders(folder.path + "/data"));
  REQUIRE(write_file(folder.path + "/code/sub/train.py", ""));
  REQUIRE(::symlink("code", (folder.path + "/link").c_str()) == 0);
  struct {
    Args args;
    const char* source;
    const char* script;
  } const cases[] = {
      {{"code/sub/train.py"}, "/code/sub", "train.py"},
      {{"sub/train.py", "--source-dir", "code"}, "/code", "sub/train.py"},
      {{"./sub/train.py", "--source-dir", "link/"}, "/code", "sub/train.py"},
      {{"code/sub/train.py", "--source-dir", "code"}, "/code", "sub/train.py"},
      {{"train.py", "--source-dir", "code/../code/sub"}, "/code/sub", "train.py"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.args.back());
    const Result<Places> places = find_places(good(c.args), folder.path);
    REQUIRE(places);
    CHECK(places->source_folder == folder.path + c.source);
    CHECK(places->script == c.script);
  }
  const Result<Places> all = find_places(
      good({"code/sub/train.py", "--input", "train=data", "--output", "new/out"}), folder.path);
  REQUIRE(all);
  CHECK(all->inputs == std::vector<job::InputChannel>{{"train", folder.path + "/data"}});
  CHECK(all->output == folder.path + "/new/out");
}

TEST_CASE("places: links are resolved before the hosts' namespaces, another user's is refused") {
  Folder folder;
  REQUIRE(make_folders(folder.path + "/real/data"));
  REQUIRE(write_file(folder.path + "/real/train.py", ""));
  const std::string link = folder.path + "/link";
  REQUIRE(::symlink("real", link.c_str()) == 0);
  FitOptions options = good({"link/train.py", "--input", "x=link/data", "--output", "link/new",
                             "--checkpoints", "link/none/ck", "--bind", "link/data"});
  REQUIRE(resolve_links(options, folder.path));
  CHECK(options.script == folder.path + "/real/train.py");
  CHECK(options.inputs == Pairs{{"x", folder.path + "/real/data"}});
  CHECK(options.output == folder.path + "/real/new");
  CHECK(options.checkpoints == folder.path + "/real/none/ck");
  CHECK(options.bound[0].outside == folder.path + "/real/data");
  CHECK(options.bound[0].inside == link + "/data");
  for (const char* image : {"oci:link/data:v1", "docker-archive:link/box.tar:team/box:v1"}) {
    CAPTURE(image);
    FitOptions from = good({"--image", image});
    REQUIRE(resolve_links(from, folder.path));
    CHECK(from.image.find(":" + folder.path + "/real/") != std::string::npos);
    CHECK(from.image.ends_with(":v1"));
  }
  for (const char* image : {"team/box:v1", "docker-daemon:box"}) {
    FitOptions named = good({"--image", image});
    REQUIRE(resolve_links(named, folder.path));
    CHECK(named.image == image);
  }
  FitOptions colon = good({"--image", "oci:box"});
  CHECK(resolve_links(colon, "/a:b").error().text.find("must not contain a colon") !=
        std::string::npos);
  FitOptions plain = good({"real/train.py", "--output", "none"});
  REQUIRE(resolve_links(plain, folder.path));
  CHECK(plain.script == "real/train.py");
  CHECK(plain.output == "none");
  if (::geteuid() != 0) return;
  REQUIRE(::lchown(link.c_str(), 4321, 4321) == 0);
  for (const Args& args :
       {Args{"link/train.py"}, Args{"train.py", "--source-dir", "link"},
        Args{"real/train.py", "--input", "x=link/data"}, Args{"real/train.py", "--output", "link"},
        Args{"real/train.py", "--checkpoints", "link/x"}, Args{"--image", "oci:link/data"},
        Args{"real/train.py", "--bind", "link/data"}}) {
    CAPTURE(args.back());
    FitOptions strangers = good(args);
    const Result<void> refused = resolve_links(strangers, folder.path);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::invalid_input);
    CHECK(refused.error().text.find(link + ": this symbolic link belongs to user 4321") !=
          std::string::npos);
    if (args[0] != "--image") CHECK(!find_places(good(args), folder.path));
  }
  CHECK(!pip_conf_of("link/train.py", {}, folder.path));
}

TEST_CASE("places: results belong to the user who called sudo") {
  const std::optional<Owner> owner = submitter({{"SUDO_UID", "1000"}, {"SUDO_GID", "100"}});
  REQUIRE(owner);
  CHECK(owner->user == 1000);
  CHECK(owner->group == 100);
  for (const char* odd : {"", "-1", "4294967295", "4294967296", "1 ", "x", "0x10"}) {
    CAPTURE(odd);
    CHECK(!submitter({{"SUDO_UID", odd}, {"SUDO_GID", "100"}}));
    CHECK(!submitter({{"SUDO_UID", "1000"}, {"SUDO_GID", odd}}));
  }
  CHECK(!submitter({}));
}

TEST_CASE("places: a virtual environment that sudo's PATH leaves out is found") {
  Folder folder;
  const auto venv = [&](const std::string& path) {
    REQUIRE(make_folders(folder.path + path + "/bin"));
    for (const char* file : {"/pyvenv.cfg", "/bin/python"})
      REQUIRE(write_file(folder.path + path + file, ""));
  };
  venv("/code/.venv");
  venv("/here/venv");
  venv("/active");
  REQUIRE(make_folders(folder.path + "/none"));
  const Env sudo{{"SUDO_UID", "1000"}};
  const Env active{{"VIRTUAL_ENV", folder.path + "/active"}};
  struct {
    Env env;
    std::string program, source, cwd, want;
  } const cases[] = {
      {sudo, "/usr/bin/python3", "/code", "/here", "/code/.venv"},
      {sudo, "/usr/bin/python3", "/none", "/here", "/here/venv"},
      {sudo, "/usr/bin/python3", "/none", "/none", ""},
      {sudo, folder.path + "/here/venv/bin/python3", "/code", "/here", ""},
      {{}, "/usr/bin/python3", "/code", "/here", ""},
      {active, "/usr/bin/python3", "/code", "/here", "/active"},
      {active, folder.path + "/active/bin/python", "/code", "/here", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Places places{folder.path + c.source, "train.py", {}, ""};
    const std::string found = lost_venv(c.env, c.program, places, folder.path + c.cwd);
    CHECK(found == (c.want.empty() ? "" : folder.path + c.want));
  }
}

TEST_CASE("places: a missing path is named in one line") {
  Folder folder;
  REQUIRE(make_folders(folder.path + "/code"));
  REQUIRE(write_file(folder.path + "/code/train.py", ""));
  REQUIRE(write_file(folder.path + "/outside.py", ""));
  struct {
    Args args;
    std::string text;
  } const cases[] = {
      {{"none.py"}, "none.py: no such file"},
      {{"code"}, "code: is a folder; pass the script as SCRIPT"},
      {{"none.py", "--source-dir", "code"}, "none.py: no such file in the source folder code"},
      {{"../outside.py", "--source-dir", "code"},
       "../outside.py: no such file in the source folder code"},
      {{"train.py", "--source-dir", "none"},
       "--source-dir: " + folder.path + "/none: No such file"},
      {{"train.py", "--source-dir", "outside.py"}, "/outside.py: not a folder"},
      {{"code/train.py", "--input", "train=none"},
       "--input train: " + folder.path + "/none: No such file"},
      {{"code/train.py", "--input", "train=outside.py"}, "/outside.py: not a folder"},
      {{"code/train.py", "--output", "code"}, "output: " + folder.path + "/code is not empty"},
      {{"code/train.py", "--output", "outside.py"}, "/outside.py is not a folder"},
      {{"code/train.py", "--checkpoints", "outside.py/x"},
       "--checkpoints: " + folder.path + "/outside.py is not a folder"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Places> places = find_places(good(c.args), folder.path);
    REQUIRE(!places);
    CHECK(places.error().code == Errc::invalid_input);
    CAPTURE(places.error().text);
    CHECK(places.error().text.find(c.text) != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::cli
