#include "job/outcome/shown_words.h"

#include <doctest/doctest.h>

#include "job/outcome/outcome.h"
#include "job/outcome/said_testing.h"

namespace muster::job {
namespace {

TEST_CASE("last words: a person is shown the cause's traceback, not a page") {
  const auto shown = [](const std::string& text, const char* error = "") {
    Verdict verdict;
    verdict.last_lines = text;
    verdict.error = error;
    return excerpt(verdict);
  };
  CHECK(shown("").empty());
  CHECK(shown(under_mpi4py) == under_mpi4py);
  std::string noise;
  for (int line = 1; line <= 30; ++line) noise += "step " + std::to_string(line) + "\n";
  const std::string last = shown(noise);
  CHECK(last.starts_with("step 11\n"));
  CHECK(last.ends_with("step 30\n"));
  const std::string cause =
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 1, in <module>\n"
      "[rank2]: ValueError: bad loss\n[rank2]: nan\n";
  const std::string broken =
      "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"t.py\", line 1, in f\n"
      "[rank3]: RuntimeError: Connection closed by peer\n";
  CHECK(shown(noise + cause + broken + noise, "ValueError: bad loss nan") == cause);
  CHECK(shown(noise + cause + noise, "no epoch is left") == last);
  std::string deep = "Traceback (most recent call last):\n";
  for (int frame = 1; frame <= 30; ++frame)
    deep += "  File \"t.py\", line " + std::to_string(frame) + ", in f\n";
  const std::string inner =
      shown(deep + "ValueError: bad loss\n\n" + noise, "ValueError: bad loss");
  CHECK(inner.starts_with("  File \"t.py\", line 12, in f\n"));
  CHECK(inner.ends_with("line 30, in f\nValueError: bad loss\n"));
}

TEST_CASE("last words: a reason keeps its headline and the end of the words, in characters") {
  const std::string euro = "\xe2\x82\xac";
  std::string euros;
  for (int i = 0; i < 50; ++i) euros += euro;
  struct {
    const char* name;
    std::string headline, words;
    std::size_t most;
    std::string want;
  } const cases[] = {
      {"both fit", "head", "words\n", 20, "head\nwords"},
      {"no words", "head", "", 20, "head"},
      {"the end of one line", "head", "0123456789", 10, "head\n56789"},
      {"from a line's beginning", "head", "first line\nlast one", 17, "head\nlast one"},
      {"a headline that is too long", "a long headline", "words", 6, "a long"},
      {"characters, not bytes", euros, "words", 60, euros + "\nwords"},
      {"whole characters", "h", euros, 4, "h\n" + euro + euro},
      {"of a headline, too", euros, "", 2, euro + euro},
      {"bytes that are none", "h\xff", "\xff", 20, "h\xef\xbf\xbd\n\xef\xbf\xbd"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    CHECK(reason_text(each.headline, each.words, each.most) == each.want);
  }
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

TEST_CASE("last words: known errors come with a hint for the user") {
  CHECK(hint_for(under_mpi4py).empty());
  CHECK(hint_for("ModuleNotFoundError: No module named 'torch'\n").find("--python") !=
        std::string::npos);
  CHECK(hint_for("/usr/bin/python3: No module named mpi4py\n").find("pip install mpi4py") !=
        std::string::npos);
  CHECK(hint_for("x\nAll nodes which are allocated for this job are already filled.\n")
            .find("SM_NUM_GPUS is 0") != std::string::npos);
}

}  // namespace
}  // namespace muster::job
