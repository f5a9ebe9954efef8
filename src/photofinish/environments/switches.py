"""The environment variables that frameworks and their libraries take orders from.

One may be an option of a contender: torch:compile[TORCHINDUCTOR_LAYOUT_OPTIMIZATION=0].
"""

from collections.abc import Mapping, Sequence

BEGINNINGS = (  # of their names; TF_ alone is Terraform's as well, and some of those are secrets
    "ATEN_", "BLIS_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "FBGEMM_", "FLAGS_", "GLOO_", "GOMP_", "HOROVOD_", "JAX_",
    "KERAS_", "KMP_", "LD_PRELOAD", "MKL_", "MXNET_", "NCCL_", "NUMBA_NUM", "NVIDIA_", "OMP_", "ONEDNN_", "OPENBLAS_",
    "OPENVINO_", "ORT_", "OV_", "PYTORCH_", "TF_AUTO_MIXED", "TF_CONV2D", "TF_CPU_", "TF_CUDNN", "TF_DETERMINISTIC",
    "TF_DISABLE", "TF_EAGER", "TF_ENABLE", "TF_FORCE", "TF_FP16", "TF_GPU", "TF_MATMUL", "TF_MKL", "TF_NUM",
    "TF_ONEDNN", "TF_OVERRIDE", "TF_PER_DEVICE", "TF_RUN_HANDLER", "TF_SET_ONEDNN", "TF_SYNC", "TF_USE", "TF_XLA",
    "TORCH", "TRITON_", "XLA_")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # a race sets them, by the option `threads`


def is_switch(name: str) -> bool:
    return name.startswith(BEGINNINGS)


def told(inherited: Mapping[str, str], left_out: Sequence[str] = ()) -> dict[str, str]:
    """Those among the variables, in alphabetical order."""
    return {name: inherited[name] for name in sorted(inherited) if is_switch(name) and name not in left_out}
