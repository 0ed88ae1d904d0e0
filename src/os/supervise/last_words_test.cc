#include "os/supervise/last_words.h"

#include <doctest/doctest.h>

#include "base/text.h"

using namespace muster;
using namespace muster::supervise;
using job::Stream;

TEST_CASE("last words: of both streams, in the order of their lines") {
  LastWords words;
  CHECK(words.text().empty());
  words.add(Stream::out, "epoch 1\nepoch 2\n");
  CHECK(words.text() == "epoch 1\nepoch 2");
  words.add(Stream::err, "Trace");
  words.add(Stream::out, "epoch 3\n");
  words.add(Stream::err, "back\n");
  words.add(Stream::err, "ValueError: x\n\n");
  words.add(Stream::out, "mo");
  CHECK(words.text() == "epoch 1\nepoch 2\nepoch 3\nTraceback\nValueError: x\n\nmo");
  words.add(Stream::out, "re\r\n");
  words.add(Stream::out, "\n\n");
  CHECK(words.text().ends_with("\n\nmore"));
  CHECK(words.lines()[3].began == 2);
  CHECK(words.lines()[3].ended == 4);
}

TEST_CASE("last words: 8 KiB at most, of whole lines") {
  LastWords words;
  std::string all;
  for (int i = 0; i < 20000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    if (i % 2 == 0) words.add(Stream::err, line);
    all += line;
  }
  words.add(Stream::err, all);
  const std::string text = words.text();
  CHECK(text.size() <= LastWords::text_bytes_max);
  CHECK(text.size() > LastWords::text_bytes_max - 60);
  CHECK(all.ends_with("\n" + text + "\n"));
}

TEST_CASE("last words: a stream that is full pushes out nothing of the other") {
  LastWords words;
  words.add(Stream::err, "ValueError: bad batch\n");
  for (int i = 0; i < 20000; ++i) words.add(Stream::out, "epoch " + std::to_string(i) + "\n");
  CHECK(words.text().starts_with("ValueError: bad batch\n[...]\nepoch 1"));
  CHECK(words.text().ends_with("epoch 19999"));
  for (int i = 0; i < 20000; ++i) words.add(Stream::err, "warning " + std::to_string(i) + "\n");
  CHECK(words.text().find("epoch 19999\n") != std::string::npos);
  CHECK(words.text().ends_with("warning 19999"));
  CHECK(words.text().size() <= LastWords::text_bytes_max);
}

TEST_CASE(
    "last words: a long line keeps its beginning and its end, in whatever pieces it arrives") {
  for (const std::size_t length : {3000u, 20000u, 1000000u}) {
    const std::string line = "KeyError: " + std::string(length, 'x') + " in the columns";
    for (const std::size_t step : {std::size_t(100), std::size_t(4096), std::size_t(131072)}) {
      CAPTURE(length);
      CAPTURE(step);
      const std::string bytes =
          "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n" + line + "\n";
      LastWords words;
      for (std::size_t at = 0; at < bytes.size(); at += step)
        words.add(Stream::err, std::string_view(bytes).substr(at, step));
      const std::string text = words.text();
      CHECK(text.size() < 2300);
      CHECK(text.starts_with("Traceback (most recent call last):\n  File \"t.py\""));
      CHECK(text.find("\nKeyError: xxx") != std::string::npos);
      CHECK(text.find("xxx [...] xxx") != std::string::npos);
      CHECK(text.ends_with("x in the columns"));
    }
  }
}

TEST_CASE("last words: of a progress bar its last state") {
  for (const std::size_t step : {1u, 7u, 1000u}) {
    std::string bytes = "begun\r\n";
    for (int i = 0; i < 60; ++i) bytes += "\r " + std::to_string(i) + "%|###";
    bytes += "\rdone\r\nTraceback\n\r 1%\r 2%\r";
    LastWords words;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      words.add(Stream::err, std::string_view(bytes).substr(at, step));
    CHECK(words.text() == "begun\ndone\nTraceback\n 2%");
  }
}
