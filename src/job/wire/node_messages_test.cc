#include "job/wire/node_messages.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::job {
namespace {

using namespace std::chrono_literals;

NodeJob whole_job() {
  NodeJob job;
  job.nonce = "0123456789abcdef";
  job.key = std::string(32, '\x01');
  job.job_key = std::string(32, '\xff');
  job.addresses = {"10.0.0.1", "fd00::1"};
  job.port = 40123;
  job.folder = "/tmp/muster-0123456789abcdef";
  job.archive = job.folder + ".tar";
  job.spec.name = "demo";
  job.spec.instance_count = 3;
  job.spec.network = Network::nat;
  job.light = true;
  job.rollcall_port = 20001;
  job.kill_wait = 5s;
  job.timing.beat = 100ms;
  return job;
}

TEST_CASE("node messages: the file of a node is read back unchanged") {
  NodeJob contained = whole_job();
  contained.light = false;
  contained.spec.image = Image{
      .name = "docker.io/box:1", .digest = "sha256:" + std::string(64, 'a'), .layers = {"/a/root"}};
  CHECK(!node_job_from(to_text(to_json(contained))));  // Without the image's documents.
  contained.image = NodeImage{"/var/cache/muster", "{}", "{}", "/shared/layer-"};
  contained.archive_digest = "sha256:ab";
  const Result<NodeJob> with_image = node_job_from(to_text(to_json(contained)));
  REQUIRE_MESSAGE(with_image, (with_image ? "" : with_image.error().text));
  CHECK(*with_image == contained);
  contained.light = true;
  CHECK(!node_job_from(to_text(to_json(contained))));
  const Result<NodeJob> read = node_job_from(to_text(to_json(whole_job())));
  REQUIRE(read);
  CHECK(*read == whole_job());
}

TEST_CASE("node messages: a file that is wrong is refused by the name of its field") {
  struct {
    const char* says;
    std::function<void(Json&)> change;
  } const cases[] = {
      {"nonce: expected 16 hex", [](Json& json) { json["nonce"] = "../../etc/passwd"; }},
      {"nonce: expected 16 hex", [](Json& json) { json["nonce"] = "0123456789ABCDEF"; }},
      {"key: expected 64 hex", [](Json& json) { json["key"] = std::string(62, 'a'); }},
      {"job_key: expected", [](Json& json) { json.erase("job_key"); }},
      {"engine.addresses: expected 1 to 16",
       [](Json& json) { json["engine"]["addresses"] = Json::array(); }},
      {"engine.addresses: expected 1 to 16",
       [](Json& json) { json["engine"]["addresses"] = std::vector<std::string>(17, "10.0.0.1"); }},
      {"engine.addresses: expected numeric",
       [](Json& json) { json["engine"]["addresses"] = {"a/b"}; }},
      {"engine.port: expected", [](Json& json) { json["engine"]["port"] = 70000; }},
      {"engine.port: expected", [](Json& json) { json["engine"].erase("port"); }},
      {"folder: expected", [](Json& json) { json["folder"] = "tmp/x"; }},
      {"folder: expected a path of at most",
       [](Json& json) { json["folder"] = "/" + std::string(2000, 'a'); }},
      {"archive: expected", [](Json& json) { json["archive"] = "a.tar"; }},
      {"spec: expected", [](Json& json) { json.erase("spec"); }},
      {"rollcall_port: expected 1", [](Json& json) { json["rollcall_port"] = 0; }},
      {"kill_wait_ms: expected 0", [](Json& json) { json["kill_wait_ms"] = -1; }},
      {"timing.beat_ms: expected 10", [](Json& json) { json["timing"]["beat_ms"] = 0; }},
      {"timing.silence_ms: expected twice", [](Json& json) { json["timing"]["silence_ms"] = 150; }},
      {"timing.pause: ", [](Json& json) { json["timing"]["pause"] = 1; }},
      {"more: ", [](Json& json) { json["more"] = 1; }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.says);
    Json json = to_json(whole_job());
    c.change(json);
    const Result<NodeJob> read = node_job_from(to_text(json));
    REQUIRE(!read);
    CHECK(read.error().code == Errc::invalid_input);
    CHECK(read.error().text.starts_with(c.says));
  }
  CHECK(node_job_from(std::string(node_job_bytes_max + 1, ' ')).error().text ==
        "longer than 16 MiB");
}

TEST_CASE("node messages: an identity names an attempt and a host, and nothing else") {
  const NodeIdentity identity{"0123456789abcdef", "algo-12"};
  CHECK(node_identity_from(encode(identity)) == identity);
  for (const char* text :
       {"", "/", "0123456789abcdef", "0123456789abcdef/", "demo/algo-1", "0123456789abcdeg/algo-1",
        "0123456789abcdef/../algo-1", "0123456789abcdef/algo-1/x"}) {
    CAPTURE(text);
    CHECK(!node_identity_from(text));
  }
}

TEST_CASE("node messages: every message reads back") {
  const NodeHello hello{.node = "node-3", .address = "10.0.0.3", .state = NodeState::running};
  CHECK(*node_hello_from(encode(hello)) == hello);
  NodeHello lacking = hello;
  lacking.lacks = {0, 7};
  lacking.measures = true;
  CHECK(*node_hello_from(encode(lacking)) == lacking);
  const NodeWelcome welcome{.journal_bytes = std::uint64_t{1} << 40, .result_bytes = 512};
  CHECK(*node_welcome_from(encode(welcome)) == welcome);
  const NodeBegin begin{{{"algo-1", "10.0.0.1"}, {"algo-2", "10.0.0.2"}}};
  CHECK(*node_begin_from(encode(begin)) == begin);
  const NodeBegin graced{begin.hosts, 6s};
  CHECK(*node_begin_from(encode(graced)) == graced);
  for (const NodeStop& stop : {NodeStop{1500ms}, NodeStop{stop_grace_max, true}})
    CHECK(*node_stop_from(encode(stop)) == stop);
  CHECK(*node_look_from(encode(NodeLook{7, Calls::moves})) == NodeLook{7, Calls::moves});
  NodeStacks told{.id = 7};
  told.stacks.host = "algo-1";
  told.stacks.processes.resize(1);
  CHECK(*node_stacks_from(encode(told)) == told);
  CHECK(node_stacks_from(encode(NodeStacks{.id = 8, .why = "gone"}))->why == "gone");
  CHECK(*node_measure_from(encode(NodeMeasure{9})) == NodeMeasure{9});
  CHECK(*node_measure_from(encode(NodeMeasure{9, true})) == NodeMeasure{9, true});
  CHECK(!node_measure_from(R"({"id": 9, "viewed": 2})"));
  const NodeUsage used{.id = 9,
                       .usage = {.memory_bytes = 1,
                                 .processor_time = 2us,
                                 .processes = 3,
                                 .disk = {4, 5},
                                 .network = {-1, -1},
                                 .gpus = {{0, 100, 1 << 20}, {3, 0, 0}}}};
  CHECK(*node_usage_from(encode(used)) == used);
  CHECK(node_usage_from(encode(NodeUsage{.id = 9, .why = "gone"}))->why == "gone");
  const NodeSignalled signalled{15, 20ms};
  CHECK(*node_signalled_from(encode(signalled)) == signalled);
  const NodeEnded ended{Outcome::failed("no room"), 3ms};
  CHECK(*node_ended_from(encode(ended)) == ended);
  const NodeGiven given{10240, ""};
  CHECK(*node_given_from(encode(given)) == given);
  const NodeAgain again{"00112233aabbccdd", std::string(32, '\x07'), "spare-1", 20001};
  CHECK(*node_again_from(encode(again)) == again);
  CHECK(node_end_from(encode(NodeEnd{"a newer attempt runs"}))->why == "a newer attempt runs");
  CHECK(*node_have_from(encode_node_have(1u << 20)) == 1u << 20);
  std::string piece(node_piece_header_bytes, '\0');
  set_piece_offset(piece, 77);
  piece += "abc";
  CHECK(node_piece_from(piece)->offset == 77);
  CHECK(node_piece_from(piece)->bytes == "abc");
}

TEST_CASE("node messages: of another version only the version is read") {
  CHECK(node_hello_from(R"({"version": 9, "muster": "9.9"})")->muster == "9.9");
  CHECK(node_welcome_from(R"({"version": 9})")->version == 9);
}

TEST_CASE("node messages: invalid messages of a node are refused") {
  const auto is_refused = [](const auto& read) {
    return !read && read.error().code == Errc::protocol;
  };
  CHECK(is_refused(node_hello_from("")));
  CHECK(is_refused(node_hello_from("[]")));
  CHECK(is_refused(node_hello_from(R"({"version": "1"})")));
  CHECK(is_refused(node_hello_from(R"({"version":2,"address":"10.0.0.1","state":"dead"})")));
  for (const char* address : {"", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1;", "::1"}) {
    CAPTURE(address);
    CHECK(is_refused(node_hello_from(encode(NodeHello{.address = address}))));
  }
  for (const char* lacks : {"-1", "1000", "\"1\"", "1.5", "[]"}) {
    CAPTURE(lacks);
    const std::string text =
        R"({"version":2,"muster":"","node":"n","address":"10.0.0.1","state":"waiting","lacks":[)";
    CHECK(is_refused(node_hello_from(text + lacks + "]}")));
  }
  CHECK(is_refused(node_hello_from(
      encode(NodeHello{.address = "10.0.0.1", .lacks = std::vector<int>(1000, 1)}))));
  NodeHello hello{.node = "a\nb", .address = "10.0.0.1"};
  CHECK(is_refused(node_hello_from(encode(hello))));
  hello.node = std::string(256, 'a');
  CHECK(is_refused(node_hello_from(encode(hello))));
  CHECK(is_refused(node_welcome_from(R"({"version":2,"journal_bytes":-1,"result_bytes":0})")));
  CHECK(is_refused(
      node_welcome_from(R"({"version":2,"journal_bytes":18446744073709551615,"result_bytes":0})")));
  CHECK(is_refused(node_begin_from(R"({"hosts":[]})")));
  CHECK(is_refused(node_begin_from(R"({"hosts":["algo-1"]})")));
  CHECK(is_refused(node_begin_from(R"({"hosts":[{"name":"../x","address":"10.0.0.1"}]})")));
  CHECK(is_refused(node_stop_from(R"({"grace_ms":-1})")));
  CHECK(is_refused(node_begin_from(
      R"({"hosts":[{"name":"algo-1","address":"10.0.0.1"}],"preempt_grace_ms":-1})")));
  CHECK(is_refused(node_look_from(R"({"calls":"python"})")));
  CHECK(is_refused(node_stacks_from(R"({"id":1})")));
  CHECK(is_refused(node_stacks_from(R"({"id":1,"stacks":{"processes":[7]}})")));
  for (const char* gpus :
       {"{}", "[7]", R"([{"number":-1,"percent":1,"memory":1}])",
        R"([{"number":1,"percent":101,"memory":1}])", R"([{"number":1,"percent":1}])"}) {
    CAPTURE(gpus);
    const std::string text =
        R"({"id":1,"usage":{"memory":1,"processor_us":1,"processes":1,"disk_read":1,)"
        R"("disk_written":1,"net_in":1,"net_out":1,"gpus":)";
    CHECK(is_refused(node_usage_from(text + gpus + "}}")));
    CHECK(node_usage_from(text + "[]}}"));
  }
  CHECK(is_refused(
      node_usage_from(encode(NodeUsage{.id = 1, .usage = {.gpus = std::vector<GpuUse>(65)}}))));
  CHECK(is_refused(node_signalled_from(R"({"signal":0,"ago_ms":0})")));
  CHECK(is_refused(node_ended_from(R"({"ago_ms":0})")));
  CHECK(is_refused(node_ended_from(encode(NodeEnded{Outcome::failed("a\nb"), 0ms}))));
  CHECK(is_refused(node_given_from(R"({"bytes":1.5})")));
  CHECK(is_refused(node_end_from(R"({"why":7})")));
  NodeAgain again{"00112233aabbccdd", std::string(32, '\x07'), "algo-2", 20001};
  CHECK(node_again_from(encode(again)));
  for (const char* host : {"", "algo", "../algo-1", "login", "spare-1/x", "algo-1\n"}) {
    CAPTURE(host);
    again.host = host;
    CHECK(is_refused(node_again_from(encode(again))));
  }
  again.host = "algo-2";
  again.key.pop_back();
  CHECK(is_refused(node_again_from(encode(again))));
  CHECK(is_refused(node_again_from(R"({"nonce":"x"})")));
  CHECK(is_refused(node_have_from("1234567")));
  CHECK(is_refused(node_piece_from("12345678")));
  CHECK(is_refused(
      node_piece_from(std::string(node_piece_header_bytes + node_piece_bytes_max + 1, 'x'))));
}

}  // namespace
}  // namespace muster::job
