"""Writes tests/data/python_json.jsonl: texts, and what Python's json module makes of them.

Each line is a JSON list: the text, json.dumps of it as SM_* variables have it, str() of the value;
or the text alone where json.loads refuses it. `python3 tools/make_python_json_table.py --check`
says whether this Python still agrees with the file.
"""

import itertools
import json
import pathlib
import random
import sys

TABLE = pathlib.Path(__file__).parent.parent / "tests" / "data" / "python_json.jsonl"

NUMBERS = """0 -0 1 -1 1.0 -0.0 0.1 1e5 1E5 1e+5 1e-5 0.0001 0.00001 1.10 100 1e15 1e16 1e17
1000000000000000.5 9999999999999998.0 123456789012345.678 1234567890123456.7 12345678901234567.8
999999999999999.9 5e-324 2.2250738585072014e-308 1.7976931348623157e308 1E400 -1E400 1e-400
9007199254740993 123456789012345678901234567890 -123456789012345678901234567890 3.141592653589793
2.5 1e22 1e23 0.3 100000000000000000000.5 NaN Infinity -Infinity 4.35 1e100 1.5e-10""".split()
TEXTS = [
    "", "a", "é", "日本", "😀", "\x7f", "\x80", "\u2028", "\u200b", "'", '"', "'\"", "\\", "\n\r\t",
    "\x00\x01\x1f", "/", "\ud800", "\udc00x", "a b;$(x)`y`", "--flag", "\ufeff", "\xa0", "\xad",
    "\ue000", "\U000f0000", "\U0010ffff",
]  # fmt: skip
NESTED = ["[]", "{}", "[1,  2]", '{"b": 1, "a": [1]}', '[null, true, false, 1.0, "x"]', "[[[]]]",
          '{"a": {"b": {"c": []}}}', '{"a":1,"a":2}', '{"a":1,"b":2,"a":3}',
          '{"é": 1, "z": 2, "😀": 3}',
          '{"": ""}', "[1e16, 1e15, -0.0]", " [1] ", "\t{}\n", '["\\u0041\\ud83d\\ude00\\/"]',
          "[" * 200 + "]" * 200]  # fmt: skip
REFUSED = ["", " ", "tru", "True", "nan", "+1", "01", "1.", ".5", "1e", "0x1", "-", "--1", "'a'",
           '"a', '"\t"', '"\\x41"', '"\\u12g4"', '"\\u12"', "[1,]", "[1", "[,1]", "[1 2]",
           '{"a"}', '{"a":}',
           "{a:1}", '{"a":1,}', "{1:2}", "1 2", "[] []", "\ufeff1", "\xa01", "nulll", "-Infinit",
           "INFINITY", "1_000", "٣", '"\\ud800'] # fmt: skip


def texts():
    yield from NUMBERS
    yield from NESTED
    yield from REFUSED
    for text in TEXTS:
        yield json.dumps(text)
        yield json.dumps([text, {text: text}])
    choice = random.Random(1)
    for exponent in itertools.chain(range(-8, 3), range(13, 19)):
        yield repr(choice.uniform(1, 10) * 10.0**exponent)
        yield repr(round(choice.uniform(1, 10), 2) * 10.0**exponent)


def row(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return json.dumps([text])
    dumped = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return json.dumps([text, dumped, str(value)])


def main() -> int:
    table = "".join(row(text) + "\n" for text in texts())
    if "--check" in sys.argv:
        return 0 if TABLE.read_text() == table else 1
    TABLE.write_text(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
