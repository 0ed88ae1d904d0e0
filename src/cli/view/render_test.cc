#include "cli/view/render.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process/local_time.h"

namespace muster::cli {
namespace {

using job::Lines;
using job::Stream;

constexpr UnixMillis noon{1769860800123};  // 2026-01-31 12:00:00.123 UTC

Lines out(int rank, std::string bytes) {
  return {rank, Stream::out, false, std::move(bytes)};
}
Lines part(int rank, std::string bytes) {
  return {rank, Stream::out, true, std::move(bytes)};
}

TEST_CASE("render: times are local, with their offset at first and where it changes") {
  ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  ::tzset();
  std::string text;
  PlainRender render(text, {});
  render.status({"Starting", "a", noon});
  render.status({"Training", "b", noon + std::chrono::hours(1)});
  render.status({"Training", "c", noon + std::chrono::days(90)});
  render.status({"Completed", "d", noon + std::chrono::days(90)});
  use_utc();
  CHECK(text ==
        "2026-01-31 13:00:00 +01:00 Starting - a\n"
        "2026-01-31 14:00:00 Training - b\n"
        "2026-05-01 14:00:00 +02:00 Training - c\n"
        "2026-05-01 14:00:00 Completed - d\n");
}

TEST_CASE("render: a job as a person reads it") {
  std::string text;
  PlainRender render(text, {.utc = true, .hosts = 2, .ranks = 4});
  render.status({"Starting", "Starting the training job", noon});
  render.lines("algo-1", noon, out(0, "hello\nworld\n"));
  render.lines("algo-2", noon, {3, Stream::err, false, "careful\n"});
  render.lines("algo-2", noon, out(-1, "mpirun says\n"));
  render.log("algo-1", noon, {"info", "nobody asked"});
  render.log("algo-1", noon, {"warning", "slow"});
  render.log("algo-1", noon, {"note", "a fact of this job"});
  render.finish();
  CHECK(text == std::string("2026-01-31 12:00:00 UTC Starting - Starting the training job\n"
                            "algo-1 rank 0 | hello\n"
                            "algo-1 rank 0 | world\n"
                            "algo-2 rank 3 ! careful\n"
                            "algo-2        | mpirun says\n"
                            "algo-1 muster: warning: slow\n"
                            "algo-1 muster: a fact of this job\n"));
}

TEST_CASE("render: seconds are of all hosts, and say how they are rounded") {
  CHECK(seconds_text(4, 4, 2) ==
        "Training seconds: 8\nBillable seconds: 8 (4 s for each of 2 hosts, rounded up)\n");
  CHECK(seconds_text(1, 1, 1) ==
        "Training seconds: 1\nBillable seconds: 1 (1 s for each of 1 host, rounded up)\n");
}

TEST_CASE("render: colours are by host, and only when asked for") {
  std::string text;
  PlainRender render(text, {.colour = true, .verbose = true, .hosts = 2, .ranks = 2});
  render.lines("algo-1", noon, out(0, "a\n"));
  render.lines("algo-2", noon, {1, Stream::err, false, "b\n"});
  render.log("algo-1", noon, {"error", "bad"});
  CHECK(text == std::string("\x1b[33malgo-1 rank 0 | \x1b[0ma\n"
                            "\x1b[32malgo-2 rank 1 ! \x1b[0mb\n"
                            "\x1b[31malgo-1 muster: error: bad\x1b[0m\n"));
}

TEST_CASE("render: a program's own colours end with its line, and a file has none") {
  for (const bool colour : {true, false}) {
    std::string text;
    PlainRender render(text, {.colour = colour, .live = colour});
    render.lines("algo-1", noon, out(0, "\x1b[31mone\ntwo\n"));
    render.lines("algo-1", noon, part(0, "\x1b[1mthree"));
    render.lines("algo-1", noon, part(0, " and \x1b"));
    render.lines("algo-1", noon, out(0, "[0mfour\nfive\n"));
    const std::string tag = colour ? "\x1b[33malgo-1 rank 0 | \x1b[0m" : "algo-1 rank 0 | ";
    CHECK(text == tag + (colour ? "\x1b[0;31mone\x1b[0m\n" : "one\n") + tag + "two\n" + tag +
                      (colour ? "\x1b[0;1mthree\x1b[0m\x1b[0;1m and \\x1b\x1b[0m"
                                "\x1b[0;1m[0mfour\x1b[0m\n"
                              : "three and four\n") +
                      tag + "five\n");
  }
}

TEST_CASE("render: lines in pieces stay whole in a file") {
  std::string text;
  PlainRender render(text, {});
  render.lines("algo-1", noon, part(0, "begin "));
  render.lines("algo-1", noon, out(1, "other\n"));
  render.lines("algo-1", noon, part(0, "middle "));
  render.lines("algo-1", noon, out(0, "end\nnext\n"));
  render.lines("algo-1", noon, part(0, "never finished"));
  render.finish();
  CHECK(text == std::string("algo-1 rank 1 | other\n"
                            "algo-1 rank 0 | begin middle end\n"
                            "algo-1 rank 0 | next\n"
                            "algo-1 rank 0 | never finished\n"));
}

TEST_CASE("render: on a terminal pieces are shown at once, and marked where they were broken") {
  std::string text;
  PlainRender render(text, {.live = true, .utc = true});
  render.lines("algo-1", noon, part(0, "name? "));
  render.lines("algo-1", noon, part(0, "yes"));
  render.lines("algo-1", noon, out(1, "other\n"));
  render.lines("algo-1", noon, out(0, " sir\nnext\n"));
  render.lines("algo-1", noon, part(0, "10%"));
  render.lines("algo-1", noon, out(0, "20%\n"));
  render.lines("algo-1", noon, part(0, "rest"));
  render.status({"Uploading", "x", noon});
  render.finish();
  CHECK(text == std::string("algo-1 rank 0 | name? yes\n"
                            "algo-1 rank 1 | other\n"
                            "algo-1 rank 0 | ...  sir\n"
                            "algo-1 rank 0 | next\n"
                            "algo-1 rank 0 | 10%20%\n"
                            "algo-1 rank 0 | rest\n"
                            "2026-01-31 12:00:00 UTC Uploading - x\n"));
}

Lines steps(int rank, std::string bytes) {
  Lines lines = out(rank, std::move(bytes));
  lines.steps = true;
  return lines;
}

TEST_CASE("render: of a progress bar a file gets one state a second and the last") {
  std::string text;
  PlainRender render(text, {});
  render.lines("algo-1", noon, steps(0, "\r\n"));
  render.lines("algo-1", noon, steps(0, "1%\r\n2%\r\n"));
  render.lines("algo-1", noon + UnixMillis(500), steps(0, "3%\r\n"));
  render.lines("algo-1", noon + UnixMillis(600), out(1, "other\n"));
  render.lines("algo-1", noon + UnixMillis(900), part(0, "4"));
  render.lines("algo-1", noon + UnixMillis(1000), steps(0, "%\r\n"));
  render.lines("algo-1", noon + UnixMillis(1100), steps(0, "99%\r\n"));
  render.lines("algo-1", noon + UnixMillis(1200), out(0, "done\n"));
  render.lines("algo-1", noon + UnixMillis(1300), steps(0, "next\r\n"));
  render.finish();
  CHECK(text ==
        "algo-1 rank 0 | 2%\nalgo-1 rank 1 | other\nalgo-1 rank 0 | 4%\nalgo-1 rank 0 | 99%\n"
        "algo-1 rank 0 | done\nalgo-1 rank 0 | next\n");
}

TEST_CASE("render: on a terminal a progress bar is one live line until another writer prints") {
  std::string text;
  PlainRender render(text, {.live = true, .columns = [] { return 30; }});
  render.lines("algo-1", noon, part(0, "1"));
  render.lines("algo-1", noon, steps(0, "%\r\n"));
  render.lines("algo-1", noon, steps(0, "2%\r\n"));
  render.lines("algo-1", noon, part(0, "3% of very many\x1b[A"));
  CHECK(text ==
        "algo-1 rank 0 | 1%\r\x1b[Kalgo-1 rank 0 | 2%\r\x1b[Kalgo-1 rank 0 | 3% of very ma");
  text.clear();
  render.lines("algo-1", noon, out(1, "other\n"));
  render.lines("algo-1", noon + UnixMillis(10), steps(0, "\r\n"));
  CHECK(text == "\nalgo-1 rank 1 | other\nalgo-1 rank 0 | 3% of very ma");
  text.clear();
  render.lines("algo-1", noon + UnixMillis(20), out(1, "more\n"));
  render.lines("algo-1", noon + UnixMillis(30), steps(0, "4%\r\n"));  // Too soon for a new line.
  CHECK(text == "\nalgo-1 rank 1 | more\n");
  text.clear();
  render.lines("algo-1", noon + UnixMillis(2000), steps(0, "5%\r\n"));
  render.lines("algo-1", noon + UnixMillis(2001), out(0, "done\n"));
  CHECK(text == "algo-1 rank 0 | 5%\r\x1b[Kalgo-1 rank 0 | done\n");
}

TEST_CASE("render: a coloured progress bar fits into the terminal's width") {
  std::string text;
  PlainRender render(text, {.colour = true, .live = true, .columns = [] { return 21; }});
  render.lines("algo-1", noon, steps(0, "\x1b[31m12345\x1b[0m67\r\n"));
  CHECK(text == "\x1b[33malgo-1 rank 0 | \x1b[0m\x1b[0;31m1234\x1b[0m");
}

TEST_CASE("render: JSON has every state of a progress bar, marked as one") {
  std::string text;
  JsonRender render(text);
  render.lines("algo-1", noon, steps(0, "1%\r\n2%\r\n"));
  const std::string head =
      R"({"type":"line","time":"2026-01-31T12:00:00.123Z","host":"algo-1","rank":0,)"
      R"("stream":"stdout","text":)";
  CHECK(text == head + R"("1%","step":true})" + "\n" + head + R"("2%","step":true})" + "\n");
}

TEST_CASE("render: raw, bytes of a line are passed on as they are") {
  std::string text;
  PlainRender render(text, {.raw = true});
  const std::string bytes("\xff\x00\x1b[0m\r\n", 8);
  render.lines("algo-1", noon, out(0, bytes));
  CHECK(text == "algo-1 rank 0 | " + bytes);
}

TEST_CASE("render: nothing of a host can look like muster's own line, or order a terminal about") {
  std::string text;
  PlainRender render(text, {.live = true, .utc = true, .hosts = 2});
  render.lines("algo-1", noon, out(0, "50%\ralgo-2 rank 0 | hi\n"));
  render.lines("algo-1", noon, out(0, "10%\r\n20%\r\n"));
  render.lines("algo-1", noon, part(0, "\x1b[1Aalgo-1 muster: "));
  render.lines("algo-1", noon, out(0, "error: x\n"));
  render.status({"Failed", "why\n2026-01-31 12:00:00 Completed - x\x1b[A", noon});
  render.log("algo-1", noon, {"error", "odd \xff name\nalgo-2 muster: error: y"});
  render.finish();
  CHECK(text ==
        std::string("algo-1 rank 0 | 50%\\x0dalgo-2 rank 0 | hi\n"
                    "algo-1 rank 0 | 10%\n"
                    "algo-1 rank 0 | 20%\n"
                    "algo-1 rank 0 | \\x1b[1Aalgo-1 muster: error: x\n"
                    "2026-01-31 12:00:00 UTC Failed - why\\x0a2026-01-31 12:00:00 Completed "
                    "- x\\x1b[A\n"
                    "algo-1 muster: error: odd \\xff name\\x0aalgo-2 muster: error: y\n"));
}

TEST_CASE("render: no name or status of a server orders a terminal about") {
  std::string out;
  PlainRender render(out, {.raw = true, .hosts = 1, .ranks = 1});
  const std::string host = "algo-1\x1b]0;x\a\n2026-01-01 Completed";
  render.status({"Training\x1b[2J\n", "ok", UnixMillis(0)});
  render.log(host, UnixMillis(0), {"error", "late"});
  job::Lines lines;
  lines.bytes = "loss 1\n";
  render.lines(host, UnixMillis(0), lines);
  render.finish();
  CHECK(out.find('\x1b') == std::string::npos);
  CHECK(out.find('\a') == std::string::npos);
  CHECK(std::count(out.begin(), out.end(), '\n') == 3);
}

TEST_CASE("render: JSON has one object a line") {
  std::string text;
  JsonRender render(text);
  render.status({"Training", "in \"progress\"", noon});
  render.lines("algo-1", noon, out(3, "a\tb\\\n\xff\n"));
  render.lines("algo-1", noon, {-1, Stream::err, true, "\x01"});
  render.log("algo-2", noon, {"info", "x"});
  CHECK(text ==
        std::string(
            R"({"type":"status","time":"2026-01-31T12:00:00.123Z","status":"Training",)"
            R"("message":"in \"progress\""})"
            "\n"
            R"({"type":"line","time":"2026-01-31T12:00:00.123Z","host":"algo-1","rank":3,)"
            R"("stream":"stdout","text":"a\tb\\"})"
            "\n"
            R"({"type":"line","time":"2026-01-31T12:00:00.123Z","host":"algo-1","rank":3,)"
            R"("stream":"stdout","text":")"
            "\xef\xbf\xbd"
            R"(","base64":"/w=="})"
            "\n"
            R"({"type":"line","time":"2026-01-31T12:00:00.123Z","host":"algo-1","rank":null,)"
            R"("stream":"stderr","text":"\u0001","part":true})"
            "\n"
            R"({"type":"log","time":"2026-01-31T12:00:00.123Z","host":"algo-2","level":"info",)"
            R"("text":"x"})"
            "\n"));
}

platform::JobReport failed_report() {
  platform::JobReport report;
  report.end.status = platform::JobEnd::Status::failed;
  report.end.reason = "rank 3 on algo-2: exit code 1";
  report.end.verdict.outcome = job::Outcome::exited(1);
  report.end.verdict.last_lines = "Traceback\nValueError\n";
  report.end.verdict.command = "python3 t.py";
  report.end.training_time = std::chrono::seconds(2);
  report.end.last = {"Failed", "Training job failed", noon};
  report.results = {true, {"/out/failure/algo-1", "/out/failure/algo-2"}};
  return report;
}

TEST_CASE("render: the verdict names the rank, its end, its last lines and where to look") {
  CHECK(verdict_text(failed_report(), {}, false) ==
        std::string("Failed: rank 3 on algo-2: exit code 1 (sm explain exit-code)\n"
                    "  last lines:\n"
                    "    Traceback\n"
                    "    ValueError\n"
                    "  command: python3 t.py\n"
                    "  failure files: /out/failure/algo-1 /out/failure/algo-2\n"));
  CHECK(verdict_text(failed_report(), {}, true).substr(0, 5) == "\x1b[31m");
  platform::JobReport odd = failed_report();
  odd.end.reason = "rank 3: \x1b]0;x\x07\nCompleted";
  odd.end.verdict.last_lines = "\x1b[H\nsm fit: fine";
  odd.end.verdict.command = "python3 \xc2\x9b";
  CHECK(verdict_text(odd, {}, false) ==
        std::string("Failed: rank 3: \\x1b]0;x\\x07\\x0aCompleted\n"
                    "  last lines:\n"
                    "    \\x1b[H\n"
                    "    sm fit: fine\n"
                    "  command: python3 \\u009b\n"
                    "  failure files: /out/failure/algo-1 /out/failure/algo-2\n"));
  platform::JobReport missing = failed_report();
  missing.end.verdict.last_lines = "ModuleNotFoundError: No module named 'torch'\n";
  CHECK(verdict_text(missing, {}, false)
            .find("\n  hint: choose an interpreter that has the module") != std::string::npos);
  platform::JobReport done;
  done.end.status = platform::JobEnd::Status::completed;
  CHECK(verdict_text(done, {}, true) == "");
  done.end.status = platform::JobEnd::Status::stopped;
  CHECK(verdict_text(done, {}, false) == "Stopped: on request\n");
}

TEST_CASE("render: the last object describes the end") {
  const Json json = *parse_json(end_object(failed_report(), "demo", "/out", 3, 1, {}));
  CHECK(json["type"] == "end");
  CHECK(json["status"] == "Failed");
  CHECK(json["exit_code"] == 1);
  CHECK(json["training_seconds"] == 6);
  CHECK(json["output"] == "/out");
  CHECK(json["topic"] == "exit-code");
  CHECK(json["verdict"].is_object());
  CHECK(json["conflicts"] == Json{{"count", 0}, {"names", Json::array()}, {"folder", nullptr}});
  platform::JobReport met = failed_report();
  met.results.conflicts = {7, {"model/a", "model/b"}};
  CHECK((*parse_json(end_object(met, "demo", "/out", 3, 1, {{"loss", 0.5}})))["conflicts"] ==
        Json{{"count", 7}, {"names", {"model/a", "model/b"}}, {"folder", "/out/conflicts"}});
}

}  // namespace
}  // namespace muster::cli
