"""muster's way to a server, without a server or boto3. Standard library only."""

import os
import re
import sys
import tarfile
import tempfile
import types
import unittest

import muster
from muster import server, training

_NAMES = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class ServerTest(unittest.TestCase):
    def setUp(self):
        self.saved = dict(os.environ)
        for name in _NAMES:
            os.environ[name] = "http://127.0.0.1:9"
        self.modules = {name: sys.modules.get(name) for name in ("boto3", "sagemaker")}

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.saved)
        for name, module in self.modules.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module

    def refusal(self, call, *args, **options):
        with self.assertRaises(server.ClientError) as raised:
            call(*args, **options)
        return str(raised.exception)

    def test_what_is_missing_is_said_in_one_line(self):
        sys.modules["boto3"] = None  # As if it were not installed.
        said = self.refusal(muster.train, "x.py")
        self.assertEqual(said, "muster: no module boto3; pip install boto3")
        for name in reversed(_NAMES):
            del os.environ[name]
            said = self.refusal(muster.session)
            self.assertTrue(said.startswith("muster: %s is not set; " % name), said)

    def test_every_client_speaks_to_the_server_and_sts_too(self):
        made = []

        class Session(object):
            def __init__(self, region_name):
                self.region_name = region_name

            def client(self, service, **options):
                made.append((service, options))

        sys.modules["boto3"] = types.SimpleNamespace(session=types.SimpleNamespace(Session=Session))
        os.environ.pop("AWS_REGION", None)
        os.environ["AWS_DEFAULT_REGION"] = "eu-west-1"
        boto = server.boto_session()
        boto.client("sts", endpoint_url="https://sts.amazonaws.com")
        boto.client("s3")
        self.assertEqual(boto.region_name, "eu-west-1")
        self.assertEqual(made, [("sts", {"endpoint_url": "http://127.0.0.1:9"}), ("s3", {})])

    def test_a_boto3_that_reads_no_address_of_its_own_is_given_it(self):
        made = []

        class Session(object):
            def __init__(self, region_name):
                pass

            def client(self, service, **options):
                made.append(options.get("endpoint_url"))

        fake = types.SimpleNamespace(session=types.SimpleNamespace(Session=Session))
        sys.modules["boto3"] = fake
        os.environ["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:8"
        for version in ("1.17.112", "1.28.0"):
            fake.__version__ = version
            boto = server.boto_session()
            boto.client("s3")
            boto.client("sagemaker", endpoint_url=None)
            boto.client("logs", endpoint_url="http://127.0.0.1:7")
        elder = ["http://127.0.0.1:8", "http://127.0.0.1:9", "http://127.0.0.1:7"]
        self.assertEqual(made, elder + [None, None, "http://127.0.0.1:7"])

    def test_a_session_gets_only_what_its_sdk_knows(self):
        from muster import sdk_session

        class Elder(object):
            """SDK 1.72.1's, which has no configuration."""

            def __init__(self, boto_session=None, sagemaker_client=None, default_bucket=None):
                self.given = (boto_session, default_bucket)

        boto = object()
        saved = sdk_session._session_class, server.boto_session
        try:
            sdk_session._session_class, server.boto_session = lambda: Elder, lambda: boto
            self.assertEqual(muster.session(default_bucket="mine").given, (boto, "mine"))
        finally:
            sdk_session._session_class, server.boto_session = saved

    def test_code_goes_along_without_caches(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as archive:
            os.makedirs(os.path.join(folder, "lib", "__pycache__"))
            for name in ("a.py", "lib/b.py", "lib/__pycache__/b.pyc"):
                open(os.path.join(folder, name), "w").close()
            self.assertEqual(training._find("a.py", folder), (folder, "a.py"))
            script = os.path.join(folder, "a.py")
            self.assertEqual(training._find(script, None), (folder, "a.py"))
            self.assertIn("file not found", self.refusal(training._find, "c.py", folder))
            training._pack(archive, folder, sorted(os.listdir(folder)))
            with tarfile.open(fileobj=archive) as tar:
                self.assertEqual(tar.getnames(), ["a.py", "lib", "lib/b.py"])

    def test_the_horovod_labs_names_are_taken(self):
        for name in _NAMES:
            os.environ.pop(name, None)
        lab = {"horovod_train_script": "train_hvd.py", "horovod_hyperparameters": {"epochs": 2}}
        self.assertIn("is not set", self.refusal(muster.train, instance_count=12, **lab))
        for both in ({"script": "a.py"}, {"hyperparameters": {"epochs": 1}}):
            with self.assertRaisesRegex(TypeError, "not both"):
                muster.train(**dict(lab, **both))
        with self.assertRaisesRegex(TypeError, "script='train.py'"):
            muster.train()

    def test_a_fresh_name_is_one_that_the_api_takes(self):
        for script in ("train.py", "a b/ü__x.py", "-.py", "x" * 200 + ".py"):
            name = training._fresh_name(script)
            self.assertTrue(re.match("^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$", name), name)


if __name__ == "__main__":
    unittest.main()
