"""ONNX Runtime's modes but for the default, which runs the model as it is written, a file each."""
