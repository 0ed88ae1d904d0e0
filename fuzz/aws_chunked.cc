// The bodies of uploads. The first byte says how they are read, the second how many bytes they are
// to hold; each is read in one piece and in small ones.
#include "aws/access/aws_chunked.h"

#include <string_view>

#include "fuzz.h"

namespace muster {

namespace {

using access::AwsChunked;

struct Got {
  std::string data;
  std::string code;
  bool done = false;
  aws::Pairs trailers;
};

Got read(const AwsChunked::Options& options, std::string_view body, std::size_t step) {
  AwsChunked chunked(options);
  Got got;
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, step);
    std::vector<std::string_view> data;
    const Result<void, aws::Refusal> fed = chunked.feed(piece, data);
    for (const std::string_view one : data) {
      CHECK_THAT(
          one.data() >= piece.data() && one.data() + one.size() <= piece.data() + piece.size(),
          "what is given out is what came in");
      got.data += one;
    }
    if (!fed) {
      got.code = fed.error().code;
      break;
    }
    body.remove_prefix(piece.size());
  }
  if (const auto finished = chunked.finish(); !finished) got.code = finished.error().code;
  got.done = chunked.done();
  got.trailers = chunked.trailers();
  return got;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  AwsChunked::Options options;
  options.is_signed = (data[0] & 1) != 0;
  options.has_trailer = (data[0] & 2) != 0;
  options.decoded_bytes = data[1];
  if (options.has_trailer) options.trailer = "x-amz-checksum-crc32";
  options.signing.seed_signature = std::string(64, '0');
  const Got whole = read(options, body, body.size());
  const Got pieces = read(options, body, 1 + data[1] % 7);
  CHECK_THAT(whole.code == pieces.code, "where bytes are cut does not matter");
  CHECK_THAT(!whole.done || whole.data == pieces.data, "the same data");
  CHECK_THAT(!whole.done || whole.trailers == pieces.trailers, "the same trailers");
  CHECK_THAT(whole.done == whole.code.empty(), "done, or an error");
  CHECK_THAT(!whole.done || whole.data.size() == options.decoded_bytes, "as much as announced");
  CHECK_THAT(whole.data.size() <= options.decoded_bytes, "never more than announced");
  return 0;
}

}  // namespace muster
