"""The environment variables that frameworks and their libraries take orders from.

One may be an option of a contender: torch:compile[TORCHINDUCTOR_LAYOUT_OPTIMIZATION=0].
"""

from collections.abc import Mapping, Sequence

BEGINNINGS = (  # of their names; TF_ alone is Terraform's as well
    "CUBLAS_", "CUDA_", "DNNL_", "FLAGS_", "GOMP_", "HOROVOD_", "JAX_", "KERAS_", "KMP_", "MKL_", "MXNET_", "NVIDIA_",
    "OMP_", "ONEDNN_", "OPENBLAS_", "ORT_", "PYTORCH_", "TF_CUDNN", "TF_DETERMINISTIC", "TF_DISABLE", "TF_ENABLE",
    "TF_FORCE", "TF_GPU", "TF_NUM", "TF_USE", "TF_XLA", "TORCH", "TRITON_", "XLA_")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # a race sets them, by the option `threads`


def is_switch(name: str) -> bool:
    return name.startswith(BEGINNINGS)


def told(inherited: Mapping[str, str], left_out: Sequence[str] = ()) -> dict[str, str]:
    """Those among the variables, in alphabetical order."""
    return {name: inherited[name] for name in sorted(inherited) if is_switch(name) and name not in left_out}
