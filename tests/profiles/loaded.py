"""A program that says whether reading profiles brings the native reader of graphs with it."""

import json
import sys

import app.profiles.readers.models  # noqa: F401

if __name__ == "__main__":
    print(json.dumps({"onnx": "onnx" in sys.modules}))
