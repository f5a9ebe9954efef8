"""A graph as an ONNX model in inference form: a file per family of layers, and `source`, which joins them.

Only `model`, which makes the file itself, needs the onnx package.
"""
