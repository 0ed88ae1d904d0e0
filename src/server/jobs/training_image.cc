#include "server/jobs/training_image.h"

#include <algorithm>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "image/reference.h"

namespace muster::jobs {
namespace {

constexpr std::string_view engines_are_not_asked =
    "is in a Docker engine on the server's machine, which jobs cannot use; push it to this server "
    "and use the pushed name";

aws::Refusal invalid_image(const std::string& asked, const std::string& why) {
  return api::invalid("TrainingImage " + asked + ": " + why);
}

/// The store's name for a job's image.
Result<image::Reference> reference_of(const std::string& asked) {
  image::Reference reference = TRY(image::reference_from(asked));
  if (reference.transport != image::Reference::Transport::registry)
    return fail(Errc::invalid_input, "expected the name of an image in a registry");
  return reference;
}

/// A user who controls a machine's container engine controls the machine.
bool names_engine(const std::string& asked) {
  const Result<image::Reference> reference = image::reference_from(asked);
  return reference && image::is_of_engine(*reference);
}

/// A pattern with '*' in its registry could lead anywhere.
bool names_registry(std::string_view pattern, const std::string& registry) {
  return pattern.substr(0, pattern.find('/')) == registry;
}

std::string not_served(const JobConfig& config) {
  return std::string("is not an image of this server; it has ") +
         (config.aws_images ? "`host` and AWS's framework images, which use this machine's files"
                            : "the images in `jobs.images` of its config") +
         (config.registries.empty() ? "; `jobs.registries` of its config lists no others"
                                    : ", and images that `jobs.registries` of its config lists");
}

bool has(const std::vector<std::string>& registries, const std::string& registry) {
  return std::find(registries.begin(), registries.end(), registry) != registries.end();
}

aws::Refusal bad_provider(const std::string& arn, const std::string& why) {
  return api::invalid("TrainingRepositoryCredentialsProviderArn " + arn + ": " + why);
}

Result<void, aws::Refusal> give_login(job::ImageWish& image, const std::string& registry,
                                      const std::string& arn, const JobConfig& config) {
  image.logins = config.registry_logins;
  for (const auto& [name, provider] : config.credentials_providers)
    image.private_to_login |= has(provider.registries, registry);
  if (arn.empty()) return {};
  const auto provider = config.credentials_providers.find(arn);
  if (provider == config.credentials_providers.end())
    return bad_provider(arn, "this server has no login with this name; add \"" + arn +
                                 "\": {\"registries\": [\"" + registry +
                                 "\"], \"logins\": \"/etc/muster/team-logins.json\"} to "
                                 "`jobs.credentials_providers` in its config");
  if (!has(provider->second.registries, registry))
    return bad_provider(arn, "its login is for " + join(provider->second.registries, ", ") +
                                 ", not for " + registry);
  image.logins = provider->second.logins;
  return {};
}

/// For an image that is not pulled.
Result<void, aws::Refusal> expect_no_provider(const std::string& asked, const std::string& arn) {
  if (arn.empty()) return {};
  return bad_provider(
      arn, "TrainingImage " + asked +
               " is on this server and needs no login; omit TrainingRepositoryAuthConfig");
}

}  // namespace

Result<TrainingImage, aws::Refusal> training_image(const std::string& asked,
                                                   const std::string& provider,
                                                   const JobConfig& config) {
  TrainingImage meant;
  if (const std::optional<std::string> python = config.python_of(asked)) {
    TRY(expect_no_provider(asked, provider));
    meant.python = *python;
    return meant;
  }
  if (const std::optional<std::string> own = image::own_image(asked, config.own_images)) {
    TRY(expect_no_provider(asked, provider));
    meant.image.emplace();
    meant.image->name = *own;
    meant.image->anywhere = true;
    meant.image->policy = config.image_policy;
    meant.image->kept_bytes_max = config.image_store_bytes;
    meant.image->pull_limit = config.pull_limit;
    return meant;
  }
  if (names_engine(asked)) return invalid_image(asked, std::string(engines_are_not_asked));
  if (config.registries.empty()) return invalid_image(asked, not_served(config));
  const Result<image::Reference> reference = reference_of(asked);
  if (!reference) return invalid_image(asked, reference.error().text);
  const std::string name = image::to_text(*reference);
  const std::string repository = reference->registry + "/" + reference->repository;
  for (const std::string& pattern : config.registries) {
    if (!matches(pattern, repository) && !matches(pattern, name)) continue;
    if (!meant.image) meant.image.emplace();
    meant.image->anywhere |= names_registry(pattern, reference->registry);
  }
  if (!meant.image) return invalid_image(asked, not_served(config));
  meant.image->name = name;
  // A name of sm image import: there is no registry, and the machine's own port 80 must not be
  // contacted.
  const bool imported = reference->registry == "localhost";
  meant.image->pull = imported ? job::Pull::never : config.pull;
  meant.image->pull_limit = config.pull_limit;
  meant.image->kept_bytes_max = config.image_store_bytes;
  TRY(give_login(*meant.image, reference->registry, provider, config));
  meant.image->policy = config.image_policy;
  return meant;
}

std::string own_repository(const std::string& asked, const JobConfig& config) {
  if (config.python_of(asked)) return "";
  const std::optional<std::string> own = image::own_image(asked, config.own_images);
  const std::optional<image::OwnName> name = own ? image::read_own_name(*own) : std::nullopt;
  return name ? name->repository : "";
}

}  // namespace muster::jobs
