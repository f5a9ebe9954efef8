"""Builds of a framework for GPUs: some are packages of other names, with the same modules."""

from photofinish.environments.framework import FrameworkInfo

FOR_GPUS = {"tensorflow-cpu": "tensorflow", "onnxruntime": "onnxruntime-gpu"}
WITH_CUDA = {"torch", "tensorrt"}  # packages that bring it in the very build that is installed without asking for one


def names(package: str) -> tuple[str, ...]:
    """What a package may be installed as."""
    return (package, FOR_GPUS[package]) if package in FOR_GPUS else (package,)


def lacks(framework: FrameworkInfo, device: str) -> str:
    """Why an environment that is made for the framework would not see the device; "" where it does."""
    if device == "cpu" or WITH_CUDA & set(framework.packages):
        return ""
    return f"an environment that is made for {framework.title} is for processors alone"
