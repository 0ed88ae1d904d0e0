"""A job of one host in a folder of its own, for tests in this process. Standard library only."""

import atexit
import json
import os
import shutil
import sys
import tempfile
import unittest

BASE = tempfile.mkdtemp(prefix="muster-python-")
atexit.register(shutil.rmtree, BASE)
os.environ["SAGEMAKER_BASE_DIR"] = BASE  # Read when the packages are imported.


class Captured(object):
    """Our own stdout and stderr as files, so that programs that inherit them write there too."""

    def __enter__(self):
        self.out = self.err = ""
        self._files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self._saved = []
        for fd, file in zip((1, 2), self._files):
            (sys.stdout, sys.stderr)[fd - 1].flush()
            self._saved.append(os.dup(fd))
            os.dup2(file.fileno(), fd)
        return self

    def __exit__(self, *_):
        for fd, file in zip((1, 2), self._files):
            (sys.stdout, sys.stderr)[fd - 1].flush()
            os.dup2(self._saved[fd - 1], fd)
            os.close(self._saved[fd - 1])
            file.seek(0)
            text = file.read().decode("utf-8", "replace")
            file.close()
            self.out, self.err = (text, self.err) if fd == 1 else (self.out, text)


class JobTest(unittest.TestCase):
    """A job of one host in SAGEMAKER_BASE_DIR."""

    def setUp(self):
        self.saved = dict(os.environ), list(sys.path), set(sys.modules)
        for name in os.listdir(BASE):
            path = os.path.join(BASE, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for folder in ("code", "model", "input/config", "output/data"):
            os.makedirs(os.path.join(BASE, folder))
        self.resources = {"current_host": "localhost", "hosts": ["localhost"]}
        self.give("resourceconfig.json", self.resources)
        self.give("inputdataconfig.json", {"train": {}})
        self.give("hyperparameters.json", {"lr": "0.1", "api_key": '"sesame-open"'})

    def tearDown(self):
        environ, path, loaded = self.saved
        os.environ.clear()
        os.environ.update(environ)
        sys.path[:] = path
        for name in set(sys.modules) - loaded:
            del sys.modules[name]

    def give(self, name, value):
        with open(os.path.join(BASE, "input/config", name), "w") as file:
            json.dump(value, file)

    def script(self, name, text, folder="code"):
        with open(os.path.join(BASE, folder, name), "w") as file:
            file.write(text)

    def output(self, name):
        path = os.path.join(BASE, "output", name)
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return file.read()
