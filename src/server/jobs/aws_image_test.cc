#include "server/jobs/aws_image.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

TEST_CASE("aws image: AWS's own images are recognized by account and repository") {
  struct {
    const char* name;
    std::optional<AwsImage> want;
  } const cases[] = {
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0.1-cpu-py310",
       AwsImage{{"torch"}, "2.0.1"}},
      {"763104351884.dkr.ecr-fips.us-gov-west-1.amazonaws.com/tensorflow-training:2.13-gpu",
       AwsImage{{"tensorflow"}, "2.13"}},
      {"683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-scikit-learn:1.2-1-cpu-py3",
       AwsImage{{"sklearn"}, "1.2"}},
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/"
       "huggingface-pytorch-training:2.1.0-transformers4.36.0-gpu-py310-cu121-ubuntu20.04",
       AwsImage{{"torch", "transformers"}, "2.1.0"}},
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/mxnet-training", AwsImage{{"mxnet"}, ""}},
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training@sha256:2a",
       AwsImage{{"torch"}, ""}},
      {"236514542706.dkr.ecr.us-east-1.amazonaws.com/sagemaker-base-python-310:1.0",
       AwsImage{{}, ""}},
      {"123456789012.dkr.ecr.us-east-1.amazonaws.com/my-container:latest", {}},
      {"123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0.1-cpu-py310", {}},
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/my/pytorch-training:2.0.1", {}},
      {"763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:2.0.1", {}},
      {"763104351884.example.org/pytorch-training:2.0.1", {}},
      {"pytorch-training:2.0.1", {}},
      {"host", {}},
      {"", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(aws_image(c.name) == c.want);
  }
}

TEST_CASE("aws image: the error names missing packages, with their versions") {
  const AwsImage torch{{"torch"}, "2.0.1"};
  CHECK(lack_of(torch, {{"torch", "2.0.0+cpu"}}).empty());
  CHECK(lack_of(torch, {{"torch", ""}}).empty());
  CHECK(lack_of(torch, {{"torch", "2.10.0"}}) ==
        "the image has torch 2.0.1, but this machine's Python has 2.10.0");
  CHECK(lack_of(torch, {{"numpy", "1.2"}}) ==
        "the image has torch 2.0.1, but this machine's Python has none");
  CHECK(lack_of({{"torch", "transformers"}, ""}, {}) ==
        "the image has torch, but this machine's Python has none; it has transformers, but this "
        "machine's Python has none");
  CHECK(lack_of({{}, ""}, {}).empty());
  CHECK(lack_of({{"torch"}, ""}, {{"torch", "2.10.0"}}).empty());  // Any version.
  CHECK(lack_of({{"torch"}, "2"}, {{"torch", "2"}}).empty());
  CHECK(lack_of({{"torch"}, "2"}, {{"torch", "3.1"}}) ==
        "the image has torch 2, but this machine's Python has 3.1");
  CHECK(lack_of({{"torch", "transformers"}, "2.1"}, {{"torch", "2.1"}, {"transformers", "4"}})
            .empty());
}

TEST_CASE("aws image: one line says how its jobs run") {
  CHECK(runs_as("/usr/bin/python3", {{"numpy", "1.26.4"}, {"python", "3.11.2"}, {"torch", ""}}) ==
        "runs with this machine's programs: python /usr/bin/python3 (3.11.2), packages numpy "
        "1.26.4, torch");
  CHECK(runs_as("/p", {}) ==
        "runs with this machine's programs: python /p, packages without frameworks");
}

TEST_CASE("aws image: an import error comes with the packages that the machine lacks") {
  const std::string lack = "the image has torch 2.0, but this machine's Python has none";
  CHECK(with_lack("AlgorithmError: ModuleNotFoundError: No module named 'torch'\nlast", lack) ==
        "AlgorithmError: ModuleNotFoundError: No module named 'torch'\n" + lack + "\nlast");
  CHECK(with_lack("AlgorithmError: ValueError", lack) == "AlgorithmError: ValueError");
  CHECK(with_lack("ImportError", "") == "ImportError");
}

}  // namespace
}  // namespace muster::jobs
