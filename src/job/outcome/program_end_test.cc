#include "job/outcome/program_end.h"

#include <doctest/doctest.h>

#include <csignal>

#include "base/text.h"
#include "job/outcome/said_testing.h"
#include "job/outcome/traceback.h"

namespace muster::job {
namespace {

/// Lines that came one by one: each began with a read of its own. A '\v' at the end of one says
/// that the next came with it, a '>' in front that it is stdout's.
std::vector<SaidLine> said(const std::string& text) {
  std::vector<SaidLine> lines;
  std::uint64_t read = 0;
  bool together = false;
  for (std::string line : split(trim(text), '\n')) {
    const bool out = line.starts_with('>');
    if (out) line.erase(0, 1);
    read += together ? 0 : 1;
    together = line.ends_with('\v');
    if (together) line.pop_back();
    lines.push_back({out ? Stream::out : Stream::err, line, read, read});
  }
  return lines;
}

/// As if all had come at once.
std::string error_in(const std::string& text, const Outcome* outcome = nullptr) {
  std::vector<SaidLine> lines;
  for (const std::string& line : split(text, '\n')) lines.push_back({Stream::err, line});
  return ending_of(lines, outcome).error;
}

const std::string main_frames =
    "Traceback (most recent call last):\n  File \"t.py\", line 9, in <module>\n    main()\n";
const std::string inner_frames =
    "Traceback (most recent call last):\n  File \"t.py\", line 3, in load\n    get()\n";

struct Case {
  const char* name;
  std::string text;
  std::string want;
};

TEST_CASE("ending: the error is named as Python names it") {
  const Case cases[] = {
      {"nothing", "", ""},
      {"no error", "epoch 1\nloss: 3\nFile not found\n", ""},
      {"under mpi4py", under_mpi4py, "ValueError: bad batch"},
      {"without a text", "  File \"t.py\", line 1, in f\n    assert x\nAssertionError\n",
       "AssertionError"},
      {"a dotted name", "  File \"t.py\", line 1, in f\na.b.Error: of b's\nmore of it\n",
       "a.b.Error: of b's more of it"},
      {"no exception behind the frames", "  File \"t.py\", line 1\n    x\nit was fine: really\n",
       ""},
      {"a syntax error has no traceback",
       "  File \"t.py\", line 1\n    foo bar\n        ^^^\nSyntaxError: invalid syntax\n",
       "SyntaxError: invalid syntax"},
      {"the last of a chain",
       "  File \"t.py\", line 1, in f\nKeyError: 'a'\n\nDuring handling of the above exception, "
       "another exception occurred:\n\nTraceback (most recent call last):\n  File \"t.py\", line "
       "2, in <module>\nRuntimeError: no a\nafter it\n",
       "RuntimeError: no a after it"},
      {"torch's prefix",
       "[rank0]:   File \"t.py\", line 1, in f\n[rank0]:     g()\n"
       "[rank0]: ValueError: bad batch\n",
       "ValueError: bad batch"},
      {"an agent's report of it",
       "  File \"t.py\", line 1, in f\nValueError: bad batch\n  File \"/bin/torchrun\", line 8\n"
       "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n",
       "ValueError: bad batch"},
      {"an agent's report alone", "  File \"l.py\", line 1\nsubprocess.CalledProcessError: x\n",
       "subprocess.CalledProcessError: x"},
      {"a broken connection after the cause",
       "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 1, in f\n"
       "[rank2]: ValueError: bad loss nan\n[rank3]:   File \"t.py\", line 2, in f\n"
       "[rank3]: RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer\n",
       "ValueError: bad loss nan"},
      {"a broken connection and an agent's report of it",
       "  File \"t.py\", line 1, in f\ntorch.distributed.DistBackendError: NCCL error in: "
       "x.cpp:77, "
       "remote process exited or there was a network error\n  File \"/bin/torchrun\", line 8\n"
       "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
       "torch.distributed.DistBackendError: NCCL error in: x.cpp:77, remote process exited or "
       "there was a network error"},
      {"muster's own", "one\nsm torchrun: error: expected a script to run\n",
       "sm torchrun: error: expected a script to run"},
      {"a traceback before muster's own",
       "sm run: error: x\n  File \"t.py\", line 1, in f\nValueError: bad\n", "ValueError: bad"},
      {"python -m without its module", "/usr/bin/python3: No module named mpi4py\n",
       "/usr/bin/python3: No module named mpi4py"},
      {"a line that only looks so", "plugins: No module named x\n", ""},
      {"cut off", "  File \"t.py\", line 1, in f\n    raise", ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CHECK(error_in(one.text) == one.want);
  }
  const std::string frame = "  File \"t.py\", line 1, in f\n";
  const std::string much = error_in(frame + "E: " + std::string(296, 'x') + "\xc3\xa4\xc3\xa4\n");
  CHECK(much == "E: " + std::string(296, 'x') + "...");
  CHECK(error_in(frame + "E: \x1b[1m\n") == "E: \\x1b[1m");
}

TEST_CASE("ending: forms of exceptions that Python and its friends print") {
  const Case cases[] = {
      {"a local class", main_frames + "main.<locals>.BadBatch: seven\n",
       "main.<locals>.BadBatch: seven"},
      {"a name beyond ASCII", main_frames + "Größenfehler: zu groß\n", "Größenfehler: zu groß"},
      {"rich",
       "╭───── Traceback (most recent call last) ─────╮\n│ /x/train.py:9 in <module>  │\n"
       "│ ❱ 9 main()   │\n╰──────────────╯\nValueError: bad batch\n",
       "ValueError: bad batch"},
      {"a message of several lines",
       main_frames + "RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): "
                     "\"a\".\n",
       "RuntimeError: Error(s) in loading state_dict for Net: Missing key(s): \"a\"."},
      {"a data loader's",
       main_frames + "ValueError: Caught ValueError in DataLoader worker process 0.\n"
                     "Original Traceback (most recent call last):\n"
                     "  File \"w.py\", line 3, in _worker_loop\nValueError: bad image\n",
       "ValueError: bad image"},
      {"a group",
       "  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 1, in "
       "<module>\n  |     f()\n  | ExceptionGroup: many (2 sub-exceptions)\n  +-+---- 1 ----\n"
       "    | ValueError: a\n    +---- 2 ----\n    | KeyError: 'b'\n    +----------\n",
       "ExceptionGroup: many (2 sub-exceptions)"},
      {"mp.spawn's",
       main_frames + "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 "
                     "terminated with the following error:\nTraceback (most recent call last):\n"
                     "  File \"s.py\", line 69, in _wrap\nValueError: bad batch\n",
       "ValueError: bad batch"},
      {"what comes while Python ends",
       main_frames +
           "ValueError: bad batch\nwandb: View run at x\n 50%|##   | 5/10 [00:01<00:01]\n"
           "[W1126 10:00:00.1 ProcessGroup.cpp:1] Warning: destroyed (function f)\n"
           "/x/resource_tracker.py:224: UserWarning: resource_tracker: leaked\n  warnings.warn(\n"
           "Exception ignored in: <function f>\n" +
           inner_frames + "TypeError: 'NoneType'\n",
       "ValueError: bad batch"},
  };
  const Outcome one = Outcome::exited(1);
  for (const Case& each : cases) {
    CAPTURE(each.name);
    CHECK(error_in(each.text, &one) == each.want);
  }
}

TEST_CASE("ending: a traceback that did not end the program is not its error") {
  const std::string why = "channel validation is empty\n";
  const Case cases[] = {
      {"ignored", why + "Exception ignored in: <generator>\n" + inner_frames + "TypeError: x\n",
       why},
      {"at exit", why + "Error in atexit._run_exitfuncs:\n" + inner_frames + "OSError: x\n", why},
      {"at exit, newer",
       why + "Exception ignored in atexit callback <f>:\n" + inner_frames + "OSError: x\n", why},
      {"a chain that is ignored",
       why + "Exception ignored in: <f>\n" + inner_frames +
           "KeyError: 1\n\nDuring handling of the above exception, another exception "
           "occurred:\n\n" +
           inner_frames + "OSError: x\n",
       why},
      {"a logging error",
       "--- Logging error ---\n" + inner_frames +
           "TypeError: not all arguments converted\nCall stack:\n  File \"t.py\", line 2, in "
           "<module>\n    log()\nMessage: 'a'\nArguments: (1,)\n" +
           why,
       why},
      {"a thread", "Exception in thread Thread-1 (f):\n" + inner_frames + "ValueError: x\n" + why,
       why},
      {"a task",
       "Task exception was never retrieved\nfuture: <Task>\n" + inner_frames + "ValueError: x\n" +
           why,
       why},
      {"handled in a function", inner_frames + "OSError: try 1\n" + why, why},
      {"handled, then more came", main_frames + "OSError: try 1\n" + why, why},
      {"handled, then a log",
       main_frames + "OSError: try 1\v\n2026-01-01 10:00:00 INFO going on\n" + why, why},
      {"after it the real one", main_frames + "OSError: try 1\n" + main_frames + "KeyError: 'a'\n",
       "KeyError: 'a'"},
      {"on stdout, a handled one",
       ">" + std::string("Traceback (most recent call last):\n") +
           ">  File \"t.py\", line 3, in load\n>OSError: x\n>going on\n" + why,
       why},
  };
  const Case alone[] = {
      {"a thread's, then nothing",
       "starting\nException in thread Thread-1 (f):\n" + inner_frames + "ValueError: x\n", ""},
      {"torchrun's report in pieces",
       inner_frames + "KeyError: 1\n" + main_frames +
           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\nt.py "
           "FAILED\n"
           "Root Cause:\n[0]:\n  exitcode  : 1\n",
       "KeyError: 1"},
      {"DeepSpeed's report",
       main_frames + "KeyError: 1\n[2026-01-01 10:00:00,1] [INFO] [launch.py:3:sigkill_handler] "
                     "Killing subprocess 7\n[2026-01-01 10:00:00,1] [ERROR] "
                     "[launch.py:5:sigkill_handler] ['t.py'] exits with return code = 1\n",
       "KeyError: 1"},
  };
  const Outcome one = Outcome::exited(1);
  for (const Case& each : alone) {
    CAPTURE(each.name);
    CHECK(ending_of(said(each.text), &one).error == each.want);
  }
  for (const Case& each : cases) {
    CAPTURE(each.name);
    CHECK(ending_of(said(each.text), &one).error == trim(each.want));
  }
  const Outcome two = Outcome::exited(2);
  const Case usages[] = {
      {"argparse",
       main_frames + "OSError: try 1\nusage: t.py [-h]\nt.py: error: unrecognized arguments: --x\n",
       "t.py: error: unrecognized arguments: --x"},
      {"click",
       "Usage: t.py [OPTIONS]\nTry 't.py --help' for help.\n\nError: No such option: --x\n",
       "Error: No such option: --x"},
      {"typer's box", "Usage: t.py [OPTIONS]\n╭─ Error ──╮\n│ No such option: --x    │\n╰───╯\n",
       "No such option: --x"},
      {"no file", "/usr/bin/python3: can't open file 't.py': [Errno 2] No such file or directory\n",
       "/usr/bin/python3: can't open file 't.py': [Errno 2] No such file or directory"},
      {"nothing that is an error", "epoch 1\nloading\n", ""},
  };
  for (const Case& each : usages) {
    CAPTURE(each.name);
    CHECK(error_in(each.text, &two) == each.want);
  }
}

TEST_CASE("ending: without an exception the last line counts, if it is an error's or sys.exit's") {
  const Case cases[] = {
      {"sys.exit(text)", "2026-01-01 10:00:00 INFO epoch\nno images in /opt/ml\n",
       "no images in /opt/ml"},
      {"progress alone", "epoch 3 loss 0.1\n", ""},
      {"a warning alone", "t.py:2: UserWarning: old api\n  warn('old api')\n", ""},
      {"an error on stdout behind a warning",
       "t.py:2: UserWarning: old api\n  warn('old api')\n>ERROR: no images\n", "ERROR: no images"},
      {"a line on stdout that is none", ">done\n", ""},
      {"a shell's", "starting\nsh: 1: horovodrun: not found\n", "sh: 1: horovodrun: not found"},
      {"a child's traceback on stdout",
       "starting\n>Traceback (most recent call last):\n>  File \"t.py\", line 1, in <module>\n"
       ">ValueError: inner cause\n",
       "ValueError: inner cause"},
      {"the error is last but one", "ERROR no images\n2026-01-01 10:00:00 INFO bye\n",
       "ERROR no images"},
  };
  const Outcome one = Outcome::exited(1);
  for (const Case& each : cases) {
    CAPTURE(each.name);
    CHECK(ending_of(said(each.text), &one).error == each.want);
  }
}

TEST_CASE("ending: a signal has the error of a crash, or one that was written before it was sent") {
  const std::string thrown =
      "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad "
      "tensor\n";
  const Outcome abort = Outcome::signaled(6);
  const Outcome term = Outcome::signaled(15);
  CHECK(error_in("epoch 1\n" + thrown + "*** Aborted at 1 ***\n", &abort) ==
        "std::runtime_error: bad tensor");
  CHECK(error_in("t: t.c:3: main: Assertion `x > 0' failed.\n", &abort) ==
        "t: t.c:3: main: Assertion `x > 0' failed.");
  CHECK(error_in("epoch 1\n", &abort).empty());
  CHECK(error_in(main_frames + "ValueError: bad\n", &term) == "ValueError: bad");
  CHECK(error_in(inner_frames + "OSError: try 1\n2026-01-01 10:00:00 INFO going on\n", &term)
            .empty());
  const Outcome failed = Outcome::failed("not found");
  CHECK(error_in(main_frames + "ValueError: bad\n", &failed).empty());
}

TEST_CASE("ending: only the exception that ended the program can blame a peer") {
  const std::string gone = "RuntimeError: Connection closed by peer\n";
  const std::string from =
      "\nThe above exception was the direct cause of the following exception:\n\n";
  const std::string meanwhile =
      "\nDuring handling of the above exception, another exception occurred:\n\n";
  struct {
    const char* name;
    std::string text;
    bool want;
  } const cases[] = {
      {"it does", main_frames + gone, true},
      {"it does not", main_frames + "ValueError: bad\n", false},
      {"one that was handled",
       inner_frames + gone + "going on\n" + main_frames + "ValueError: bad\n", false},
      {"one that was handled, then sys.exit", inner_frames + gone + "no data\n", false},
      {"a line in the output", "Connection closed by peer\nstep\n" + main_frames + "KeyError: 1\n",
       false},
      {"raised from it", inner_frames + gone + from + main_frames + "TrainError: step 3\n", true},
      {"while an own one was handled",
       inner_frames + "ValueError: bad\n" + meanwhile + main_frames + gone, false},
      {"the last words", "connection to algo-2 lost\n", true},
  };
  const Outcome one = Outcome::exited(1);
  for (const auto& each : cases) {
    CAPTURE(each.name);
    CHECK(ending_of(said(each.text), &one).blames_peer == each.want);
  }
}

TEST_CASE("ending: the file of @record names the exception exactly") {
  const std::string stack =
      R"(,"extraInfo":{"py_callstack":"Traceback (most recent call last):\n  File \"t.py\", line )"
      R"(2, in <module>\n    main()\npkg.OutOfData: shard 7\nis empty\n","timestamp":"1"})";
  struct {
    const char* name;
    std::string file;
    Outcome outcome;
    const char* want;  ///< Null: the file says nothing.
    bool blames_peer;
  } const cases[] = {
      {"with the class's module",
       R"({"message":{"message":"OutOfData: shard 7\nis empty")" + stack + "}}", Outcome::exited(1),
       "pkg.OutOfData: shard 7 is empty", false},
      {"without frames", R"({"message":{"message":"ValueError: bad\nbatch"}})", Outcome::exited(3),
       "ValueError: bad", false},
      {"an older form", R"({"message":"ValueError: bad"})", Outcome::exited(1), "ValueError: bad",
       false},
      {"a peer's end", R"({"message":{"message":"ConnectionResetError: reset by peer"}})",
       Outcome::exited(1), "ConnectionResetError: reset by peer", true},
      {"killed later", R"({"message":"ValueError: bad"})", Outcome::signaled(SIGKILL), nullptr,
       false},
      {"a success", R"({"message":"ValueError: bad"})", Outcome::exited(0), nullptr, false},
      {"no file", "", Outcome::exited(1), nullptr, false},
      {"half a file", R"({"message":)", Outcome::exited(1), nullptr, false},
      {"a list", "[1]", Outcome::exited(1), nullptr, false},
      {"no text", R"({"message":{"message":7}})", Outcome::exited(1), nullptr, false},
      {"an empty text", R"({"message":""})", Outcome::exited(1), nullptr, false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    const std::optional<Ending> ending = ending_in_file(each.file, each.outcome);
    REQUIRE(ending.has_value() == (each.want != nullptr));
    if (!ending) continue;
    CHECK(ending->error == each.want);
    CHECK(ending->blames_peer == each.blames_peer);
  }
}

}  // namespace
}  // namespace muster::job
