"""Converts dictionaries to command-line arguments and environment variables."""

import collections
import collections.abc
import json

SplitResultSpec = collections.namedtuple("SplitResultSpec", "included excluded")


def to_env_vars(mapping):
    """{"batch_size": 25} -> {"SM_BATCH_SIZE": "25"}: strings unchanged, else compact JSON."""
    return {_variable_name(key): _variable_value(value) for key, value in mapping.items()}


def _variable_name(key):
    return "SM_" + str(key).upper() if key else ""


def _variable_value(value):
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("latin1")
    if isinstance(value, str):
        return str(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def to_cmd_args(mapping):
    """{"batch_size": 25, "n": 1} -> ["--batch_size", "25", "-n", "1"], sorted by name."""
    words = []
    for key in sorted(mapping.keys()):
        value = mapping[key]
        if hasattr(value, "items"):
            value = ",".join("%s=%s" % pair for pair in sorted(value.items()))
        words += [_option(_decode(key)), _decode(value)]
    return words


def _option(name):
    if not name:
        return ""
    return ("-" if len(name) == 1 else "--") + name


def _decode(obj):
    """Converts any value to text. Bytes are decoded as Latin-1, None is empty."""
    if obj is None:
        return ""
    if isinstance(obj, bytes):
        return obj.decode("latin1")
    return str(obj)


def split_by_criteria(dictionary, keys=None, prefix=None):
    """Splits a dictionary: items whose key is in `keys` or starts with `prefix`, and the rest."""
    wanted = set(keys or [])
    included, excluded = {}, {}
    for key in dictionary.keys():
        chosen = key in wanted or bool(prefix and key.startswith(prefix))
        (included if chosen else excluded)[key] = dictionary[key]
    return SplitResultSpec(included=included, excluded=excluded)


class _NoSuchName(KeyError, AttributeError):
    """KeyError, as mappings raise, and AttributeError, as sagemaker-training does."""


class MappingMixin(collections.abc.Mapping):
    """Makes the properties of a class accessible as a mapping, by name."""

    def properties(self):
        """Returns the sorted names of all properties."""
        return [name for name in dir(type(self)) if self._is_property(name)]

    def _is_property(self, _property):
        return isinstance(getattr(type(self), _property, None), property)

    def __getitem__(self, k):
        if not self._is_property(k):
            raise _NoSuchName("Trying to access non property %s" % k)
        return getattr(self, k)

    def __len__(self):
        return len(self.properties())

    def __iter__(self):
        return iter(self.properties())

    def __str__(self):
        return str(dict(self))
