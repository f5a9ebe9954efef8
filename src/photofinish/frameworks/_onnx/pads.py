"""What ONNX Runtime gets wrong of a Pad, said in other words. Needs no onnx."""

import numpy as np

from photofinish.frameworks._onnx.use import Program


def with_axes(program: Program) -> Program:
    """ONNX Runtime 1.31.1 makes zeros that are put around an image into the padding of the pool that reads it,
    where they would be minus infinity or not count (test_layers saw it). It leaves a Pad alone that names its axes.
    """
    pooled = {name for each in program.operations if each.kind.endswith("Pool") for name in each.inputs}
    for number, each in enumerate(program.operations):
        if each.kind == "Pad" and each.outputs[0] in pooled:
            image, edges = each.inputs
            axes, named = each.outputs[0] + "/axes", each.outputs[0] + "/edges"
            program.constants[axes] = np.array([2, 3], np.int64)
            program.constants[named] = program.constants[edges][[2, 3, 6, 7]]
            program.operations[number] = each._replace(inputs=(image, named, "", axes))
    return program
