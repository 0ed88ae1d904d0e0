// What the reference's Environment object shows of a job.

#include "job/training/training.h"

namespace muster::job {
namespace {

PyValue channel_dirs(const Training& training) {
  PyValue dirs = PyValue::new_dict();
  for (const std::string& channel : training.channels)
    dirs.set(channel, PyValue::of_text(training.facts.base_dir + "/input/data/" + channel));
  return dirs;
}

/// The reference's value is the variable itself if that is empty, null without it, else a bool.
PyValue modelparallel_enabled(const Env& env) {
  const Env::const_iterator found = env.find("SM_HP_MP_PARAMETERS");
  if (found == env.end()) return PyValue();
  if (found->second.empty()) return PyValue::of_text("");
  return PyValue::of_bool(found->second != "{}");
}

}  // namespace

PyValue properties(const Training& training) {
  const Facts& facts = training.facts;
  const auto text = [](const std::string& value) { return PyValue::of_text(value); };
  const auto folder = [&facts](const char* name) {
    return PyValue::of_text(facts.base_dir + "/" + name);
  };
  PyValue all = PyValue::new_dict();
  all.set("additional_framework_parameters", training.framework_parameters);
  all.set("channel_input_dirs", channel_dirs(training));
  all.set("current_host", text(training.current_host));
  all.set("current_instance_group", text(training.instance_group));
  all.set("current_instance_group_hosts", PyValue::of_list(training.instance_group_hosts));
  all.set("current_instance_type", text(training.instance_type));
  all.set("distribution_hosts", PyValue::of_list(training.distribution_hosts));
  all.set("distribution_instance_groups", training.distribution_instance_groups);
  all.set("framework_module",
          training.framework_module ? text(*training.framework_module) : PyValue());
  all.set("hosts", PyValue::of_list(training.hosts));
  all.set("hyperparameters", training.hyperparameters);
  all.set("input_config_dir", folder("input/config"));
  all.set("input_data_config", training.input_data_config);
  all.set("input_dir", folder("input"));
  all.set("instance_groups", PyValue::of_list(training.instance_groups));
  all.set("instance_groups_dict", training.instance_groups_dict);
  all.set("is_hetero", PyValue::of_bool(training.instance_groups.size() > 1));
  all.set("is_master", PyValue::of_bool(training.is_leader()));
  all.set("is_modelparallel_enabled", modelparallel_enabled(facts.env));
  all.set("is_smddpmprun_installed", PyValue::of_bool(facts.smddpmprun_installed));
  all.set("is_smddprun_installed", PyValue::of_bool(facts.smddprun_installed));
  all.set("job_name",
          facts.env.contains("TRAINING_JOB_NAME") ? text(training.job_name) : PyValue());
  all.set("log_level", training.log_level);
  all.set("master_hostname", text(training.leader));
  all.set("model_dir", folder("model"));
  all.set("module_dir", text(training.module_dir));
  all.set("module_name", text(training.module_name));
  all.set("network_interface_name", text(training.interface));
  all.set("num_cpus", PyValue::of_int(facts.num_cpus));
  all.set("num_gpus", PyValue::of_int(facts.num_gpus));
  all.set("num_neurons", PyValue::of_int(facts.num_neurons));
  all.set("output_data_dir", folder("output/data"));
  all.set("output_dir", folder("output"));
  all.set("output_intermediate_dir", folder("output/intermediate"));
  all.set("resource_config", training.resource_config);
  all.set("topology", training.topology);
  all.set("user_entry_point", training.entry_point_value);
  return all;
}

}  // namespace muster::job
