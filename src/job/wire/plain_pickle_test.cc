#include "job/wire/plain_pickle.h"

#include <doctest/doctest.h>

#include <string>

namespace muster::job {
namespace {

using namespace std::string_literals;

/// An empty text, for what cannot be read.
std::string text_at(const std::string& pickle, const char* key) {
  const Result<PlainPickle> read = PlainPickle::read(pickle);
  return read ? std::string(read->root().at(key).text().value_or("")) : "";
}

std::optional<std::int64_t> whole_in(const std::string& pickle) {
  const Result<PlainPickle> read = PlainPickle::read(pickle);
  return read ? read->root().whole() : std::nullopt;
}

TEST_CASE("plain pickle: numbers of all sizes") {
  CHECK(whole_in("\x80\x02K\xff."s) == 255);
  CHECK(whole_in("\x80\x02M\x00\x01."s) == 256);
  CHECK(whole_in("\x80\x02J\xff\xff\xff\xff."s) == -1);
  CHECK(whole_in("\x80\x02\x8a\x00."s) == 0);
  CHECK(whole_in("\x80\x02\x8a\x01\xfe."s) == -2);
  CHECK(whole_in("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s) == INT64_MIN);
  CHECK(!whole_in("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s));
  CHECK(!whole_in("\x80\x02G\x3f\xf0\x00\x00\x00\x00\x00\x00."s));
}

TEST_CASE("plain pickle: containers, and values that occur twice") {
  // {"a": ("x", [True, None]), "b": "x"} of protocol 2 and, framed, of protocol 4.
  const std::string two =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01X\x01\x00\x00\x00xq\x02]q\x03(\x88Ne\x86q\x04X\x01\x00\x00\x00"
      "bq\x05h\x02u."s;
  const std::string four =
      "\x80\x04\x95\x1b\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
      "a\x94\x8c\x01x\x94]\x94(\x88Ne\x86\x94\x8c\x01"
      "b\x94h\x02u."s;
  for (const std::string& text : {two, four}) {
    const Result<PlainPickle> read = PlainPickle::read(text);
    REQUIRE(read);
    const PlainPickle::Value root = read->root();
    CHECK(root.size() == 2);
    CHECK(root.at("a").size() == 2);
    CHECK(root.at("a")[0].text() == "x");
    CHECK(root.at("a")[1][0].flag() == true);
    CHECK(!root.at("a")[1][1].flag());
    CHECK(root.at("b").text() == "x");
    CHECK(root.at("c").size() == 0);
    CHECK(!root.at("c").at("d").whole());
    // Any shorter text is refused.
    for (std::size_t i = 0; i < text.size(); ++i) CHECK(!PlainPickle::read(text.substr(0, i)));
  }
}

TEST_CASE("plain pickle: nothing that could run or build anything else is read") {
  const std::string names[] = {
      "\x80\x02"
      "cos\nsystem\nX\x04\x00\x00\x00"
      "true\x85R."s,                                              // os.system("true")
      "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R."s,  // By STACK_GLOBAL.
      "(S'true'\nios\nsystem\n."s,                                // INST
      "\x80\x02"
      "ccollections\nOrderedDict\n)\x81."s,  // NEWOBJ
      "\x80\x02}X\x01\x00\x00\x00"
      "ab."s,                // BUILD
      "\x80\x02K\x01Q."s,    // BINPERSID
      "\x80\x02\x82\x01."s,  // EXT1
      "I01\n."s,             // A number in protocol 0.
  };
  for (const std::string& text : names) CHECK(!PlainPickle::read(text));
}

TEST_CASE("plain pickle: malformed pickles are refused") {
  const std::string wrong[] = {
      ""s,
      "."s,
      "N"s,
      "NN."s,                  // Two values.
      "(N."s,                  // A mark is left.
      "e."s,                   // No mark.
      "N(e."s,                 // Appends to None.
      "](Ku."s,                // Cut off.
      "}(Nu."s,                // A key without a value.
      "h\x01."s,               // Never put.
      "q\x01N."s,              // Nothing to put.
      "X\xff\xff\xff\xffx."s,  // A length beyond the end.
      "\x8c\x05"
      "abc."s,
      "\x86."s,
      "(N\x86."s,  // Across a mark.
      "](a."s,
      "N(\x80\x02t(tu."s,
  };
  for (const std::string& text : wrong) CHECK(!PlainPickle::read(text));
  // A list in itself, and pairs that each hold the one before twice: they take no more room than
  // their text.
  CHECK(PlainPickle::read("]q\x00(h\x00h\x00"
                          "e."s)
            ->root()
            .size() == 2);
  std::string pairs = "]"s;
  for (int i = 0; i < 100'000; ++i) pairs += "q\x00h\x00\x86"s;
  CHECK(PlainPickle::read(pairs + ".")->root()[1][0][1].size() == 2);
}

TEST_CASE("plain pickle: sizes are limited") {
  CHECK(!PlainPickle::read(std::string(PlainPickle::bytes_max, 'N') + "."));
  const std::string nones = "(" + std::string(1'100'000, 'N') + "t.";
  CHECK(!PlainPickle::read(nones));
  CHECK(!PlainPickle::read(std::string(5'000'000, '(') + "."));
  std::string gets = "Nq\x00("s;
  for (int i = 0; i < 4'500'000; ++i) gets += "h\x00"s;
  CHECK(!PlainPickle::read(gets + "t."));
  CHECK(text_at("}X\x01\x00\x00\x00"
                "aX\x01\x00\x00\x00"
                "bs."s,
                "a") == "b");
}

}  // namespace
}  // namespace muster::job
