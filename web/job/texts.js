// Texts about one job: commands to run it again, the cause of its failure, its hosts. Pure.

export const ENDED = ["Completed", "Failed", "Stopped"];

/** The fields of DescribeTrainingJob's response that CreateTrainingJob accepts. */
const ASKED = ["TrainingJobName", "AlgorithmSpecification", "RoleArn", "HyperParameters", "InputDataConfig",
               "OutputDataConfig", "ResourceConfig", "StoppingCondition", "Environment", "VpcConfig",
               "CheckpointConfig", "EnableNetworkIsolation", "EnableInterContainerTrafficEncryption",
               "EnableManagedSpotTraining", "RetryStrategy"];

export function requestOf(job) {
  const request = {};
  for (const name of ASKED) if (job[name] !== undefined) request[name] = job[name];
  return request;
}

export const indented = (json) => JSON.stringify(json, null, 2);

const PYTHON = { true: "True", false: "False", null: "None" };

/** JSON is Python, except for three words outside of strings. The first alternative skips strings. */
export const python = (json) =>
  indented(json).replace(/"(?:\\.|[^"\\])*"|\b(?:true|false|null)\b/g, (word) => PYTHON[word] || word);

/** For each tool: the command that creates a job like this one, with another name. Names of jobs need no quotes. */
export function againTexts(job) {
  const request = requestOf(job);
  request.TrainingJobName = `${job.TrainingJobName.replace(/-again-\d+$/, "").slice(0, 50)}-again-1`;
  return {
    "sm rerun": `sm rerun ${job.TrainingJobName}`,
    aws: `cat > job.json <<'END'\n${indented(request)}\nEND\naws sagemaker create-training-job --cli-input-json file://job.json`,
    boto3: `import boto3\n\nboto3.client("sagemaker").create_training_job(**${python(request)})\n`,
  };
}

/** A job's current attempt on a Slurm cluster, as [name, value] pairs. None: the job is not in Slurm now. */
export function slurmFacts({ JobId: id, Name, Nodes, Reason, EarlierJobIds = [] } = {}) {
  if (!id) return [];
  return [["Engine", "Slurm"], ["Slurm job", id], ["Name in Slurm", Name], ["Nodes", Nodes], ["Waiting for", Nodes ? "" : Reason],
          ["In a terminal", `squeue -j ${id}, scancel ${id}`], ["Earlier attempts", EarlierJobIds.join(", ")]];
}

const exactly = (ms) => `${(ms / 1000).toFixed(2)} s`;

/**
 * Why a job failed. `lines`: its last output. `seconds`: when it failed, or 0 if unknown; `place` continues that time,
 * or is a sentence of its own. Null: the job has not failed.
 */
export function causeOf(job) {
  if (!job.FailureReason) return null;
  const cause = job.MusterCause || {};
  const [reason, ...rest] = job.FailureReason.split("\n");
  const told = { reason, lines: cause.last_lines || rest.join("\n"), seconds: 0, place: "", victims: "", advice: cause.advice || "" };
  if (cause.time_ms > 0) {
    told.seconds = cause.time_ms / 1000;
    told.place = `${exactly(cause.after_ms)} after ${cause.host} started${cause.doing ? `, while ${cause.doing}` : ""}.`;
  } else if (cause.doing) {
    told.place = `${cause.host} was ${cause.doing}.`;
  }
  if (cause.victims > 0)
    told.victims = `${cause.victims} other ${cause.victims === 1 ? "rank" : "ranks"} ended because of it, within ${exactly(cause.within_ms)}.`;
  return told;
}

export function hostsText(resources = {}) {
  const groups = (resources.InstanceGroups || []).map(
    (each) => `${each.InstanceGroupName}: ${each.InstanceCount} × ${each.InstanceType}`);
  return groups.join(", ") || `${resources.InstanceCount} × ${resources.InstanceType}`;
}

/** Whether the server can list the contents of the object with this name. */
export const isArchive = (name) => /\.(tar|tgz|tar\.gz)$/.test(name);
