#include "job/last_words.h"

#include <doctest/doctest.h>

#include "job/outcome.h"

namespace muster::job {
namespace {

constexpr const char* under_mpi4py =
    "epoch 1\n"
    "Traceback (most recent call last):\n"
    "  File \"<frozen runpy>\", line 198, in _run_module_as_main\n"
    "  File \"<frozen runpy>\", line 88, in _run_code\n"
    "  File \"/venv/lib/python3.11/site-packages/mpi4py/__main__.py\", line 7, in <module>\n"
    "    main()\n"
    "  File \"/venv/lib/python3.11/site-packages/mpi4py/run.py\", line 230, in main\n"
    "    run_command_line(args)\n"
    "    ^^^^^^^^^^^^^^^^^^^^^^\n"
    "  File \"/usr/lib/python3.9/runpy.py\", line 197, in run_path\n"
    "    return _run_code(code)\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    raise ValueError(\"bad batch\")\n"
    "ValueError: bad batch\n";

TEST_CASE("last words: the error is named as Python names it") {
  struct {
    const char* name;
    std::string text;
    std::string want;
  } const cases[] = {
      {"nothing", "", ""},
      {"no error", "epoch 1\nloss: 3\nFile not found\n", ""},
      {"under mpi4py", under_mpi4py, "ValueError: bad batch"},
      {"without a text", "  File \"t.py\", line 1, in f\n    assert x\nAssertionError\n",
       "AssertionError"},
      {"a dotted name", "  File \"t.py\", line 1, in f\na.b.Error: of b's\nmore of it\n",
       "a.b.Error: of b's"},
      {"no exception behind the frames", "  File \"t.py\", line 1\n    x\nit was fine: really\n",
       ""},
      {"a syntax error has no traceback",
       "  File \"t.py\", line 1\n    foo bar\n        ^^^\nSyntaxError: invalid syntax\n",
       "SyntaxError: invalid syntax"},
      {"the last of a chain",
       "  File \"t.py\", line 1, in f\nKeyError: 'a'\n\nDuring handling of the above exception, "
       "another exception occurred:\n\nTraceback (most recent call last):\n  File \"t.py\", line "
       "2, "
       "in g\nRuntimeError: no a\nafter it\n",
       "RuntimeError: no a"},
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
    CHECK(error_line(one.text) == one.want);
  }
  const std::string frame = "  File \"t.py\", line 1, in f\n";
  const std::string much = error_line(frame + "E: " + std::string(296, 'x') + "\xc3\xa4\xc3\xa4\n");
  CHECK(much == "E: " + std::string(296, 'x') + "...");
  CHECK(error_line(frame + "E: \x1b[1m\n") == "E: \\x1b[1m");
}

TEST_CASE("last words: an error that only tells of a peer's end is told from others") {
  const std::string frame = "  File \"t.py\", line 1, in f\n";
  for (const char* error :
       {"RuntimeError: [/gloo/transport/tcp/pair.cc:598] Connection closed by peer [::1]:7",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:77, remote process exited or",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15"})
    CHECK(blames_peer(frame + error + "\n"));
  for (const char* error : {"ValueError: bad batch", "ChildFailedError: ", "no error"})
    CHECK_FALSE(blames_peer(frame + error + "\n"));
  CHECK_FALSE(blames_peer("Connection closed by peer\n"));
  CHECK_FALSE(blames_peer(""));
}

TEST_CASE("last words: a person is shown the cause's traceback, not a page") {
  CHECK(excerpt("").empty());
  CHECK(excerpt(under_mpi4py) == under_mpi4py);
  std::string noise;
  for (int line = 1; line <= 30; ++line) noise += "step " + std::to_string(line) + "\n";
  const std::string last = excerpt(noise);
  CHECK(last.starts_with("step 11\n"));
  CHECK(last.ends_with("step 30\n"));
  const std::string cause =
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 1, in f\n"
      "[rank2]: ValueError: bad loss\n[rank2]: nan\n";
  const std::string broken =
      "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"t.py\", line 1, in f\n"
      "[rank3]: RuntimeError: Connection closed by peer\n";
  CHECK(excerpt(noise + cause + broken + noise) == cause);
  std::string deep = "Traceback (most recent call last):\n";
  for (int frame = 1; frame <= 30; ++frame)
    deep += "  File \"t.py\", line " + std::to_string(frame) + ", in f\n";
  const std::string inner = excerpt(deep + "ValueError: bad loss\n\n" + noise);
  CHECK(inner.starts_with("  File \"t.py\", line 12, in f\n"));
  CHECK(inner.ends_with("line 30, in f\nValueError: bad loss\n"));
}

TEST_CASE("last words: the frames of what started the script are left out") {
  CHECK(without_launcher_frames(under_mpi4py) ==
        "epoch 1\n"
        "Traceback (most recent call last):\n"
        "  File \"train.py\", line 3, in <module>\n"
        "    raise ValueError(\"bad batch\")\n"
        "ValueError: bad batch\n");
  for (const char* text :
       {"", "\n", "one", "one\n\ntwo", "    indented\n  File \"t.py\", line 1\n"})
    CHECK(without_launcher_frames(text) == text);
}

TEST_CASE("last words: a user is told what can be done about what is known") {
  CHECK(hint_for(under_mpi4py).empty());
  CHECK(hint_for("ModuleNotFoundError: No module named 'torch'\n").find("--python") !=
        std::string::npos);
  CHECK(hint_for("/usr/bin/python3: No module named mpi4py\n").find("pip install mpi4py") !=
        std::string::npos);
  CHECK(hint_for("x\nAll nodes which are allocated for this job are already filled.\n")
            .find("SM_NUM_GPUS is 0") != std::string::npos);
}

TEST_CASE("last words: the verdict's headline carries the error of a program that exited") {
  Verdict verdict;
  verdict.outcome = Outcome::exited(1);
  verdict.host = "algo-2";
  verdict.process = "rank 2";
  verdict.last_lines = under_mpi4py;
  CHECK(describe(verdict) == "rank 2 on algo-2: exit code 1: ValueError: bad batch");
  verdict.outcome = Outcome::signaled(9);
  CHECK(describe(verdict) == "rank 2 on algo-2: killed by SIGKILL");
}

}  // namespace
}  // namespace muster::job
