#include "host/env/job_key.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <array>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/variables.h"

namespace muster::env {
namespace {

constexpr const char* image_key_path = "/etc/muster/image-key";

Result<std::string> decoded(const std::string& where, const std::string& text) {
  std::optional<std::string> key = from_hex(trim(text));
  if (!key || key->size() != job_key_bytes)
    return fail(Errc::invalid_input, where + ": expected a key of 64 hex digits");
  return *std::move(key);
}

std::string sha256(const std::string& text) {
  std::array<unsigned char, job_key_bytes> digest{};
  unsigned length = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  CHECK_THAT(done == 1 && length == job_key_bytes, "SHA-256 is always there");
  return {digest.begin(), digest.end()};
}

}  // namespace

Result<JobKey> job_key(const Env& env) {
  const std::string file = value_of(env, "MUSTER_JOB_KEY_FILE");
  if (!file.empty()) {
    const std::string text = TRY(read_file(file, 4096));
    JobKey key;
    key.bytes = TRY(decoded(file, text));
    struct stat found {};
    if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 077) != 0)
      key.warning = file + ": other users can read the job's key; run chmod 600 " + file;
    return key;
  }
  const std::string given = value_of(env, "MUSTER_JOB_KEY");
  if (!given.empty()) return JobKey{TRY(decoded("MUSTER_JOB_KEY", given)), {}};

  if (value_of(env, "MUSTER_JOB_KEY_FROM_NAME") != "1")
    return fail(
        Errc::invalid_input,
        "a job with several hosts requires a key: create one with `sm key job >job.key`, "
        "and pass this file to all hosts with --key-file or MUSTER_JOB_KEY_FILE, or its 64 hex "
        "digits in MUSTER_JOB_KEY; if only these hosts can reach their network, you can set "
        "MUSTER_JOB_KEY_FROM_NAME=1 instead: muster then derives the key from the job's name");
  std::string seed = "muster job key 1";
  seed += '\0' + value_of(env, "TRAINING_JOB_ARN") + '\0' + value_of(env, "TRAINING_JOB_NAME");
  Result<std::string> image = read_file(image_key_path, 1u << 16);
  if (image) seed += '\0' + *image;
  return JobKey{sha256(seed),
                "MUSTER_JOB_KEY_FROM_NAME: the roll call's key is derived from the job's name" +
                    std::string(image ? " and the image's key" : "") +
                    ", so anyone who knows this and can reach the network could join the job"};
}

}  // namespace muster::env
