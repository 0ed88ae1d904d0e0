#include "server/jobs/aws_image.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::jobs {
namespace {

/// Accounts that AWS publishes these repositories from, by region; sorted.
constexpr std::string_view accounts[] = {
    "010972774902", "021081402939", "022667117163", "048378556238", "053634841547", "057415533634",
    "064688005998", "081325390199", "094389454867", "102112518831", "103105715889", "104374241257",
    "106583098589", "107072934176", "107173498710", "108575199400", "117516905037", "121021644041",
    "124985052026", "127363102723", "137914896644", "141502667606", "148761635175", "175620155138",
    "190319476487", "204538143572", "217643126080", "236514542706", "237065988967", "238384257742",
    "243637512696", "245090515133", "246618743249", "246785580436", "257758044811", "272398656194",
    "276181064229", "281123927165", "303241398832", "310906938811", "313743910680", "341280168497",
    "354813040037", "358593528301", "364406365360", "366743142698", "370607712162", "380164790875",
    "380420809688", "390048526115", "390780980154", "394103062818", "396913743851", "414596584902",
    "422961961927", "423003514399", "429704687514", "442386744353", "446045086412", "450853457545",
    "451049120500", "452832661640", "453391408702", "454834333376", "457447274322", "470317259841",
    "481561238223", "492215442770", "492261229750", "493642496378", "503227376785", "510948584623",
    "520713654638", "523751269255", "523774347010", "528757812139", "542918446943", "545423591354",
    "550225433462", "559312083959", "564864627153", "567556641782", "569303640362", "590183813437",
    "592751261982", "615547856133", "623308166672", "626614931356", "628508329040", "633930458069",
    "637423239942", "648430277019", "651117190479", "659782779980", "662702820516", "680994064768",
    "683313688378", "692866216735", "712779665605", "720646828776", "724002660598", "727897471807",
    "737474898029", "742091327244", "744548109606", "746614075791", "763104351884", "764974769150",
    "772153158452", "780543022126", "782484402741", "783357654285", "792733760839", "801668240914",
    "806072073708", "810671768855", "819792524951", "833128469047", "840123138293", "856416204555",
    "867004704886", "871362719292", "883091641454", "885854791233", "886529160074", "898809789911",
    "907027046896", "914824155844", "936697816551", "938034419563", "951798379941", "975050140332",
    "978288397137",
};

struct Repository {
  std::string_view name;
  std::array<const char*, 2> modules;
};
constexpr Repository repositories[] = {
    {"autogluon-training", {"autogluon", nullptr}},
    {"huggingface-pytorch-training", {"torch", "transformers"}},
    {"huggingface-tensorflow-training", {"tensorflow", "transformers"}},
    {"mxnet-training", {"mxnet", nullptr}},
    {"pytorch-training", {"torch", nullptr}},
    {"sagemaker-base-python-310", {nullptr, nullptr}},
    {"sagemaker-base-python-38", {nullptr, nullptr}},
    {"sagemaker-chainer", {"chainer", nullptr}},
    {"sagemaker-distribution-prod", {nullptr, nullptr}},
    {"sagemaker-mxnet", {"mxnet", nullptr}},
    {"sagemaker-pytorch", {"torch", nullptr}},
    {"sagemaker-scikit-learn", {"sklearn", nullptr}},
    {"sagemaker-tensorflow", {"tensorflow", nullptr}},
    {"sagemaker-tensorflow-scriptmode", {"tensorflow", nullptr}},
    {"sagemaker-xgboost", {"xgboost", nullptr}},
    {"tensorflow-training", {"tensorflow", nullptr}},
};

/// "2.0.1" of "2.0.1-cpu-py310".
std::string version_of(std::string_view tag) {
  const std::size_t end = std::min(tag.find_first_not_of("0123456789."), tag.size());
  return std::string(tag.substr(0, end));
}

/// "2.0" of "2.0.1+cpu".
std::string first_two(std::string_view version) {
  const std::string numbers = version_of(version);
  const std::size_t dot = numbers.find('.');
  return dot == std::string::npos ? numbers : numbers.substr(0, numbers.find('.', dot + 1));
}

/// A folder of ECR: "ACCOUNT.dkr.ecr.REGION.amazonaws.com".
bool is_of_aws(std::string_view registry) {
  const std::size_t dot = registry.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view rest = registry.substr(dot);
  return (rest.starts_with(".dkr.ecr.") || rest.starts_with(".dkr.ecr-fips.")) &&
         std::binary_search(std::begin(accounts), std::end(accounts), registry.substr(0, dot));
}

}  // namespace

std::optional<AwsImage> aws_image(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !is_of_aws(name.substr(0, slash))) return std::nullopt;
  const std::string_view rest = name.substr(slash + 1);
  const std::size_t end = std::min(rest.find_first_of(":@"), rest.size());
  for (const Repository& each : repositories) {
    if (each.name != rest.substr(0, end)) continue;
    AwsImage image;
    for (const char* module : each.modules)
      if (module != nullptr) image.modules.emplace_back(module);
    const bool is_tagged = end < rest.size() && rest[end] == ':' && !image.modules.empty();
    if (is_tagged) image.version = version_of(rest.substr(end + 1));
    return image;
  }
  return std::nullopt;
}

std::string lack_of(const AwsImage& image, const std::map<std::string, std::string>& versions) {
  std::string text;
  for (const std::string& module : image.modules) {
    const std::string wanted = module == image.modules.front() ? image.version : "";
    const auto found = versions.find(module);
    const bool differs = found != versions.end() && !wanted.empty() && !found->second.empty() &&
                         first_two(found->second) != first_two(wanted);
    if (found != versions.end() && !differs) continue;
    text += (text.empty() ? "the image has " : "; it has ") + module +
            (wanted.empty() ? "" : " " + wanted) + ", but this machine's Python has " +
            (differs ? found->second : "none");
  }
  return text;
}

std::string runs_as(const std::string& python, const std::map<std::string, std::string>& versions) {
  std::string text = "runs with this machine's programs: python " + python;
  std::string packages;
  for (const auto& [name, version] : versions) {
    if (name == "python")
      text += " (" + version + ")";
    else
      packages += (packages.empty() ? "" : ", ") + name + (version.empty() ? "" : " " + version);
  }
  return text + ", packages " + (packages.empty() ? "without frameworks" : packages);
}

std::string with_lack(const std::string& reason, const std::string& lack) {
  const bool import_failed = reason.find("ModuleNotFoundError") != std::string::npos ||
                             reason.find("ImportError") != std::string::npos;
  if (lack.empty() || !import_failed) return reason;
  const std::size_t end = std::min(reason.find('\n'), reason.size());
  return reason.substr(0, end) + "\n" + lack + reason.substr(end);
}

}  // namespace muster::jobs
