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
      {"muster's own", "one\nsm torchrun: error: expected a script to run\n",
       "sm torchrun: error: expected a script to run"},
      {"a traceback before muster's own",
       "sm run: error: x\n  File \"t.py\", line 1, in f\nValueError: bad\n", "ValueError: bad"},
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
