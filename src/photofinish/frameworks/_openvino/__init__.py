"""What OpenVINO alone has; how a graph becomes an ONNX model is in ../_onnx/."""
