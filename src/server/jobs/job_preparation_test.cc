#include "server/jobs/job_preparation.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"

namespace muster::jobs {
namespace {

struct Bench {
  Bench() {
    request.image = "host";
    request.spec.name = "a";
    request.spec.instance_count = 2;
    request.spec.s3_output = "s3://b/out";
    REQUIRE(store.submit({"a", "arn:a", "{}", {}, UnixMillis(1), ""}));
    options.config = *job_config_from(Json::object());
    options.endpoint = "http://127.0.0.1:7700";
    options.region = "eu-1";
    options.ca_file = "/ca";
    options.hidden = {"/data"};
    options.env = {{"PATH", "/usr/bin:/opt/py/bin"}};
    options.interpreter = [this](std::string name) -> loop::Task<Result<platform::Interpreter>> {
      return find(*this, std::move(name));
    };
    options.read_object = [this](s3wire::S3Url url) -> loop::Task<Result<std::string>> {
      return read(*this, std::move(url));
    };
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { static_cast<void>(remove_tree(folder)); }

  static loop::Task<Result<platform::Interpreter>> find(Bench& bench, std::string name) {
    bench.python = std::move(name);
    co_return platform::Interpreter{"/opt/py/bin/python3", {"/opt/py"}, false, bench.versions};
  }
  static loop::Task<Result<std::string>> read(Bench& bench, s3wire::S3Url url) {
    const std::string name = s3wire::text_of(url);
    bench.asked.push_back(name);
    const auto found = bench.objects.find(name);
    if (found == bench.objects.end()) co_return fail(Errc::not_found, name);
    co_return found->second;
  }
  Result<job::Spec> prepare() {
    JobKeys keys(store, ring, folder + "/keys", [this] {
      store::AccessKey key;
      key.id = "JOBKEY" + std::to_string(++keys_made);
      key.secret = "a-secret-of-the-test";
      return key;
    });
    JobPreparation preparation(keys, options);
    Result<job::Spec> spec = fail(Errc::not_found, "");
    const auto body = [](JobPreparation& with, store::Job job, api::JobRequest wanted,
                         Result<job::Spec>& into) -> loop::Task<> {
      into = co_await with.prepare(std::move(job), std::move(wanted));
    };
    loop::run_task(loop, body(preparation, **store.job("a"), request, spec));
    return spec;
  }
  /// As SDK 3 sends a job: its drivers start the script.
  void drive() {
    request.spec.arguments = {"-c", "/opt/ml/input/data/sm_drivers/sm_train.sh"};
    request.spec.entrypoint = {"/bin/bash"};
    job::InputChannel drivers;
    drivers.name = "sm_drivers";
    drivers.s3.url = "s3://b/drivers";
    request.spec.input = {drivers};
    objects["s3://b/drivers/sourcecode.json"] = R"({"entry_script": "train.py"})";
    objects["s3://b/drivers/distributed.json"] = "{}";
  }

  std::string folder = *make_private_folder("/tmp", "muster-preparation-");
  loop::Loop loop;
  store::Store store = *store::Store::open(folder + "/store.db");
  access::KeyRing ring;
  JobPreparation::Options options;
  api::JobRequest request;
  std::string python;
  std::map<std::string, std::string> versions;  ///< The interpreter's.
  std::map<std::string, std::string> objects;
  std::vector<std::string> asked;
  int keys_made = 0;
};

TEST_CASE_FIXTURE(Bench, "preparation: a job is given its image's Python and the server's own S3") {
  const Result<job::Spec> spec = prepare();
  REQUIRE(spec);
  CHECK(python == "python3");
  CHECK(spec->python == "/opt/py/bin/python3");
  CHECK(spec->path == "/opt/py/bin:/usr/bin");
  CHECK(spec->read_only_binds == std::vector<std::string>{"/opt/py"});
  CHECK(spec->hidden == std::vector<std::string>{"/data"});
  CHECK(spec->s3 == job::S3Access{"http://127.0.0.1:7700", "eu-1", folder + "/keys/a", "/ca",
                                  folder + "/keys/a.results"});
  CHECK(spec->environment.at("AWS_ENDPOINT_URL") == "http://127.0.0.1:7700");
  CHECK(spec->environment.at("AWS_ACCESS_KEY_ID") == "JOBKEY1");
  CHECK(spec->environment.at("TRAINING_JOB_ARN") == "arn:a");
  CHECK(spec->environment.at("AWS_REGION") == "eu-1");
  CHECK(!spec->environment.contains("AWS_SESSION_TOKEN"));
  CHECK(!spec->environment.contains("PIP_NO_INDEX"));
  struct stat info {};
  REQUIRE(::stat(spec->s3.credentials_file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  CHECK(ring.find("JOBKEY1")->owner == "a");
  CHECK(ring.find("JOBKEY1")->policy.repository.empty());
}

TEST_CASE_FIXTURE(Bench, "preparation: the log says how AWS's image runs, and what it lacks here") {
  options.config.aws_images = true;
  request.image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0-cpu";
  const std::string programs = "runs with this machine's programs: python /opt/py/bin/python3";
  CHECK(prepare()->notes ==
        std::vector<std::string>{
            programs + ", packages without frameworks",
            "warning: the image has torch 2.0, but this machine's Python has none"});
  CHECK(lack_in(prepare()->notes) == "the image has torch 2.0, but this machine's Python has none");
  versions = {{"torch", "2.0.1"}};
  CHECK(prepare()->notes == std::vector<std::string>{programs + ", packages torch 2.0.1"});
  CHECK(lack_in(prepare()->notes).empty());
}

TEST_CASE_FIXTURE(Bench, "preparation: a job's key reads its own image in the server's registry") {
  options.config.own_images = {"000000000000", "eu-1", {"127.0.0.1:7700"}};
  request.image = "127.0.0.1:7700/team/box:v1";
  REQUIRE(prepare());
  CHECK(ring.find("JOBKEY1")->policy.repository == "team/box");
}

TEST_CASE_FIXTURE(Bench, "preparation: hosts go where VpcConfig says, as networks are by then") {
  request.subnets = {"subnet-1"};
  request.security_groups = {"sg-1"};
  const Result<job::Spec> nowhere = prepare();
  REQUIRE(nowhere);
  CHECK(!nowhere->vpc);
  REQUIRE(!nowhere->notes.empty());
  CHECK(nowhere->notes.back().find("VpcConfig has no effect") == 0);
  vpc::Networks networks{
      .vpcs = {{"vpc-1", "10.0.0.0/16"}},
      .subnets = {{"subnet-1", "vpc-1", "10.0.1.0/24", ""}},
      .groups = {{"sg-1", "", "", "vpc-1", {{"-1", -1, -1, "", "sg-1"}}, {vpc::any_egress()}}}};
  options.networks = [&networks] { return networks; };
  const Result<job::Spec> there = prepare();
  REQUIRE(there);
  REQUIRE(there->vpc);
  CHECK(there->vpc->subnets == std::vector<std::string>{"10.0.1.0/24"});
  networks.subnets.clear();  // A stack went while the job waited.
  CHECK(prepare().error().text.find("VpcConfig: this server has no subnet-1; ") == 0);
}

TEST_CASE_FIXTURE(Bench, "preparation: a job that is prepared again keeps its key") {
  REQUIRE(prepare());
  const Result<job::Spec> again = prepare();
  REQUIRE(again);
  CHECK(keys_made == 2);  // And one for the results.
  CHECK(again->environment.at("AWS_ACCESS_KEY_ID") == "JOBKEY1");
}

TEST_CASE_FIXTURE(
    Bench, "preparation: a job's key has a budget, and muster one that only stores the results") {
  request.spec.checkpoint_url = "s3://b/ck";
  request.spec.instance_count = 3;
  request.spec.volume_gib = 50;
  REQUIRE(prepare());
  const access::KeyPolicy own = ring.find("JOBKEY1")->policy;
  CHECK(own.bytes_max == std::uint64_t{300} << 30);
  CHECK(own.files_max == 1'000'000);
  CHECK(!own.may_fill_disk);
  const std::string file = folder + "/keys/a.results";
  CHECK(read_file(file)->find("aws_access_key_id = JOBKEY2\n") != std::string::npos);
  struct stat info {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const std::shared_ptr<const access::AccessKey> results = ring.find("JOBKEY2");
  CHECK(results->owner == "a");
  CHECK(results->policy.limited);
  CHECK(results->policy.may_fill_disk);
  CHECK(results->policy.reads.empty());
  CHECK(results->policy.writes ==
        std::vector<access::Place>{{"b", "out/a/output/", access::Extent::folder}});
  ring.revoke("JOBKEY2");  // As after a restart.
  REQUIRE(prepare());
  CHECK(keys_made == 2);
  CHECK(ring.find("JOBKEY2") != nullptr);
}

TEST_CASE_FIXTURE(
    Bench, "preparation: with an outside S3 all jobs have its key, and none of the server's") {
  OutsideS3 s3;
  s3.endpoint = "https://s3.example";
  s3.region = "us-9";
  s3.credentials_file = folder + "/outside";
  options.s3 = s3;
  CHECK(prepare().error().code == Errc::not_found);  // The keys are not there.
  REQUIRE(write_file(s3.credentials_file,
                     "[default]\naws_access_key_id = id\naws_secret_access_key = secret\n"
                     "aws_session_token = token\n",
                     0600));
  const Result<job::Spec> spec = prepare();
  REQUIRE(spec);
  CHECK(spec->s3 == job::S3Access{"https://s3.example", "us-9", folder + "/outside", "/ca"});
  CHECK(spec->environment.at("AWS_ENDPOINT_URL_S3") == "https://s3.example");
  CHECK(!spec->environment.contains("AWS_ENDPOINT_URL"));
  CHECK(spec->environment.at("AWS_SESSION_TOKEN") == "token");
  CHECK(spec->environment.at("AWS_DEFAULT_REGION") == "us-9");
  CHECK(keys_made == 0);
}

TEST_CASE_FIXTURE(Bench, "preparation: a place that is not an S3 URL gets no key") {
  request.spec.checkpoint_url = "s3://";
  const Result<job::Spec> spec = prepare();
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == Errc::invalid_input);
  CHECK(ring.ids().empty());
}

TEST_CASE_FIXTURE(Bench, "preparation: muster's launchers take the place of SDK 3's drivers") {
  drive();
  const Result<job::Spec> spec = prepare();
  REQUIRE(spec);
  CHECK(spec->entrypoint.empty());
  CHECK(spec->hyperparameters.at("sagemaker_program") == "\"train.py\"");
}

TEST_CASE_FIXTURE(Bench, "preparation: sm mpirun takes the place of a remote function's mpirun") {
  job::InputChannel scripts;
  scripts.name = "sagemaker_remote_function_bootstrap";
  scripts.s3.url = "s3://b/f/scripts";
  request.spec.input = {scripts};
  request.spec.entrypoint = {
      "/bin/bash", "/opt/ml/input/data/sagemaker_remote_function_bootstrap/job_driver.sh"};
  request.spec.arguments = {"--s3_base_uri", "s3://b/f", "--distribution", "mpirun"};
  REQUIRE(prepare()->entrypoint.size() == 2);  // There is no such script.
  CHECK(!prepare()->environment.contains("PIP_NO_INDEX"));
  options.config.network = job::Network::none;
  CHECK(prepare()->environment.at("PIP_NO_INDEX") == "1");
  objects["s3://b/f/scripts/job_driver.sh"] = "mpirun -x PATH python -m mpi4py -m a.b \"$@\"\n";
  CHECK(prepare()->arguments.at(1).find("exec sm mpirun") != std::string::npos);
  options.config.native_drivers = true;
  CHECK(prepare()->entrypoint.size() == 2);
}

TEST_CASE("preparation: drivers that cannot be replaced run as they are") {
  struct {
    const char* name;
    std::function<void(Bench&)> change;
    std::size_t asked;  ///< Objects that were looked at.
  } const cases[] = {
      {"the config says so", [](Bench& b) { b.options.config.native_drivers = true; }, 0},
      {"no S3", [](Bench& b) { b.request.spec.input[0].s3.url = "s3://"; }, 0},
      {"no source", [](Bench& b) { b.objects.erase("s3://b/drivers/sourcecode.json"); }, 1},
      {"no distribution", [](Bench& b) { b.objects.erase("s3://b/drivers/distributed.json"); }, 2},
      {"a distribution of the user's",
       [](Bench& b) { b.objects["s3://b/drivers/distributed.json"] = R"({"mine": 1})"; }, 2},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Bench bench;
    bench.drive();
    c.change(bench);
    const Result<job::Spec> spec = bench.prepare();
    CHECK(bench.asked.size() == c.asked);
    if (spec) CHECK(spec->entrypoint == Args{"/bin/bash"});
  }
}

TEST_CASE("preparation: a job has outside access unless a setting denies it, which is named") {
  const auto none = [] { return std::string(); };
  const auto lack = [] { return std::string("the machine has no default route"); };
  const struct {
    const char* name;
    bool isolated;
    const char* config;
    std::function<std::string()> no_outside;
    const char* want;
  } cases[] = {
      {"by default", false, "{}", none, ""},
      {"the job", true, "{}", none, "network: none (EnableNetworkIsolation)"},
      {"the server", false, R"({"network": "none"})", none,
       "network: none (jobs.network of the server's config)"},
      {"the server that allows it", false, R"({"network": "nat"})", none, ""},
      {"the machine", false, "{}", lack, "network: none (the machine has no default route)"},
      {"job and machine", true, "{}", lack, "network: none (EnableNetworkIsolation)"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Bench bench;
    bench.options.config = *job_config_from(Json::parse(c.config));
    bench.options.no_outside = c.no_outside;
    bench.request.isolated = c.isolated;
    const Result<job::Spec> spec = bench.prepare();
    REQUIRE(spec);
    const std::string want = c.want;
    CHECK(spec->network == (want.empty() ? job::Network::nat : job::Network::none));
    CHECK(join(spec->notes, "\n") == want);
  }
}

TEST_CASE("preparation: hosts of AWS's types with GPUs that get none are noted") {
  const auto note = [](const std::vector<std::string>& types) {
    Bench bench;
    bench.options.config =
        *job_config_from(Json::parse(R"({"instance_types": {"ml.p3.2xlarge": {"gpus": 1}}})"));
    job::Spec& asked = bench.request.spec;
    asked.instance_type = types[0];
    asked.instance_count = static_cast<int>(types.size());
    for (std::size_t i = 0; types.size() > 1 && i < types.size(); ++i)
      asked.groups.push_back({"g" + std::to_string(i), types[i], 1});
    const Result<job::Spec> spec = bench.prepare();
    REQUIRE(spec);
    CHECK(join(spec->notes, "\n") == no_gpu_note(*spec));
    return no_gpu_note(*spec);
  };
  for (const char* type : {"local", "ml.m5.large", "ml.trn1.2xlarge", "ml.p3.2xlarge"})
    CHECK(note({type}).empty());
  for (const char* type : {"ml.p2.xlarge", "ml.p6-b200.48xlarge", "ml.g4dn.metal", "ml.gr6.xlarge"})
    CHECK(note({type}) == "hosts of type " + std::string(type) +
                              " get no GPU, because jobs.instance_types of the server's config "
                              "sets no gpus for them");
  CHECK(note({"ml.c5.large", "ml.g5.xlarge", "ml.p3.2xlarge", "ml.g5.xlarge", "ml.p4d.24xlarge"})
            .starts_with("hosts of type ml.g5.xlarge, ml.p4d.24xlarge get no GPU"));
}

}  // namespace
}  // namespace muster::jobs
