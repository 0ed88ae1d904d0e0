#include "os/supervise/tags.h"

#include <doctest/doctest.h>

#include <vector>

using namespace muster;
using namespace muster::supervise;

namespace {
job::Lines out(int rank, std::string bytes) {
  return {rank, job::Stream::out, false, std::move(bytes)};
}
job::Lines part(int rank, std::string bytes) {
  return {rank, job::Stream::out, true, std::move(bytes)};
}
job::Lines err(int rank, std::string bytes) {
  return {rank, job::Stream::err, false, std::move(bytes)};
}
}  // namespace

TEST_CASE("tags: every line has its writer's tag, in the reference's form") {
  struct {
    const char* name;
    std::vector<job::Lines> given;
    std::string want;
  } const cases[] = {
      {"one line", {out(0, "a\n")}, "[1,mpirank:0,algo-1]<stdout>:a\n"},
      {"many lines",
       {out(3, "a\n\nb\n")},
       "[1,mpirank:3,algo-1]<stdout>:a\n[1,mpirank:3,algo-1]<stdout>:\n"
       "[1,mpirank:3,algo-1]<stdout>:b\n"},
      {"stderr", {err(0, "a\n")}, "[1,mpirank:0,algo-1]<stderr>:a\n"},
      {"no rank, no tag", {out(-1, "a\nb\n")}, "a\nb\n"},
      {"nothing", {out(0, "")}, ""},
      {"a part goes on in its line",
       {part(0, "a"), part(0, "b"), out(0, "c\nd\n")},
       "[1,mpirank:0,algo-1]<stdout>:abc\n[1,mpirank:0,algo-1]<stdout>:d\n"},
      {"another rank ends an unfinished line, which goes on under a tag of its own",
       {part(0, "a"), out(1, "x\n"), out(0, "b\n")},
       "[1,mpirank:0,algo-1]<stdout>:a\n[1,mpirank:1,algo-1]<stdout>:x\n"
       "[1,mpirank:0,algo-1]<stdout>:b\n"},
      {"so does the other stream of the same rank",
       {part(0, "a"), err(0, "x\n")},
       "[1,mpirank:0,algo-1]<stdout>:a\n[1,mpirank:0,algo-1]<stderr>:x\n"},
      {"two parts of two ranks",
       {part(0, "a"), part(1, "b"), out(1, "c\n")},
       "[1,mpirank:0,algo-1]<stdout>:a\n[1,mpirank:1,algo-1]<stdout>:bc\n"},
      {"a rank behind an unfinished line without tag",
       {part(-1, "name? "), out(0, "x\n"), out(-1, "b\n")},
       "name? \n[1,mpirank:0,algo-1]<stdout>:x\nb\n"},
      {"nothing does not end a line",
       {part(0, "a"), out(1, ""), out(0, "b\n")},
       "[1,mpirank:0,algo-1]<stdout>:ab\n"},
      {"a progress bar's steps",
       {out(0, "1%\r\n2%\r\n")},
       "[1,mpirank:0,algo-1]<stdout>:1%\r\n[1,mpirank:0,algo-1]<stdout>:2%\r\n"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    TagWriter tags;
    std::string text;
    for (const job::Lines& lines : c.given) text += tags.tagged("algo-1", lines);
    CHECK(text == c.want);
  }
}

TEST_CASE("tags: writers without a tag on two hosts do not share a line") {
  TagWriter tags;
  CHECK(tags.tagged("algo-1", part(-1, "a")) == "a");
  CHECK(tags.tagged("algo-2", out(-1, "b\n")) == "\nb\n");
}
