"""What the packages do by themselves and with the program MUSTER_SM. Standard library only."""

import json
import os
import signal
import stat
import subprocess
import sys
import unittest

from standard.job import BASE, Captured, JobTest  # Before the packages.

import gethostname
from muster import binary, memory
import sagemaker_containers.beta.framework as elder
import sagemaker_training.beta.framework as younger
from sagemaker_training import (
    entry_point,
    environment,
    errors,
    files,
    functions,
    intermediate_output,
    modules,
    process,
    runner,
    timeout,
    trainer,
)


class EnvironmentTest(JobTest):
    def test_it_is_a_mapping_of_its_properties(self):
        env = environment.Environment()
        self.assertEqual(dict(env)["hyperparameters"], {"lr": 0.1, "api_key": "sesame-open"})
        self.assertEqual(env["current_host"], "localhost")
        self.assertEqual(len(env), len(env.properties()))
        self.assertIsNone(env.get("nonsense"))
        for error in (KeyError, AttributeError):
            with self.assertRaises(error):
                env["nonsense"]

    def test_changes_reach_arguments_and_variables(self):
        env = environment.Environment()
        env.hyperparameters["model_dir"] = "s3://b/m"
        self.assertIn("--model_dir", env.to_cmd_args())
        self.assertEqual(env.to_env_vars()["SM_HP_MODEL_DIR"], "s3://b/m")
        env.to_env_vars()["TF_CONFIG"] = "x"
        self.assertNotIn("TF_CONFIG", env.to_env_vars())

    def test_objects_that_json_cannot_carry_stay(self):
        thing = object()
        env = environment.Environment(hyperparameters={"x": thing})
        self.assertIs(env.hyperparameters["x"], thing)

    def test_a_missing_file_is_told_by_its_errno(self):
        os.remove(environment.resource_config_file_dir)
        with self.assertRaises(FileNotFoundError) as caught:
            environment.Environment()
        self.assertEqual(caught.exception.errno, 2)

    def test_the_region_comes_from_the_parameter_the_variable_or_the_profile(self):
        for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
            os.environ.pop(name, None)
        config = os.path.join(BASE, "aws")
        files.write_file(config, "[default]\nregion = eu-1\n[profile p]\nregion = eu-2\n")
        self.addCleanup(os.remove, config)
        os.environ["AWS_CONFIG_FILE"] = config
        environment.Environment()
        self.assertEqual(os.environ["SAGEMAKER_REGION"], "eu-1")
        os.environ["AWS_PROFILE"] = "p"
        environment.Environment()
        self.assertEqual(os.environ["SAGEMAKER_REGION"], "eu-2")
        os.environ["AWS_DEFAULT_REGION"] = "eu-3"
        environment.Environment()
        self.assertEqual(os.environ["SAGEMAKER_REGION"], "eu-3")

    def test_the_elder_names_give_the_same(self):
        for framework in (elder, younger):
            env = framework.training_env()
            self.assertEqual(env.hyperparameters["lr"], 0.1)
            self.assertEqual(framework.env.code_dir, environment.code_dir)
        self.assertIsInstance(elder.training_env(), elder.env.TrainingEnv)


class RunTest(JobTest):
    def run_entry(self, name, args=(), **options):
        with Captured() as captured:
            try:
                return entry_point.run(environment.code_dir, name, list(args), **options)
            finally:
                self.captured = captured

    def test_a_script_gets_arguments_and_variables_byte_by_byte(self):
        self.script(
            "t.py", "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['V']]))"
        )
        words = ["a b", "$(id)", "", "it's", "ü", "-x", "--", "a=b:c"]
        done = self.run_entry("t.py", words, env_vars={"V": "1 2\n3"})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(self.captured.out.splitlines()[-1]), [words, "1 2\n3"])

    def test_a_shell_script_gets_them_too(self):
        self.script("t.sh", '#!/bin/sh\nfor word; do echo "<$word>"; done\n')
        self.run_entry("t.sh", ["a b", "$(id)", "", "it's"])
        self.assertEqual(self.captured.out.splitlines()[-4:], ["<a b>", "<$(id)>", "<>", "<it's>"])
        mode = os.stat(os.path.join(environment.code_dir, "t.sh")).st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o777)

    def test_the_program_finds_pythonpath_and_the_code_folder(self):
        self.script("t.py", "import os; print(os.environ['PYTHONPATH'].split(':')[0], os.getcwd())")
        self.run_entry("t.py")
        code = environment.code_dir
        self.assertEqual(
            self.captured.out.splitlines()[-1], "%s %s" % (code, os.path.realpath(code))
        )

    def test_a_failure_without_capture_tells_the_code_alone(self):
        self.script("t.py", "import sys; print('ValueError: x', file=sys.stderr); sys.exit(42)")
        with self.assertRaises(errors.ExecuteUserScriptError) as caught:
            self.run_entry("t.py", ["--a", "b c"])
        command = "%s -- t.py --a b c" % sys.executable
        self.assertEqual(
            str(caught.exception),
            'ExecuteUserScriptError:\nExitCode 42\nErrorMessage ""\nCommand "%s"' % command,
        )
        self.assertIsNone(caught.exception.output)

    def test_a_failure_with_capture_tells_from_the_first_error_on(self):
        self.script("t.py", "print('fine so far', flush=True)\nraise ValueError('no\\nway')\n")
        with self.assertRaises(errors.ExecuteUserScriptError) as caught:
            self.run_entry("t.py", capture_error=True)
        text = str(caught.exception)
        self.assertIn("ValueError: no", text)
        self.assertIn("\n way", text)
        self.assertNotIn("fine so far", text)
        self.assertIn("fine so far\n", self.captured.out)
        self.assertIn("Traceback", self.captured.err)

    def test_output_is_passed_on_byte_by_byte(self):
        self.script(
            "t.py",
            "import os\nos.write(1, b'10%\\r20%\\r' + b'x' * 200000 + b'\\xff\\n')\n"
            "os.write(2, b'end')",
        )
        self.run_entry("t.py", capture_error=True)
        self.assertIn("10%\r20%\r" + "x" * 200000 + "\ufffd\n", self.captured.out)
        self.assertTrue(self.captured.err.endswith("end"))

    def test_a_child_that_keeps_the_output_open_does_not_keep_us(self):
        self.script(
            "t.py",
            "import subprocess, sys\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
            "open('pid', 'w').write(str(child.pid))\n",
        )
        self.run_entry("t.py", capture_error=True)
        pid = int(files.read_file(os.path.join(environment.code_dir, "pid")))
        os.kill(pid, signal.SIGKILL)  # The program was still there: nobody waited for it.

    def test_a_signal_is_a_negative_code(self):
        self.script("t.py", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        with self.assertRaises(errors.ExecuteUserScriptError) as caught:
            self.run_entry("t.py")
        self.assertEqual(caught.exception.return_code, "-9")
        self.assertIsNone(caught.exception.extra_info)

    def test_137_is_out_of_memory_only_if_the_kernel_says_so(self):
        self.script("t.sh", "#!/bin/sh\nexit 137\n")
        counts = iter([7, 7, 7, 8])
        kept, memory._kills = memory._kills, lambda: next(counts)
        self.addCleanup(setattr, memory, "_kills", kept)
        for wanted in (None, "OutOfMemory: Process killed by SIGKILL (signal 9)"):
            with self.assertRaises(errors.ExecuteUserScriptError) as caught:
                self.run_entry("t.sh")
            self.assertEqual(caught.exception.extra_info, wanted)

    def test_wait_false_returns_at_once(self):
        self.script("t.py", "import signal; signal.pause()")
        running = self.run_entry("t.py", wait=False)
        self.assertIsNone(running.poll())
        running.kill()
        self.assertEqual(running.wait(), -9)

    def test_bad_names_are_refused_before_anything_is_touched(self):
        for name in ("", None, "../t.py", "-c", "/bin/sh", "a b.sh"):
            with self.assertRaises(errors.ClientError):
                self.run_entry(name)

    def test_a_link_out_of_the_code_folder_is_refused(self):
        os.symlink("/bin/true", os.path.join(environment.code_dir, "t.sh"))
        with self.assertRaises(errors.ClientError) as caught:
            self.run_entry("t.sh")
        self.assertIn("leads out", str(caught.exception))

    def test_secrets_are_masked_in_the_log(self):
        logger = process.logging_config.get_logger()
        records = []

        class Keep(process.logging_config.logging.Handler):
            def emit(self, record):
                records.append(record.getMessage())

        handler = Keep()
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        level = logger.level
        logger.setLevel("INFO")
        self.addCleanup(logger.setLevel, level)
        self.script("t.py", "")
        env = environment.Environment()
        self.run_entry("t.py", env.to_cmd_args(), env_vars=env.to_env_vars())
        text = "\n".join(records)
        self.assertIn("Invoking user script", text)
        self.assertIn("SM_HP_LR=0.1", text)
        self.assertNotIn("sesame-open", text)

    def test_elder_ways_to_run(self):
        self.script("m.py", "import sys; sys.exit(len(sys.argv))")
        with self.assertRaises(elder.errors.ExecuteUserScriptError) as caught:
            with Captured():
                elder.entry_point.run(environment.code_dir, "m.py", ["a"], {"V": "1"})
        self.assertEqual(caught.exception.return_code, "2")
        os.environ["PYTHONPATH"] = environment.code_dir
        with self.assertRaises(elder.errors.ExecuteUserScriptError):
            with Captured():
                elder.modules.run("m", ["a"], {})
        with self.assertRaises(errors.InstallModuleError) as caught:
            elder.process.check_error(["false"], elder.errors.InstallModuleError)
        self.assertEqual(caught.exception.return_code, "1")


class RunnerTest(JobTest):
    def test_each_type_has_its_runner(self):
        for kind, class_name in (
            (runner.ProcessRunnerType, "ProcessRunner"),
            (runner.MPIRunnerType, "MasterRunner"),
            (runner.SMDataParallelRunnerType, "SMDataParallelRunner"),
            (runner.TorchDistributedRunnerType, "TorchDistributedRunner"),
        ):
            got = runner.get(kind, "t.py", ["a"], {"V": "1"})
            self.assertEqual(type(got).__name__, class_name)
            self.assertIs(runner.get(got), got)

    def test_a_host_that_does_not_lead_gets_a_worker_with_the_leader_s_options(self):
        two = {"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]}
        self.give("resourceconfig.json", two)
        options = {"sagemaker_mpi_num_processes": 3, "sagemaker_mpi_custom_mpi_options": "-x A=b"}
        for kind in (runner.MPIRunnerType, runner.SMDataParallelRunnerType):
            got = runner.get(kind, "t.py", ["a"], {"V": "1"}, options)
            self.assertEqual(type(got).__name__, "WorkerRunner")
        words = runner.get(runner.MPIRunnerType, "t.py", ["a"], {}, options)._create_command()
        self.assertEqual(words[1:5], ["toolkit", "run", "--runner", "mpi"])
        self.assertIn("sagemaker_mpi_num_processes=3", words)
        self.assertEqual(words[-3:], ["--", "t.py", "a"])

    def test_torchrun_s_line(self):
        two = {"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]}
        self.give("resourceconfig.json", two)
        self.script("t.py", "")
        got = runner.get(runner.TorchDistributedRunnerType, "t.py", ["a"], {})
        line = (
            "torchrun --nnodes 2 --nproc_per_node 1 --master_addr algo-1 --master_port 7777 "
            "--node_rank 1 t.py a"
        )
        self.assertEqual(got._create_command(), line.split())

    def test_pytorch_xla_wants_a_gpu(self):
        got = runner.get(runner.PyTorchXLARunnerType, "t.py", ["a"], {})
        with self.assertRaises(errors.SMTrainingCompilerConfigurationError):
            got.run()


class FakeProgramTest(JobTest):
    """What the packages make of the program's answers."""

    def program(self, text):
        path = os.path.join(BASE, "sm")
        files.write_file(path, "#!%s\n%s" % (sys.executable, text))
        os.chmod(path, 0o755)
        self.addCleanup(os.remove, path)
        real = binary.program()
        # Questions about the environment go to the real one.
        source = files.read_file(path).split("\n", 1)
        pass_on = "import os, sys\nif sys.argv[1] == 'env': os.execv(%r, [%r] + sys.argv[1:])\n"
        files.write_file(path, source[0] + "\n" + pass_on % (real, real) + source[1])
        os.environ["MUSTER_SM"] = path

    def test_its_error_line_is_the_client_s_error(self):
        self.program("sys.stderr.write('note\\nsm toolkit: no such key\\n'); sys.exit(1)")
        with self.assertRaises(errors.ClientError) as caught:
            with Captured():
                files.download_and_extract("s3://b/k", os.path.join(BASE, "elsewhere"))
        self.assertEqual(str(caught.exception), "sm toolkit: no such key")

    def test_a_call_s_report_becomes_the_exception(self):
        self.program(
            "fd = int(sys.argv[sys.argv.index('--report') + 1])\n"
            'os.write(fd, b\'{"return_code": 3, "output": "boom", "command": "mpirun t",'
            ' "info": null}\')\nsys.exit(3)'
        )
        self.script("t.py", "")
        for capture, output in ((True, "boom"), (False, None)):
            got = runner.get(runner.MPIRunnerType, "t.py", ["a"], {"V": "1"})
            with self.assertRaises(errors.ExecuteUserScriptError) as caught:
                got.run(capture_error=capture)
            self.assertEqual(caught.exception.return_code, "3")
            self.assertEqual(caught.exception.output, output)
            self.assertEqual(caught.exception.cmd, "mpirun t")

    def test_what_could_not_be_called_is_the_client_s_error(self):
        self.program(
            "fd = int(sys.argv[sys.argv.index('--report') + 1])\n"
            'os.write(fd, b\'{"error": "no mpirun"}\')\nsys.exit(1)'
        )
        self.script("t.py", "")
        with self.assertRaises(errors.ClientError) as caught:
            runner.get(runner.MPIRunnerType, "t.py", ["a"], {"V": "1"}).run()
        self.assertEqual(str(caught.exception), "no mpirun")

    def test_intermediate_output_ends_with_its_stdin(self):
        log = os.path.join(BASE, "log")
        self.program(
            "os.makedirs(%r)\nprint('ready', flush=True)\n"
            "sys.stdin.read()\n"
            "open(%r, 'w').write(os.environ['SAGEMAKER_S3_OUTPUT'] + os.environ['AWS_REGION'])"
            % (intermediate_output.intermediate_path, log)
        )
        sync = intermediate_output.start_sync("s3://b/out", "eu-1")
        self.assertTrue(os.path.isdir(intermediate_output.intermediate_path))
        sync.join()
        sync.join()
        self.assertEqual(files.read_file(log), "s3://b/outeu-1")
        os.remove(log)
        self.assertIsNone(intermediate_output.start_sync("s3://b/out", "eu-1"))

    def test_no_program_is_one_clear_line(self):
        os.environ["MUSTER_SM"] = ""
        os.environ["PATH"] = "/nonexistent"
        kept = sys.executable
        sys.executable = "/nonexistent/python"
        try:
            with self.assertRaises(binary.ToolkitError) as caught:
                binary.program()
        except AssertionError:
            self.skipTest("an sm is installed beside this Python")
        finally:
            sys.executable = kept
        self.assertIn("MUSTER_SM", str(caught.exception))


class TrainTest(JobTest):
    def train(self, **variables):
        os.environ.update(variables)
        with Captured() as self.captured:
            with self.assertRaises(SystemExit) as caught:
                trainer.train()
        return caught.exception.code

    def framework(self, text):
        self.script("a_framework.py", text)
        sys.path.insert(0, environment.code_dir)
        return {"SAGEMAKER_TRAINING_MODULE": "a_framework:main"}

    def test_a_script_that_succeeds(self):
        self.script("t.py", "print('hello')")
        self.give("hyperparameters.json", {"sagemaker_program": '"t.py"'})
        self.assertEqual(self.train(), 0)
        self.assertIn("hello", self.captured.out)
        self.assertEqual((self.output("success"), self.output("failure")), ("", None))

    def test_a_script_that_fails(self):
        self.script("t.py", "raise SystemExit(42)")
        self.give("hyperparameters.json", {"sagemaker_program": '"t.py"'})
        self.assertEqual(self.train(), 1)
        self.assertIsNone(self.output("success"))
        self.assertTrue(self.output("failure").startswith("ExecuteUserScriptError:\nExitCode 42\n"))

    def test_a_framework_that_succeeds(self):
        made = os.path.join(BASE, "model", "done")
        variables = self.framework("def main(): open(%r, 'w').close()" % made)
        self.assertEqual(self.train(**variables), 0)
        self.assertTrue(os.path.exists(made))
        self.assertEqual(self.output("success"), "")

    def test_a_framework_that_fails_tells_its_trace_and_its_errno(self):
        for text, code in (
            ("raise OSError(13, 'denied')", 13),
            ("raise ValueError('bad')", 1),
            ("raise OSError('no number')", 1),
            ("raise OSError(0, 'zero')", 1),
            ("raise OSError(512, 'large')", 1),
        ):
            self.setUp()
            variables = self.framework("def main(): " + text)
            self.assertEqual(self.train(**variables), code, text)
            failure = self.output("failure")
            self.assertTrue(failure.startswith("Framework Error: \nTraceback"), failure)
            self.assertTrue(failure.endswith(text.split("'")[1]), failure)
            self.tearDown()

    def test_a_client_error_is_told_by_itself(self):
        variables = self.framework(
            "from sagemaker_training import errors\n"
            "def main(): raise errors.ClientError('do it right')"
        )
        self.assertEqual(self.train(**variables), 1)
        self.assertEqual(self.output("failure"), "do it right")

    def test_the_compiler_s_errors_are_told_apart(self):
        variables = self.framework("def main(): raise ValueError('in torch_xla/x.py')")
        self.train(**variables)
        self.assertTrue(self.output("failure").startswith("SMTrainingCompiler Error: \n"))

    def test_the_first_failure_file_stays(self):
        files.write_failure_file("first")
        files.write_failure_file("second")
        self.assertEqual(self.output("failure"), "first")

    def test_the_module_that_train_starts(self):
        variables = self.framework(
            "import sys\ndef main(): print(sys.argv, sys.path[0]); raise OSError(7, 'seven')"
        )
        env = dict(os.environ, **variables)
        env["PYTHONPATH"] = ":".join(sys.path)
        done = subprocess.run(
            [sys.executable, "-m", "muster.framework", "a_framework:main"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=BASE,
        )
        self.assertEqual(done.returncode, 7, done.stderr)
        folder = os.path.dirname(binary.program())
        wanted = "%s %s\n" % ([os.path.join(folder, "train")], folder)
        self.assertEqual(done.stdout.decode(), wanted)
        self.assertTrue(self.output("failure").endswith("[Errno 7] seven"))
        self.assertIsNone(self.output("success"))


class SmallerTest(JobTest):
    def test_gethostname(self):
        kept = gethostname._RESOURCE_CONFIG
        gethostname._RESOURCE_CONFIG = environment.resource_config_file_dir
        try:
            self.assertEqual(gethostname.call(40), "localhost")
            self.assertEqual(gethostname.call(6), "local")
            self.assertEqual(gethostname.call(1), "")
        finally:
            gethostname._RESOURCE_CONFIG = kept

    def test_matching_args(self):
        def train(a, b=1):
            pass

        def anything(**keywords):
            pass

        self.assertEqual(functions.matching_args(train, {"a": 1, "c": 2}), {"a": 1})
        self.assertEqual(functions.matching_args(anything, {"c": 2}), {"c": 2})
        self.assertEqual(functions.getargspec(train).defaults, (1,))

        def fail():
            raise KeyError("x")

        with self.assertRaises(errors.ClientError):
            functions.error_wrapper(fail, errors.ClientError)()

    def test_timeout(self):
        with self.assertRaises(timeout.TimeoutError):
            with timeout.timeout(seconds=0.05):
                process.threading.Event().wait(30)
        with timeout.timeout(seconds=5):
            pass

    def test_prepare_writes_a_setup_only_where_there_is_none(self):
        modules.prepare(environment.code_dir, "m")
        setup = os.path.join(environment.code_dir, "setup.py")
        self.assertIn('name="m"', files.read_file(setup))
        files.write_file(setup, "mine")
        modules.prepare(environment.code_dir, "m")
        self.assertEqual(files.read_file(setup), "mine")

    def test_serving_says_that_it_is_not_here(self):
        for module, name in (
            (elder.worker, "Worker"),
            (elder.server, "start"),
            (elder.transformer, "Transformer"),
            (elder.env, "ServingEnv"),
        ):
            with self.assertRaises(NotImplementedError) as caught:
                getattr(module, name)
            self.assertIn("serving", str(caught.exception))

    def test_oom_kills_are_read_or_unknown(self):
        count = memory._kills()
        self.assertTrue(count is None or count >= 0)

    def test_encoders_without_numpy(self):
        self.assertEqual(elder.encoders.encode({"a": [1]}, "application/json"), '{"a": [1]}')
        with self.assertRaises(errors.UnsupportedFormatError):
            elder.encoders.decode("", "text/html")

    def test_tmpdir(self):
        with files.tmpdir() as folder:
            self.assertTrue(os.path.isdir(folder))
        self.assertFalse(os.path.exists(folder))

    def test_importing_makes_a_job_where_there_is_none(self):
        if os.path.exists("/opt/ml"):
            self.skipTest("this machine has /opt/ml")
        env = dict(os.environ, HOME=BASE)
        del env["SAGEMAKER_BASE_DIR"]
        text = "from sagemaker_training import environment as e; print(e.Environment().hosts)"
        done = subprocess.run(
            [sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, check=True
        )
        self.assertIn(os.uname().nodename, done.stdout.decode())


if __name__ == "__main__":
    unittest.main()
